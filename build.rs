//! Places the functions that run at every start next to one another in the release build for Linux. They are a
//! twentieth of the code, but spread over all of it. The system maps code in blocks of 64 kB, so that a start would load
//! most of the program. `scripts/start-order.py` generates the names in `release/start.txt`; unknown names have no effect.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::path::Path;
use std::{env, fs, io};

const NAMES: &str = "release/start.txt";
/// Set it for linkers without support for linker scripts.
const PLAIN: &str = "OSIER_PLAIN_LINK";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={NAMES}");
    println!("cargo:rerun-if-env-changed={PLAIN}");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    let is_ordered = is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var_os(PLAIN).is_none();
    if !is_ordered {
        return Ok(());
    }
    let names = fs::read_to_string(NAMES)?;
    let mut script = String::from("SECTIONS\n{\n  .text.start : {\n");
    for name in names.lines().filter(|line| !line.starts_with('#')) {
        // `*` at the end of a name matches its hash, which differs between builds.
        script.push_str("    *(.text.");
        script.push_str(name);
        script.push_str(")\n");
    }
    script.push_str("  }\n}\nINSERT BEFORE .text;\n");
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    let file = Path::new(&folder).join("start.ld");
    fs::write(&file, script)?;
    println!("cargo:rustc-link-arg-bin=osier=-Wl,-T,{}", file.display());
    Ok(())
}

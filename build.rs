//! Puts the functions that run at every start side by side in the release build for Linux. They are a twentieth of the
//! code and lay all over it: the system maps code in pieces of 64 kB, so that a start brought in most of the program.
//! The names are in `release/start.txt`, made by `scripts/start-order.py`; one that is not there any more does nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "half a file is written anew by the next build"
)]

use std::path::Path;
use std::{env, fs, io};

const NAMES: &str = "release/start.txt";
/// Set for linkers that take no scripts.
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
        // A hash that differs from build to build stood where the name ends.
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

//! Places the functions that run at every start next to each other in optimised builds for Linux. They are a small part
//! of the code but spread over all of it, and the system maps code in pieces of 64 kB: a start would map most of the
//! program. `release/start.txt` has the names, written by `scripts/start-order.py`. A name that no function has does
//! nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::path::Path;
use std::{env, fs, io};

const NAMES: &str = "release/start.txt";
/// Set for linkers that accept no scripts.
const PLAIN: &str = "OSIER_PLAIN_LINK";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={NAMES}");
    println!("cargo:rerun-if-env-changed={PLAIN}");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    // `PROFILE` is `release` for every profile that inherits from it, such as `dist` and `bench`.
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

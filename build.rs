//! Places the functions that run at every start next to each other in optimised builds for Linux. They are a small part
//! of the code but spread over all of it, and the system maps code in pieces of 64 kB: a start would map most of the
//! program. `release/start.txt` has the names, written by `scripts/start-order.py`. A name that no function has does
//! nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

const NAMES: &str = "release/start.txt";
/// Set for linkers that accept no scripts or no `--icf`.
const PLAIN: &str = "OSIER_PLAIN_LINK";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={NAMES}");
    println!("cargo:rerun-if-env-changed={PLAIN}");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    // `PROFILE` is `release` for every profile that inherits from it, such as `bench`.
    let is_ordered = is("PROFILE", "release")
        && !is("OPT_LEVEL", "0")
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
    if links_with_lld() {
        println!("cargo:rustc-link-arg-bin=osier=-Wl,--icf=all");
    }
    Ok(())
}

/// Whether the toolchain links with its own lld, which can merge functions of the same code. rustc does so on this target
/// unless its distributor has turned it off.
fn links_with_lld() -> bool {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    if env::var("TARGET").as_deref() != Ok(TARGET) || env::var("HOST").as_deref() != Ok(TARGET) {
        return false;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() else {
        return false;
    };
    let sysroot = String::from_utf8_lossy(&output.stdout);
    Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TARGET)
        .join("bin/gcc-ld/ld.lld")
        .exists()
}

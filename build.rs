//! Has the linker fold functions that are the same machine code into one in a release: some percent of the
//! binary. Only the linker that comes with Rust is known to take the option.
#![expect(
    clippy::print_stdout,
    reason = "what a build script prints is its answer to cargo"
)]

use std::env;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if is("PROFILE", "release") && is("TARGET", TARGET) && links_with_lld() {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Whether the compiler has the linker with it, which is then the one it uses for this target.
fn links_with_lld() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let Ok(output) = Command::new(rustc).args(["--print", "sysroot"]).output() else {
        return false;
    };
    let sysroot = String::from_utf8_lossy(&output.stdout);
    let linker = format!("lib/rustlib/{TARGET}/bin/gcc-ld/ld.lld");
    env::var_os("RUSTC_LINKER").is_none() && Path::new(sysroot.trim()).join(linker).exists()
}

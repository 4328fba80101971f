//! Compiles the starter, the program that starts commands; osier contains it as data.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file, and a build script starts the compiler"
)]

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

const SOURCE: &str = "starter/main.rs";

fn main() -> io::Result<()> {
    // Cargo watches all files in the folder.
    println!("cargo:rerun-if-changed=starter");
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    let to = Path::new(&folder).join("starter");
    let is_known = ["x86_64", "aarch64", "riscv64"].contains(&target("ARCH").as_str());
    if target("OS") != "linux" || !is_known {
        return fs::write(to, []);
    }
    let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()));
    compiler.args(["--edition=2024", "--crate-type=bin", "--crate-name=starter"]);
    compiler.arg(format!(
        "--target={}",
        env::var("TARGET").unwrap_or_default()
    ));
    for option in [
        "panic=abort",
        "opt-level=s",
        "strip=symbols",
        "relocation-model=pie",
    ] {
        compiler.args(["-C", option]);
    }
    if target("ENV") == "musl" {
        compiler.args(["-C", "link-self-contained=no"]);
    }
    for option in [
        "-nostartfiles",
        "-nostdlib",
        "-static-pie",
        "-Wl,--build-id=none",
    ] {
        compiler.args(["-C", &format!("link-arg={option}")]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        compiler.arg("-C").arg(option);
    }
    let is_compiled = compiler.arg("-o").arg(&to).arg(SOURCE).status();
    if !is_compiled.is_ok_and(|status| status.success()) {
        println!("cargo:warning=sandboxed commands start slower: {SOURCE} cannot be compiled");
        fs::write(to, [])?;
    }
    Ok(())
}

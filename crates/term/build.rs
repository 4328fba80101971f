//! Compresses the grammars of the highlighter: most of them are compressed already, but not their names and scopes.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::path::Path;
use std::{env, fs, io};

use syntect::dumps::dump_binary;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    let grammars = dump_binary(&two_face::syntax::extra_newlines());
    fs::write(Path::new(&folder).join("grammars.bin"), grammars)
}

//! Compresses the JSON schema, which the program contains to print it: 480 kB of text become 40 kB.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::ZlibEncoder;

const SCHEMA: &str = "../../docs/rpc.schema.json";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={SCHEMA}");
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(&fs::read(SCHEMA)?)?;
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(
        Path::new(&folder).join("rpc.schema.json.zlib"),
        compressed.finish()?,
    )
}

//! The JSON schema of every command, answer and event. A test generates it from the types and stores it as a file, so
//! that the program contains only the text.

use std::io;

use flate2::read::ZlibDecoder;

/// `docs/rpc.schema.json`, compressed by the build script.
const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rpc.schema.json.zlib"));

/// Writes the schema of RPC, `docs/rpc.schema.json`.
pub fn write(out: &mut impl io::Write) -> io::Result<()> {
    io::copy(&mut ZlibDecoder::new(COMPRESSED), out).map(drop)
}

#[cfg(test)]
#[cfg(feature = "schema")]
mod tests;

//! Compresses the files of the browser chat. The program contains them as they are sent.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

const FILES: &str = "../../assets/web";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={FILES}");
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    compress(Path::new(FILES), &Path::new(&folder).join("web"))
}

fn compress(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            compress(&from, &to)?;
        } else {
            let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
            io::copy(&mut fs::File::open(from)?, &mut compressed)?;
            fs::write(to, compressed.finish()?)?;
        }
    }
    Ok(())
}

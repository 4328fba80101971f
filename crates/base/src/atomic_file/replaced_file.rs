//! The file that a write replaces, and the directory that holds it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The file that a write may replace.
pub struct Expected<'a> {
    /// The content of the file, if it is known.
    pub content: Option<&'a [u8]>,
    /// Whether the path (with links resolved) names the expected file, or no file if none is
    /// expected.
    pub is_same: &'a dyn Fn(&Path, Name) -> bool,
}

/// The name under which a file is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// The file has its own name.
    Own,
    /// The file has a temporary name: the rename updated the time of its last metadata change.
    Temporary,
}

crate::opaque_debug!(Expected<'a>);

/// The error of a file that another process changed.
pub(super) fn changed() -> io::Error {
    io::ErrorKind::AlreadyExists.into()
}

/// The device and the inode of a file.
pub(super) fn id(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Makes a rename in `directory` durable. Does nothing on file systems that cannot sync a
/// directory.
pub fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

/// The directory of `path`.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

//! A file's stamp: metadata that changes whenever the file changes.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A state of a file. Times are in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStamp {
    pub size: u64,
    /// The last change of the contents, which programs can set back.
    pub modified: i64,
    /// The last change of the contents, the name or the mode.
    pub changed: i64,
    pub inode: u64,
}

impl FileStamp {
    pub fn of(metadata: &Metadata) -> Self {
        let time =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: metadata.size(),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// The stamp of the file, or of the symbolic link, at `path`.
    ///
    /// # Errors
    /// The file does not exist, for example.
    pub fn at(path: &Path) -> io::Result<Self> {
        path.symlink_metadata().map(|metadata| Self::of(&metadata))
    }
}

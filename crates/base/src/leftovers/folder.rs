//! A temporary folder that its process has locked.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::table::FolderKind;
use crate::ids;

/// Attempts to find a free name.
const TRIES: u32 = 100;

/// A new private folder. Dropping it deletes it.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    /// Locked while the folder is used; `None` where folders cannot be locked.
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// A folder in the system's directory for temporary files.
    pub fn new(kind: FolderKind) -> io::Result<Self> {
        Self::new_in(kind, &std::env::temp_dir())
    }

    pub fn new_in(kind: FolderKind, parent: &Path) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            let path = parent.join(format!("{}{}", kind.prefix(), ids::random_name()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {
                    tries += 1;
                }
                created => {
                    created?;
                    // A sweeper locks the folder only for a moment, because it is new and empty.
                    let lock = File::open(&path)
                        .ok()
                        .filter(|folder| folder.lock().is_ok());
                    return Ok(Self { path, _lock: lock });
                }
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // If a file cannot be deleted now, a later sweep deletes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

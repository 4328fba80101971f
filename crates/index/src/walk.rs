//! Which session files there are, by what the system says of them.

use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::error::LibraryError;
use osier_store::SESSION_EXTENSION;

/// A session file as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Relative to the directory of the sessions.
    pub path: Vec<u8>,
    pub state: FileState,
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FileState {
    pub inode: u64,
    pub size: u64,
    /// Nanoseconds since the Unix epoch.
    pub written: i64,
}

impl FileState {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            written: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
        }
    }
}

/// Every session file below `root`: in it and in its directories. A directory that cannot be read, or does
/// not exist yet, has none.
pub(super) fn walk(root: &Path, cancel: &CancellationToken) -> Result<Vec<Found>, LibraryError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        if cancel.is_cancelled() {
            return Err(LibraryError::Cancelled);
        }
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_file() {
            found.extend(session(root, &entry));
        } else {
            let inside = std::fs::read_dir(entry.path())
                .into_iter()
                .flatten()
                .flatten();
            found.extend(inside.filter_map(|entry| session(root, &entry)));
        }
    }
    Ok(found)
}

fn session(root: &Path, entry: &std::fs::DirEntry) -> Option<Found> {
    let path = entry.path();
    if path.extension()? != SESSION_EXTENSION {
        return None;
    }
    let metadata = entry.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    Some(Found {
        path: path
            .strip_prefix(root)
            .ok()?
            .as_os_str()
            .as_bytes()
            .to_owned(),
        state: FileState::of(&metadata),
    })
}

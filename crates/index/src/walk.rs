//! Finds session files and their file system metadata.

use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::error::IndexError;
use osier_base::file_stamp::FileStamp;
use osier_store::SESSION_EXTENSION;

/// A session file and its current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionFile {
    /// Relative to the directory of the sessions.
    pub path: Vec<u8>,
    pub state: FileStamp,
}

/// The stamp of a session file. A moved file is still the same, so the last change of its name does not count.
pub(super) fn stamp_of(metadata: &Metadata) -> FileStamp {
    FileStamp {
        changed: 0,
        ..FileStamp::of(metadata)
    }
}

/// All session files in `root` and its subdirectories. Skips subdirectories that are unreadable; a missing `root` has
/// no sessions.
pub(super) fn walk(
    root: &Path,
    cancel: &CancellationToken,
) -> Result<Vec<SessionFile>, IndexError> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !root.is_symlink() => {
            return Ok(found);
        }
        Err(error) => return Err(IndexError::io("read", root, error)),
    };
    for entry in entries.flatten() {
        if cancel.is_cancelled() {
            return Err(IndexError::Cancelled);
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

fn session(root: &Path, entry: &std::fs::DirEntry) -> Option<SessionFile> {
    let path = entry.path();
    if path.extension()? != SESSION_EXTENSION {
        return None;
    }
    let metadata = entry.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    Some(SessionFile {
        path: path
            .strip_prefix(root)
            .ok()?
            .as_os_str()
            .as_bytes()
            .to_owned(),
        state: stamp_of(&metadata),
    })
}

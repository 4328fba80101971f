//! Opening a file that a tool reads: exactly the one that was judged, without links.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use osier_agent::FileTarget;

use super::Workspace;
use crate::files::error::FileError;
use crate::files::target::is_missing;

/// Names shown for a directory.
const MAX_LISTED: usize = 100;

impl Workspace {
    /// Opens a regular file. The error says what the path is instead.
    pub(crate) fn open(&self, target: &FileTarget) -> Result<(File, Metadata), FileError> {
        let path = || self.display(&target.named);
        match target.open() {
            Ok((Some(file), metadata)) => Ok((file, metadata)),
            Ok((None, metadata)) if metadata.is_dir() => Err(FileError::Directory {
                listing: listing(&target.host),
                path: path(),
            }),
            Ok((None, _)) => Err(FileError::NotRegular { path: path() }),
            Err(error) => Err(self.unreadable(target, error)),
        }
    }

    /// Why the file could not be read, with names like its own if it does not exist.
    pub(crate) fn unreadable(&self, target: &FileTarget, source: io::Error) -> FileError {
        let path = self.display(&target.named);
        if is_missing(&source) {
            let suggestion = self.suggestion(&target.named);
            return FileError::Missing { path, suggestion };
        }
        FileError::Io { path, source }
    }
}

/// Names in `directory`, one per line, directories with a slash.
fn listing(directory: &Path) -> String {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    let left_out = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    if left_out > 0 {
        names.push(format!("[{left_out} more]"));
    }
    if names.is_empty() {
        names.push("(empty)".to_owned());
    }
    names.join("\n")
}

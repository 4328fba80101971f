//! Entries that a walk finds, and errors.

use std::fmt;
use std::fs::FileType;
use std::io;
use std::path::PathBuf;

use osier_base::regular_file::ReadError;

/// An entry of a folder.
#[derive(Debug, Clone)]
pub struct Entry {
    pub path: PathBuf,
    /// The kind of the entry itself, which can be a symbolic link.
    pub kind: FileType,
}

/// A file or folder that a walk could not read.
#[derive(Debug)]
pub enum WalkError {
    /// The entries of a folder are missing.
    Folder { path: PathBuf, source: io::Error },
    /// The rules of an ignore file are missing.
    Rules { path: PathBuf, source: ReadError },
}

impl fmt::Display for WalkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { path, source } => write!(formatter, "{}: {source}", path.display()),
            Self::Rules { path, source } => write!(formatter, "{} {source}", path.display()),
        }
    }
}

impl std::error::Error for WalkError {}

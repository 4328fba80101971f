//! The files of calls: a tool opens exactly the files that the rules have judged.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::PathBuf;

use osier_base::without_links;

/// How a tool uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Shows the contents of the file.
    Read,
    /// Replaces the contents of the file.
    Write,
    /// Shows and replaces parts of the file.
    Edit,
    /// Shows parts of the file, or of the files below a folder.
    Search,
    /// Shows names.
    List,
}

impl FileUse {
    /// Whether the contents of the file itself can be shown.
    pub fn shows(self) -> bool {
        matches!(self, Self::Read | Self::Edit | Self::Search)
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Edit)
    }
}

/// A file of a call. Its path was resolved once: rules judge the path that the tool opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTarget {
    /// The path for messages: absolute, with corrected spelling.
    pub named: PathBuf,
    /// The path without symbolic links, as a command finds it.
    pub real: PathBuf,
    /// Other names of the file: as given, and with only some links resolved.
    pub names: Vec<PathBuf>,
    /// The real path outside of the sandbox: the one to open.
    pub host: PathBuf,
    pub purpose: FileUse,
}

impl FileTarget {
    /// The file and its metadata; only the metadata if it is not a regular file, which is never opened. Follows no symbolic
    /// links: a link that is there now was created after the path was resolved.
    ///
    /// # Errors
    /// The file does not exist, cannot be opened, or is a link now.
    pub fn open(&self) -> io::Result<(Option<File>, Metadata)> {
        let metadata = fs::symlink_metadata(&self.host)?;
        if !metadata.is_file() && !metadata.is_symlink() {
            return Ok((None, metadata));
        }
        let file = without_links::open(&self.host)?;
        let metadata = file.metadata()?;
        Ok((metadata.is_file().then_some(file), metadata))
    }
}

//! The reasons why there is no checkpoint.

use std::io;
use std::path::PathBuf;

use super::scan::MAX_FILES;

/// Why files cannot be recorded or restored.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error(
        "checkpoints are disabled: `{}` contains more than {MAX_FILES} files that are not ignored",
        root.display()
    )]
    TooMany { root: PathBuf },
    #[error("checkpoints are disabled in `{}`: it is not a project", root.display())]
    NoProject { root: PathBuf },
    #[error("the files could not be recorded: {0}")]
    Io(#[from] io::Error),
    #[error("the earlier state of the files is unknown: {0}; they were not changed")]
    Lost(io::Error),
    #[error("files in `{}` changed meanwhile; osier changed nothing: try again", root.display())]
    Changing { root: PathBuf },
    #[error(
        "another osier is restoring files in `{}`; they were not changed: try again when it is done",
        root.display()
    )]
    Busy { root: PathBuf },
    #[error("another osier has locked the checkpoints; the files were not recorded")]
    Locked,
    #[error(
        "an interrupted change of files cannot be completed: {0}; compare the files with `/diff`"
    )]
    Unfinished(io::Error),
}

//! The reasons why the working tree is not compared.

use thiserror::Error;

/// Why there is no comparison.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorkingTreeError {
    #[error("not a git repository; show the changes of the session with `/diff` or `/diff last`")]
    NoRepository,
    #[error("`git` is not installed; show the changes of the session with `/diff` or `/diff last`")]
    NoGit,
    #[error("git cannot compare the files: {message}")]
    Git { message: String },
}

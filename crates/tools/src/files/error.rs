//! Why a file that a call names is not read.

use std::io;

use osier_agent::Refusal;
use thiserror::Error;

use super::target::reason;

/// Why a file is not read. The model receives the message.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    #[error("`{path}` does not exist{suggestion}")]
    Missing { path: String, suggestion: String },
    #[error("`{path}` is a directory; name one of its files:\n{listing}")]
    Directory { path: String, listing: String },
    #[error("`{path}` is not a regular file")]
    NotRegular { path: String },
    #[error("cannot read `{path}`: {}", reason(source))]
    Io { path: String, source: io::Error },
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Self {
        Self::Failed(error.to_string())
    }
}

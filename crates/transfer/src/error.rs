//! Errors of exports.

use std::io;
use std::path::{Path, PathBuf};

use osier_store::SessionError;

/// An error of an export. `hint` suggests a fix.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("unknown format `{name}`; expected one of html, markdown, jsonl")]
    UnknownFormat { name: String },
    #[error("`{}` exists", path.display())]
    Exists { path: PathBuf },
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// A verb: `read`, `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0}")]
    Theme(String),
    #[error("a theme has no effect in {0}; it applies to html")]
    NoTheme(&'static str),
    #[error("the session contains nothing to export")]
    Empty,
    #[error("the exported file `{}` differs from the session: {what}", path.display())]
    Unfaithful { path: PathBuf, what: String },
    #[error("a line of the session cannot be written as json: {0}")]
    Encode(#[from] serde_json::Error),
}

impl TransferError {
    /// A suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Session(error) => error.hint(),
            Self::Exists { .. } => Some("choose another name, or add `--force` to replace it"),
            Self::Empty => Some("send a prompt first"),
            _ => None,
        }
    }

    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

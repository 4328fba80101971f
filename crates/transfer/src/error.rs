//! What can go wrong when sessions leave or come.

use std::io;
use std::path::{Path, PathBuf};

use osier_store::SessionError;

/// An error of an export or import. `hint` says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("`{name}` is no format: they are html, markdown and jsonl")]
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
    #[error("the session holds nothing to export")]
    Empty,
    #[error("the copy `{}` does not hold what the session holds: {what}", path.display())]
    Unfaithful { path: PathBuf, what: String },
    #[error("`{}` is no session of osier, pi, Claude Code or Codex: {reason}", path.display())]
    Unrecognised { path: PathBuf, reason: String },
    #[error("`{}` holds no messages", path.display())]
    NoMessages { path: PathBuf },
    #[error("a line of the session cannot be written as json: {0}")]
    Encode(#[from] serde_json::Error),
}

impl ExchangeError {
    /// What the person can do, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Session(error) => error.hint(),
            Self::Exists { .. } => Some("choose another name, or add `--force` to replace it"),
            Self::Unrecognised { .. } => Some(
                "give a `.jsonl` file of one of them; `osier import --list` shows what is there",
            ),
            Self::Empty | Self::NoMessages { .. } => Some("there has to be a conversation first"),
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

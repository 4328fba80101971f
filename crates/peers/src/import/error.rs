//! Errors of imports.

use std::io;
use std::path::{Path, PathBuf};

use osier_store::SessionError;

/// An error of an import. `hint` suggests a fix.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// A verb: `read`, `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{}` is not a session of osier, pi, Claude Code, Codex or opencode: {reason}", path.display())]
    Unrecognised { path: PathBuf, reason: String },
    #[error("`{}` contains no messages", path.display())]
    NoMessages { path: PathBuf },
    #[error("a line of the session cannot be written as json: {0}")]
    Encode(#[from] serde_json::Error),
}

impl ImportError {
    /// A suggestion for the user, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Session(error) => error.hint(),
            Self::Unrecognised { .. } => Some(
                "use a `.jsonl` file of one of them; list the sessions with `osier import --list`",
            ),
            Self::NoMessages { .. } => Some("send a prompt first"),
            Self::Io { .. } | Self::Encode(_) => None,
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

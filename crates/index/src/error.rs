//! Errors of the session index. None of them harms a session.

use std::io;
use std::path::PathBuf;

/// An error of the session index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("cannot use the session index: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// A verb: `read`, `move`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cancelled")]
    Cancelled,
}

impl IndexError {
    /// Whether the file is damaged, so that rebuilding it helps.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        matches!(
            self,
            Self::Database(rusqlite::Error::SqliteFailure(error, _))
                // SQLite reports a missing table or column of a foreign schema as `Unknown`.
                if matches!(error.code, DatabaseCorrupt | NotADatabase | Unknown)
        )
    }

    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source,
        }
    }
}

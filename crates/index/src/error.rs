//! What can go wrong with the index. None of it harms a session.

use std::io;
use std::path::PathBuf;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("the index of sessions cannot be used: {0}")]
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

impl LibraryError {
    /// Whether the file itself is broken, so that a new one helps.
    pub(super) fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        matches!(
            self,
            Self::Database(rusqlite::Error::SqliteFailure(error, _))
                // `Unknown` is what a missing table or column is: somebody else's schema.
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

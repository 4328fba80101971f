//! Errors of opening a session.

use std::path::PathBuf;

use osier_session::StartError;

/// Why a session could not be opened. The texts are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("no session with the id `{id}`")]
    Unknown { id: String },
    #[error(
        "the session `{id}` is open: `{field}` has no effect; change it in the session, or open a new one"
    )]
    Open { id: String, field: &'static str },
    /// The session exists but cannot be opened: another process has it open, or its file is unreadable.
    #[error("{message}")]
    Unavailable { message: String },
    #[error("cannot use `{}` as the working directory: {source}", cwd.display())]
    Directory {
        cwd: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the server is shutting down and opens no more sessions")]
    Closing,
}

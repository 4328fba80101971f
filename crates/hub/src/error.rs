//! Why a session is not there.

use std::path::PathBuf;

use osier_session::StartError;

/// Why a session cannot be had. The texts are for the person who asked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("there is no session `{id}`")]
    Unknown { id: String },
    /// The session is there and cannot be opened: another process has it, its file cannot be read.
    #[error("{message}")]
    Unavailable { message: String },
    #[error("`{}` cannot be worked in: {source}", cwd.display())]
    Directory {
        cwd: PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("osier ends: no session is opened any more")]
    Closing,
}

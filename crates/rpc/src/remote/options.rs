//! Which session to join, and how.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The token of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    /// The user named it for this server.
    Given(String),
    /// The token was found on this machine. It is sent only to a server that proves that it knows the token.
    Stored(String),
}

impl Token {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Given(text) | Self::Stored(text) => text,
        }
    }
}

impl fmt::Debug for Token {
    /// Without the token.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Given(_) => "Given",
            Self::Stored(_) => "Stored",
        })
    }
}

/// Which session to join on a server, and how.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// The session; when not set, the open session of the directory, or a new one.
    pub session: Option<String>,
    /// Always start a new session.
    pub new_session: bool,
    /// The working directory on the server.
    pub cwd: Option<PathBuf>,
    pub model: Option<String>,
    /// The name that other clients of the session see.
    pub name: String,
    /// The token of the server.
    pub token: Option<Token>,
    /// The command that starts ssh, with its arguments.
    pub ssh: Vec<String>,
    /// The osier program on the server.
    pub program: String,
    /// Additional trusted root certificates.
    pub ca_file: Option<Arc<Path>>,
    /// The local directory for drafts; drafts are not stored when not set.
    pub drafts: Option<PathBuf>,
}

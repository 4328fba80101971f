//! Sessions on a server: `osier serve` over a Unix socket, HTTP or ssh.
//!
//! [`attach`] returns a session handle like that of a local session. A task behind it holds the connection, reconnects
//! automatically and fetches missed events by number. Ops that are sent without a connection wait, and none is executed
//! twice.

mod activity;
mod answer_filter;
mod connect;
mod connection;
mod failure;
mod handshake;
mod pending_ops;
pub mod proof;
mod stop;
mod target;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use failure::ConnectError;
pub use stop::stop;
pub use target::{Target, TargetError};

use self::connection::RemoteConnection;
use osier_agent::Subscription;
use osier_protocol::Event;
use osier_session::SessionHandle;

/// The token of a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    /// The user named it for this server.
    Given(String),
    /// It was found on this machine. It is sent only to a server that proves that it knows it.
    Stored(String),
}

impl Token {
    fn text(&self) -> &str {
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
    pub ca_file: Option<Arc<std::path::Path>>,
    /// The local directory for drafts; drafts are not stored when not set.
    pub drafts: Option<PathBuf>,
}

/// Attaches to a session on a server. Connects in the background for as long as the handle exists. `Op::ShutDown`
/// detaches; the session continues to run on the server.
pub fn attach(target: Target, options: AttachOptions) -> (SessionHandle, Subscription<Event>) {
    let (handle, events, remote) = SessionHandle::remote();
    osier_base::task::spawn(RemoteConnection::new(target, options, remote).run());
    (handle, events)
}

//! A host on another machine, or in another process: `osier serve` at the other end of a socket, of HTTP or of
//! the system's ssh.
//!
//! A task holds the line and stands for the host: a mode gets a handle like any other. The line may break; it
//! is made again by itself, and what was missed is caught up by number. What is told the host while the line is
//! away waits, and nothing of it is done twice.

mod answers;
mod dial;
mod line;
mod outgoing;
mod stopping;
mod target;

use std::path::PathBuf;
use std::sync::Arc;

pub use dial::DialError;
pub use stopping::stop;
pub use target::{Target, TargetError};

use self::line::Line;
use osier_agent::Subscription;
use osier_protocol::Event;
use osier_session::SessionHandle;

/// Where to, and what is wanted there.
#[derive(Debug, Clone, Default)]
pub struct Joining {
    /// The session; the one that is open in its directory, or a new one, when not set.
    pub session: Option<String>,
    /// A new session in every case.
    pub fresh: bool,
    /// Where to work over there.
    pub cwd: Option<PathBuf>,
    pub model: Option<String>,
    /// How the others who are in the session are told of this one.
    pub name: String,
    /// What the server asks for.
    pub token: Option<String>,
    /// The words that start ssh.
    pub ssh: Vec<String>,
    /// How osier is called over there.
    pub program: String,
    /// Certificates of authorities that are trusted besides the system's.
    pub ca_file: Option<Arc<std::path::Path>>,
    /// Where what is typed and not sent is kept, here; nowhere when not set.
    pub drafts: Option<PathBuf>,
}

/// A handle of a host over there. The line is made beside, and as long as the handle is there; leaving it
/// (`Op::ShutDown`) leaves the session running.
pub fn attach(target: Target, joining: Joining) -> (SessionHandle, Subscription<Event>) {
    let (host, events, elsewhere) = SessionHandle::remote();
    tokio::spawn(Line::new(target, joining, elsewhere).run());
    (host, events)
}

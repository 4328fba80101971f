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
mod options;
mod outbox;
mod pending_ops;
pub mod proof;
mod stop;
mod target;
mod wire;

pub use failure::ConnectError;
pub use options::{AttachOptions, Token};
pub use stop::stop;
pub use target::{Target, TargetError};

use self::connection::RemoteConnection;
use osier_agent::Subscription;
use osier_protocol::Event;
use osier_session::SessionHandle;

/// Attaches to a session on a server. Connects in the background for as long as the handle exists. `Op::ShutDown`
/// detaches; the session continues to run on the server.
pub fn attach(target: Target, options: AttachOptions) -> (SessionHandle, Subscription<Event>) {
    let (handle, events, remote) = SessionHandle::remote();
    osier_base::task::spawn(RemoteConnection::new(target, options, remote).run());
    (handle, events)
}

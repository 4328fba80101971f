//! The session actor: one task that owns an open session and the features around it. Requests go in, events come out.

mod dispatch;
mod extensions;
mod forward;
mod handle;
mod lifecycle;
mod mailbox;
mod models;
mod queries;
mod remote;
mod session_requests;
#[cfg(feature = "transfer")]
mod transfer;
mod tree;

pub use handle::{SessionHandle, StartError};
pub use remote::RemoteSession;

/// The error for requests that need a session. Clients have different ways to start one.
const NO_SESSION: &str = "no session is open: start a new one first";

/// The error for changes during a run.
const BUSY: &str = "the agent is working: press esc to stop it first";

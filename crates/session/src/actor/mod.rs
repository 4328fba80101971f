//! The session actor: one task that owns an open session and the features around it. Requests go in, events come out.

mod agent;
mod extensions;
mod forward;
mod handle;
mod lifecycle;
mod models;
mod remote;
mod run;
mod state;
#[cfg(feature = "transfer")]
mod transfer;
mod tree;

pub use handle::{SessionHandle, StartError};
pub use remote::RemoteSession;

/// The error for changes during a run.
const BUSY: &str = "the agent is working: press esc to stop it first";

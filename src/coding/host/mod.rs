//! The one thing a mode receives: an agent wired to tools, a session, models and settings. Ops go in,
//! events come out; nothing reaches around them.

mod around;
mod context;
pub mod event;
#[expect(
    clippy::module_inception,
    reason = "the handle of a host is called Host"
)]
mod host;
mod indexing;
mod login;
pub mod op;
mod plugins;
mod questions;
mod session;
mod setup;
mod shell;
mod subagents;
mod transcript;
mod usage;
mod workspace;

pub use event::{
    Event, KeyState, LoginInput, ModelInfo, SessionContents, SessionInfo, SessionSummary,
};
pub use host::{Host, HostError};
pub use op::{LoginMethod, Op, Typed};
pub use session::{find as find_session, list as list_sessions};
pub use setup::{HostSetup, SessionChoice};

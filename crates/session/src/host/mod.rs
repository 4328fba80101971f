//! The one thing a mode receives: an agent wired to tools, a session, models and settings. Ops go in,
//! events come out; nothing reaches around them.

mod around;
mod asked;
mod catalogue;
pub mod checkpoint_op;
mod checkpoints;
mod choice;
mod client;
mod context;
mod elsewhere;
pub mod event;
mod exchange;
mod exchange_op;
mod fan;
mod hooks;
#[expect(
    clippy::module_inception,
    reason = "the handle of a host is called Host"
)]
mod host;
mod indexing;
mod jobs;
mod library;
mod library_op;
mod lifetime;
mod login;
mod moves;
pub mod op;
mod opening;
mod plugins;
mod questions;
mod review;
mod roles;
mod safety;
mod servers;
mod session;
mod setup;
mod shell;
mod stash;
pub mod status;
mod subagents;
mod todo;
mod transcript;
mod tree;
mod tree_op;
mod unsent;
mod usage;
mod wires;
mod working_tree;
mod workspace;

pub use checkpoint_op::{CheckpointEvent, CheckpointOp, DiffRange, FileDiff, FilesAt, Reviewed};
pub use client::Client;
pub use elsewhere::Elsewhere;
pub use event::{
    Event, KeyState, LineState, LoginInput, ModelInfo, SessionContents, SessionInfo, SessionSummary,
};
pub use exchange_op::{ExchangeEvent, ExchangeOp};
pub use host::{Host, HostError};
pub use library_op::{
    Description, FoundSession, FoundText, LibraryEvent, LibraryOp, SessionQuery, SessionState,
};
pub use op::{LoginMethod, Op, Typed};
pub use opening::Opening;
pub use session::find as find_session;
pub use setup::{HostSetup, SessionChoice};
pub use status::Status;
pub use tree_op::{TreeEvent, TreeOp};

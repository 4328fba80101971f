//! The protocol between a session and its clients: requests, events and the data that both contain.
//!
//! - [`Op`] is a request of a client, [`Event`] what a session sends. Both are JSON objects with a `type`.
//! - [`Op::request`] is the row that declares a request: its parameters, its effect, and the events that answer it.
//! - [`slash`] is the table of slash commands for all clients.
//! - [`Event::delivery`] tells servers whether an event is retained and replayed.
//! - [`Entry`] is a line of a session file.
//!
//! ```
//! use osier_protocol::{Event, Op};
//!
//! let op: Op = serde_json::from_str(r#"{"type": "rename_session", "name": "parser"}"#)?;
//! assert_eq!(op, Op::RenameSession { name: "parser".to_owned() });
//! assert_eq!(op.request().replies, ["session_renamed"]);
//!
//! let event = Event::SessionRenamed { name: Some("parser".to_owned()) };
//! assert_eq!(serde_json::to_string(&event)?, r#"{"type":"session_renamed","name":"parser"}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! The crate contains data only. `osier_session` processes the requests; docs/rpc.md lists all commands and events.
//!
//! # Design
//!
//! - `Op` and `Event`, with those of `osier_agent` inside, are the surface of the core. Every client sends the first
//!   and receives the second, so a script can do what the screen can do.
//! - The enum, the RPC command, its schema and documentation, the client's method, the write lock of several clients,
//!   and the order behind a session that is still being read come from the row of the request.

mod about;
mod accounts;
mod branches;
pub mod budget;
mod checkpoints;
mod code;
mod context;
mod entry;
mod entry_tag;
mod event;
pub mod form;
mod hook_event;
mod hooks;
mod import_report;
mod index;
mod lanes;
mod mcp;
mod models;
mod op;
mod outline;
mod permissions;
mod plan;
mod plugins;
mod presence;
mod project_map;
mod prompt;
pub mod questions;
mod review;
mod roles;
mod session_log;
mod sessions;
pub mod slash;
pub mod spending;
mod stash;
mod status;
mod subagents;
mod todo;
mod tools;
mod transcript;
mod transfer;
mod tree;
mod usage_report;
mod window;

pub use about::*;
pub use accounts::*;
pub use branches::*;
pub use budget::{Budget, BudgetState, BudgetUse};
pub use checkpoints::*;
pub use code::*;
pub use context::*;
pub use entry::*;
pub use entry_tag::*;
pub use event::*;
pub use hook_event::*;
pub use hooks::*;
pub use import_report::*;
pub use index::*;
pub use lanes::*;
pub use mcp::*;
pub use models::*;
pub use op::*;
pub use osier_base::event::Delivery;
pub use outline::*;
pub use permissions::*;
pub use plan::*;
pub use plugins::*;
pub use presence::*;
pub use project_map::*;
pub use prompt::*;
pub use questions::{Answer, Choice, Grant, Question, QuestionKind, Questions, Subject};
pub use review::*;
pub use roles::*;
pub use session_log::*;
pub use sessions::*;
pub use spending::*;
pub use stash::*;
pub use status::*;
pub use subagents::*;
pub use todo::*;
pub use tools::*;
pub use transcript::*;
pub use transfer::*;
pub use tree::*;
pub use usage_report::*;
pub use window::*;

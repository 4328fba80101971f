//! The session actor: one conversation, its agent, and the features around it.
//!
//! A client starts a session with [`SessionHandle::start`] and a [`SessionSetup`]. It sends requests
//! ([`osier_protocol::Op`]) and receives events ([`osier_protocol::Event`]); there is no other way in.
//!
//! ```
//! use osier_agent::Event as AgentEvent;
//! use osier_llm::Delta;
//! use osier_protocol::Event;
//! use osier_session::{SessionHandle, SessionSetup};
//! # use osier_base::folders::Folders;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, work) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (folders, cwd) = (Folders::under(home.path()), work.path().to_owned());
//! # std::fs::write(cwd.join("hello.json"), r#"{"turns": [{"steps": [{"text": "Hi."}]}]}"#)?;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//!
//! let mut setup = SessionSetup::new(folders, cwd);
//! setup.model = Some("script/hello.json".to_owned());
//! # setup.settings.discover_local_models = false;
//! let (session, mut events) = SessionHandle::start(setup)?;
//! let (text, attachments) = ("Hello".to_owned(), Vec::new());
//! session.send(osier_agent::Op::Prompt { text, attachments, typed: None }.into());
//!
//! let mut answer = String::new();
//! while let Some(event) = events.recv().await {
//!     match event {
//!         Event::Agent(AgentEvent::MessageUpdate {
//!             delta: Delta::TextDelta { delta, .. },
//!             ..
//!         }) => answer.push_str(&delta),
//!         Event::Agent(AgentEvent::AgentSettled { .. }) => break,
//!         _ => {}
//!     }
//! }
//! assert_eq!(answer, "Hi.");
//! # session.send(osier_protocol::Op::ShutDown);
//! # while events.recv().await.is_some_and(|event| event != Event::ShutDown) {}
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! - `actor`: the handle, the loop, and the dispatch of requests. The only module that knows all features.
//! - `open_session`: the file, the agent and the tools of the open session.
//! - one module for each feature, with its state, its operations and its tests: `stash`, `drafts`, `history`,
//!   `session_index`, `accounts`, `models`, `permissions`, `trust`, `hooks`, `plugins`, `mcp`, `context`, `tree`,
//!   `compaction`, `fan`, `checkpoints`, `subagents`, `shell`, `jobs`, `todo`, `usage`, `status`, `transfer` and others.
//! - `emitter`: how features publish events, and how background work returns its result to the actor.
//!
//! Dependencies point down: the actor imports features, a feature never imports the actor. A feature takes what it needs
//! as arguments: an `Emitter`, a store, an agent, a `Callback` for results of background work.

pub mod accounts;
mod actor;
mod budget;
mod checkpoints;
mod code;
mod commands;
mod compaction;
mod context;
mod drafts;
mod emitter;
mod fan;
mod formatting;
mod history;
mod hooks;
mod jobs;
#[cfg(feature = "transfer")]
pub mod known_secrets;
mod loop_guard;
mod mcp;
mod mcp_on_demand;
pub mod models;
mod nearby;
mod open_session;
mod permissions;
mod plan;
mod plugins;
mod private_files;
mod project_map;
mod prompt;
mod questions;
mod reminders;
mod review;
mod safety;
mod sampling;
mod secret_warnings;
pub mod session_index;
mod setup;
mod shell;
mod side_call;
mod stash;
mod status;
pub mod subagents;
mod sweeping;
mod terminals;
mod titles;
mod todo;
mod tool_policy;
mod transcript;
#[cfg(feature = "transfer")]
mod transfer;
mod tree;
mod trust;
mod usage;
mod web_search;
mod workspace;

pub use actor::{RemoteSession, SessionHandle, StartError};
pub use checkpoints::prune_options;
pub use compaction::input_tokens;
pub use mcp::server_files;
pub use open_session::{check_tools, find as find_session};
pub use safety::{SafetyError, check as check_safety};
pub use setup::{SessionChoice, SessionSetup};

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
//! session.send(osier_agent::Op::Prompt { text, attachments, typed: None, once: None }.into());
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
//! Its rooms, lowest layer first; a room imports only those below it (`tests/it/layers.rs` checks that):
//!
//! - `setup` has the options with which a client starts a session. Features publish events with `emitter`, and background
//!   work returns its result to the actor with it. `cx` is the context in which a feature handles a request. `run_log`
//!   stores warnings and errors.
//! - `choices` says which choices of users belong to the branch, the session and the program.
//! - `context`: the input of the model besides the conversation, such as the system prompt and reminders.
//! - `files`: checkpoints, language servers and formatters, the map of the project.
//! - `models`: the catalogue, the selection, accounts, and calls outside of the conversation.
//! - `conversation`: the tree, compaction, drafts, the to-do list, usage and budget.
//! - `safety`: trust, permissions and the gate before each tool call, plan mode, auto review.
//! - `agents`: subagents, lanes of `/fan`, background jobs, terminals.
//! - `extensions`: hooks, plugins, MCP servers.
//! - `sessions`: the open session with its file, agent and tools, and the stored ones.
//! - `actor`: the handle, the loop, and what concerns several features. The only room that knows all of them.
//!
//! A feature has its state, its operations and its tests in its module. It never imports the actor: it gets what it needs
//! as arguments, such as a `Cx`, an `Emitter`, a store, or a `Callback` for results of background work. The requests of a
//! group, such as `DraftOp`, are handled where the state is: in `requests` of a room, in the feature, or in `actor`.
//!
//! Invariants: a request that a client numbers ends with exactly one `Event::OpEnded`, after all of its
//! other events; and a session file is only ever appended to.

mod actor;
mod agents;
mod choices;
mod context;
mod conversation;
mod cx;
mod emitter;
mod extensions;

mod files;
pub mod models;
pub mod run_log;
mod safety;
mod sessions;
mod setup;

pub use actor::{RemoteSession, SessionHandle, StartError};
pub use agents::subagents;
pub use conversation::compaction::input_tokens;
pub use extensions::hooks::check_hooks;
pub use extensions::mcp::server_files;
pub use extensions::plugins::check_plugins;
pub use extensions::rule_check::check_deny_rules;
pub use files::checkpoints::prune_options;
pub use models::accounts;
#[cfg(feature = "transfer")]
pub use safety::known_secrets;
pub use sessions::faults::{SafetyError, check as check_safety};
pub use sessions::open_session::{check_tools, find as find_session};
pub use sessions::session_index;
pub use setup::{SessionChoice, SessionSetup};

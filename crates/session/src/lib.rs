//! What makes the agent a coding agent: tools, sessions, context, settings. `host` wires them and is
//! the one thing a mode receives.

pub mod accounts;
pub mod compaction;
pub mod fan;
pub mod guard;
pub mod history;
pub mod host;
pub mod marks;
mod model_files;
pub mod models;
pub mod prompt;
pub mod refresh;
pub mod roles;
pub mod scripts;
mod server;
pub mod spending;
pub mod stash;
pub mod subagents;
pub mod tour;
pub mod user_prompt;

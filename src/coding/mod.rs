//! What makes the agent a coding agent: tools, sessions, context, settings. `host` wires them and is
//! the one thing a mode receives.

pub mod accounts;
pub mod attachment;
pub mod context;
pub mod files;
pub mod folders;
pub mod history;
pub mod host;
pub mod image;
pub mod keeper;
pub mod models;
pub mod plugins;
pub mod prompt;
pub mod questions;
pub mod scripts;
pub mod session;
pub mod settings;
pub mod spending;
pub mod subagents;
pub mod tools;
pub mod tour;

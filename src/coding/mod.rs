//! What makes the agent a coding agent: tools, sessions, context, settings. `host` wires them and is
//! the one thing a mode receives.

pub mod accounts;
pub mod attachment;
pub mod checkpoint;
pub mod compaction;
pub mod context;
pub mod exchange;
pub mod fan;
pub mod files;
pub mod folders;
pub mod form;
pub mod guard;
pub mod history;
pub mod hooks;
pub mod host;
pub mod image;
pub mod keeper;
pub mod mcp;
mod model_files;
pub mod models;
pub mod permission;
pub mod plugins;
pub mod prompt;
pub mod questions;
pub mod refresh;
pub mod sandbox;
pub mod scripts;
mod server;
pub mod session;
pub mod settings;
pub mod spending;
pub mod subagents;
pub mod tools;
pub mod tour;
pub mod trust;
pub mod writer;

//! What makes the agent a coding agent: tools, sessions, context, settings. `host` wires them and is
//! the one thing a mode receives.

pub mod accounts;
pub mod attachment;
pub mod checkpoint;
pub mod compaction;
pub mod fan;
pub mod files;
pub mod folders;
pub mod history;
pub mod host;
pub mod image;
pub mod keeper;
pub mod library;
mod model_files;
pub mod models;
pub mod prompt;
pub mod questions;
pub mod refresh;
pub mod scripts;
mod server;
pub mod session;
pub mod settings;
pub mod spending;
pub mod tools;
pub mod tour;
pub mod unsent;
pub mod writer;

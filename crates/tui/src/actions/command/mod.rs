//! The command registry: everything a key, the palette or a slash command can start.
//!
//! `registry.rs` has one row per command. Keymaps, help, the palette and the dispatch of keys read it. Slash commands are
//! rows of `osier_protocol::slash`, for all clients.

mod arguments;
mod id;
mod info;
mod registry;
mod slash;

pub(crate) use arguments::{UNDO, preview};
pub use id::Command;
pub(crate) use info::{Category, CommandInfo, Run, commands};
pub(crate) use slash::{parse_slash, run_slash};

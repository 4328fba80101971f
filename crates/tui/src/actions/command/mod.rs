//! The command registry: everything a key, the palette or a slash command can start.
//!
//! `registry.rs` has one row per command. Keymaps, help, the palette, the prompt's completion and the dispatch
//! of keys read it; nothing else lists commands.

mod arguments;
mod id;
mod info;
mod prompts;
mod registry;
mod slash;

pub(crate) use arguments::preview;
pub use id::Command;
pub(crate) use info::{Category, CommandInfo, Run, commands};
pub(crate) use slash::{find_slash, parse_slash, slash_commands};

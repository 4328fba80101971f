//! The tools that run commands: `bash`, and `terminal` for programs that are typed into.

pub(crate) mod bash;
mod command_files;
pub(crate) mod terminal_tool;
pub(crate) mod terminals;
mod watcher;

#[cfg(test)]
mod terminal_tests;

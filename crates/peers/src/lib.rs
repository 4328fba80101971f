//! Everything that osier knows about other coding agents: Claude Code, Codex, pi, opencode, Gemini CLI and GitHub Copilot.
//!
//! Start at [`PeerFolders`], where their files are, and [`tools`], the tools of osier for their
//! tools.
//!
//! - `folders`: their folders and instruction files.
//! - [`tools`]: one table of their tools; permission rules, hooks, agents' definitions, settings and imports read it.
//! - [`front_matter`] and [`commands`]: the form of skills, commands, agents and rules.
//! - [`settings`]: settings files of Claude Code, whose permission rules become rules of osier.
//! - [`formats`]: the output of Claude Code and Codex for scripts and SDKs, and the input of Claude Code.
//! - `import` and `migrate`, with the feature `transfer`: their sessions, and the files that osier cannot read in place.
//!
//! A rule of another agent becomes a rule that is as strict or stricter, never a looser one. The files of other agents are
//! only read. The crate does not know permissions, settings or sessions of osier.

pub mod commands;
mod folders;
pub mod formats;
pub mod front_matter;
#[cfg(feature = "transfer")]
pub mod import;
#[cfg(feature = "transfer")]
pub mod migrate;
pub mod settings;
pub mod tools;

pub use folders::{INSTRUCTIONS, PeerFolders};

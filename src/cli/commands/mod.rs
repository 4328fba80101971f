//! The subcommands that print a report and exit, one file each.

pub(super) mod auth;
pub(super) mod checkpoints;
pub(super) mod config;
pub(super) mod doctor;
#[cfg(feature = "transfer")]
pub(super) mod export;
#[cfg(feature = "transfer")]
pub(super) mod import;
pub(super) mod manual;
pub(super) mod mcp;
#[cfg(feature = "transfer")]
pub(super) mod migrate;
pub(super) mod models;
pub(super) mod rewind;
pub(super) mod sessions;
mod table;

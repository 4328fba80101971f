//! The subcommands that print a report and exit, one file each.

pub(super) mod auth;
pub(super) mod checkpoints;
pub(super) mod config;
pub(super) mod doctor;
#[cfg(feature = "eval")]
pub(super) mod eval;
#[cfg(feature = "transfer")]
pub(super) mod export;
#[cfg(feature = "transfer")]
pub(super) mod import;
pub(super) mod manual;
pub(super) mod mcp;
pub(super) mod migrate;
pub(super) mod models;
pub(super) mod sessions;
mod table;

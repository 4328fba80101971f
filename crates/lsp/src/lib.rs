//! Language servers: programs that know a programming language, and report errors, definitions and references.
//!
//! Start at [`Servers`], which starts one server per root for all sessions of the process; [`Server`], a running one;
//! and [`table`], the servers that are known without configuration. The crate knows neither sessions nor tools, and
//! runs nothing by itself: its caller decides whether a project is trusted and how the program is confined.
//!
//! Everything that a server sends is untrusted and bounded: the length of a message, the elements of a list, the text of
//! a message. The types of the protocol that are read are few and lenient, so that one unknown value does not lose the
//! message around it.
//!
//! # Design
//!
//! - Language servers belong to the process: a `Slot` for each program, root and sandbox starts one when it is used,
//!   and the last session that has the slot ends it.

mod capabilities;
mod client;
mod diagnostics;
mod documents;
mod frame;
mod known_servers;
mod launch;
mod lists;
mod pace;
mod places;
mod position;
mod queries;
mod rename;
mod rustup;
mod server;
mod server_config;
mod slot;
#[cfg(test)]
mod tests;
mod tsserver;
mod uri;

pub use capabilities::Capability;
pub use client::Problem;
pub use diagnostics::{Counts, Diagnostic, FileDiagnostics, Severity};
pub use documents::Change;
pub use known_servers::{configured, table};
pub use launch::{Launch, Limits};
pub use places::{Place, Symbol};
pub use position::{Encoding, Lines};
pub use rename::{FileEdits, TextEdit};
pub use server::Server;
pub use server_config::{Override, ServerConfig, program};
pub use slot::{Servers, Slot, Status};

//! Foundations for all other crates: text, paths, files, processes, ids and the clock.
//!
//! Start at [`atomic_file`], which replaces files safely; [`process`], which starts and kills commands; and
//! [`text`], which sanitizes and shortens untrusted text. [`problem::Problem`] is an error in a file with its
//! position.
//!
//! The crate does not know models, agents or screens.

pub mod allocator;
pub mod ansi;
pub mod atomic_file;
pub mod browser;
pub mod clock;
pub mod folders;
pub mod foreground;
pub mod hex;
pub mod ids;
pub mod jsonl;
pub mod locked_file;
pub mod locked_json;
pub mod parts;
pub mod path;
pub mod percent;
pub mod problem;
pub mod process;
pub mod redact;
pub mod signals;
pub mod text;
pub mod watch;

/// The name of the program, as other programs are told it.
pub const PROGRAM: &str = "osier";

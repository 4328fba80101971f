//! Foundations for all other crates: text, paths, files, processes, ids and the clock.
//!
//! ```
//! use osier_base::{clock, path, text};
//!
//! assert_eq!(text::sanitize("\u{1b}[31mred\u{1b}[0m"), "red");
//! assert_eq!(text::truncate("a long title", 7), "a long…");
//! assert_eq!(clock::human_duration(4_200), "4.2s");
//! assert_eq!(path::resolve("/work".as_ref(), "./src"), std::path::Path::new("/work/src"));
//! ```
//!
//! - [`text`] measures, cuts and sanitizes untrusted text; [`ansi`] extracts its colours; [`redact`] removes keys.
//! - [`atomic_file`] replaces files atomically; [`locked_json`] shares small files between processes; [`jsonl`] reads
//!   and appends JSON lines.
//! - [`diff`] compares texts by line or by word.
//! - [`process`] runs commands and kills them with all their descendants.
//! - [`problem::Problem`] is an error in a user's file with its position.
//!
//! The crate does not depend on models, agents or screens.

pub mod allocator;
pub mod ansi;
pub mod atomic_file;
pub mod browser;
pub mod clock;
pub mod diff;
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
pub mod real_path;
pub mod redact;
pub mod request;
pub mod secrets;
pub mod signals;
pub mod task;
pub mod text;
pub mod watch;
pub mod without_links;

/// The program's name in requests to other programs.
pub const PROGRAM: &str = "osier";

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
//! - [`text`] measures, cuts and sanitizes untrusted text; [`visible`] shows each of its characters; [`ansi`] extracts
//!   its colours; [`secrets`] finds keys and [`redact`] removes them.
//! - [`terminal_output`] owns the standard output and standard error of the program.
//! - [`atomic_file`] replaces files atomically, by a [`pending_file`]; [`locked_json`] shares small files between processes; [`jsonl`] reads
//!   and appends JSON lines.
//! - [`file_exchange`] replaces files so that watchers see them.
//! - [`regular_file`] and [`walk`] read what others may have prepared: regular files of a limited size, folders once;
//!   [`config_file`] is such a file for a loader.
//! - [`private`] is for files and folders that may contain secrets.
//! - [`leftovers`] removes what killed processes leave.
//! - [`diff`] compares texts by line or by word.
//! - [`process`] runs commands and kills them with all their descendants.
//! - [`working_folder`] finds the folder of a session again when another program moved it.
//! - [`git`] runs git so that the repository cannot run programs.
//! - [`request`] declares requests, [`event`] events, and `words` types whose values have names, one row each.
//! - [`server_tool`] names the tools of MCP servers.
//! - [`problem::Problem`] is an error in a user's file with its position.
//!
//! The crate does not depend on models, agents or screens.
//!
//! # Design
//!
//! - Whatever hangs, the program ends in time: a thread of `exit_limit` ends it 0.9 seconds after a signal, or after
//!   the user quit.
//! - Text from outside is made visible in one place: `visible` for questions, `terminal_output` for streams; the
//!   frame writer of the terminal toolkit does it for the screen.
//! - Temporary files and folders have one owner, `leftovers`: a table of kinds, each locked while it is used. `sweep`
//!   removes the others when a session is idle. A `PendingFile` has no name until it is complete.
//! - Locks are taken in `locked_file` alone, which works without them where a file system has none.
//! - A request is declared once, as a row of `requests!` in `request`: its parameters, its documentation, its effect
//!   on a shared conversation, and the events that answer it.
//! - `allocator` returns large blocks to the system when they are freed. It is one of the two files of osier with
//!   unsafe code.

pub mod allocator;
pub mod ansi;
pub mod atomic_file;
pub mod browser;
pub mod clock;
pub mod config_file;
pub mod diff;
pub mod event;
pub mod exit_limit;
pub mod fault;
pub mod file_exchange;
pub mod file_stamp;
pub mod folders;
pub mod foreground;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod git;
pub mod hex;
pub mod ids;
pub mod json;
pub mod jsonl;
pub mod leftovers;
pub mod locked_file;
pub mod locked_json;
pub mod opaque;
pub mod parts;
pub mod path;
pub mod pending_file;
pub mod percent;
pub mod private;
pub mod problem;
pub mod process;
pub mod real_path;
pub mod redact;
pub mod regular_file;
pub mod repository;
pub mod request;
pub mod secrets;
pub mod server_tool;
pub mod signals;
pub mod slash_text;
pub mod sort;
pub mod task;
pub mod terminal_output;
pub mod text;
pub mod unique_json;
pub mod visible;
pub mod walk;
pub mod watch;
pub mod without_links;
pub mod words;
pub mod working_folder;

/// The program's name in requests to other programs.
pub const PROGRAM: &str = "osier";

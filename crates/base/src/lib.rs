//! What every layer stands on: text, paths, files, processes, ids and the clock. Knows nothing of
//! models, agents or screens.

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

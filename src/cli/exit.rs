//! Exit codes, and the one place where the program's own errors are printed.

use std::io::Write;
use std::process::ExitCode;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Success,
    /// A run failed: model error, turn limit, or a message that could not be stored.
    Failure,
    /// A flag, a value or a file the user gave cannot be used.
    Usage,
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
        })
    }
}

/// Says on standard error why the program cannot do what was asked.
pub(super) fn usage_error(message: &str) -> Exit {
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "osier: {message}");
    Exit::Usage
}

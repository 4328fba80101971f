//! Exit codes, and how the program prints its own errors.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use osier_base::secrets::hide_known;
use osier_base::terminal_output;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Success,
    /// The run failed: model error, turn limit, or a message that could not be stored.
    Failure,
    /// A flag, a value or a file of the command line is invalid.
    Usage,
    Interrupted,
    /// By a signal: the code is 128 + n.
    Signal(i32),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
            Exit::Signal(signal) => u8::try_from(128 + signal).unwrap_or(1),
        })
    }
}

/// Prints `message` on standard error: the command line is invalid.
pub(super) fn usage_error(message: &str) -> Exit {
    report(message);
    Exit::Usage
}

/// Prints `message` on standard error: the run cannot begin.
pub(super) fn failure(message: &str) -> Exit {
    report(message);
    Exit::Failure
}

fn report(message: &str) {
    // A failed write to standard error cannot be reported.
    let _ = writeln!(terminal_output::stderr(), "osier: {}", hide_known(message));
}

/// How a mode with a screen ended.
///
/// # Errors
/// The screen could not be used.
pub(super) fn screen_exit(outcome: Result<Option<i32>, impl Display>) -> Result<Exit, String> {
    let signal = outcome.map_err(|error| format!("{error:#}"))?;
    Ok(signal.map_or(Exit::Success, Exit::Signal))
}

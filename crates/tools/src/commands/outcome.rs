//! The request to run a command, and its outcome.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use osier_agent::ShellRun;
use osier_base::process::{Exit, signal_name};
use serde::Serialize;

use super::prompt_detection::needs_password;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashDetails {
    pub command: String,
    /// Not set when a signal ended the command, or when it is still running.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended the command, as in `SIGKILL`.
    pub signal: Option<String>,
    /// In milliseconds.
    pub duration: u64,
    /// The model received only part of the output.
    pub truncated: bool,
    /// The complete output, available while the session is open.
    pub full_output_path: Option<String>,
    /// The sandbox that was used, as in `workspace, bubblewrap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The command most likely failed because of the sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox_denied: bool,
    /// The sandbox's report: denied network hosts, and new files that make programs run code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sandbox_notes: Vec<String>,
    /// Set for a background job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobDetails>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobDetails {
    pub id: String,
    pub running: bool,
}

/// A request to run a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellRequest {
    pub command: String,
    pub timeout: Option<Duration>,
    /// When the command becomes a background job, if it has no timeout.
    pub background_after: Option<Duration>,
    /// Whether the user can move it to the background.
    pub movable: bool,
    /// Whether the user started it with `!`: it can use the terminal of the screen.
    pub by_user: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellEnd {
    Exited,
    Aborted,
    TimedOut(Duration),
    /// The run continues as a background job, after this time or because the user moved it.
    MovedToBackground(Option<Duration>),
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOutcome {
    /// The output for a model: sanitized, with the middle of long output omitted.
    pub output: String,
    pub end: ShellEnd,
    pub exit: Exit,
    pub details: BashDetails,
}

impl ShellOutcome {
    /// Converts it to the message that stores a command of the user.
    pub fn into_shell_run(self, exclude_from_context: bool, timestamp: i64) -> ShellRun {
        let command = self.details.command;
        let mut output = self.output;
        if !self.exit.is_success() && needs_password(&output) {
            let newline = if output.ends_with('\n') { "" } else { "\n" };
            let _ = write!(
                output,
                "{newline}[it cannot ask you here: run `!> {command}`]"
            );
        }
        ShellRun {
            command,
            output,
            exit_code: self.details.exit_code,
            cancelled: self.end == ShellEnd::Aborted,
            truncated: self.details.truncated,
            full_output_path: self.details.full_output_path,
            exclude_from_context,
            duration_ms: self.details.duration,
            timestamp,
        }
    }
}

/// The details of a command that ended with `exit`, or is still running.
pub(crate) fn details(command: &str, exit: Option<Exit>, duration: Duration) -> BashDetails {
    BashDetails {
        command: command.to_owned(),
        exit_code: exit.and_then(|exit| exit.code),
        signal: exit.and_then(|exit| exit.signal).map(signal_name),
        duration: duration.as_millis() as u64,
        ..BashDetails::default()
    }
}

/// Why a command could not be started.
pub fn start_error(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::Unsupported {
        return error.to_string();
    }
    format!("cannot start the shell: {error}")
}

/// How a command ended, for a model: `exit code 137 (SIGKILL)`.
pub(crate) fn describe(exit: Exit) -> String {
    let code = exit.shell_code();
    match exit.signal {
        Some(signal) => format!("ended by {}, exit code {code}", signal_name(signal)),
        // A shell adds 128 to the signal that ended a child.
        None if (129..160).contains(&code) => {
            format!("exit code {code} ({})", signal_name(code - 128))
        }
        None => format!("exit code {code}"),
    }
}

//! Background jobs and terminal sessions.

use osier_agent::Output;
use serde::{Deserialize, Serialize};

/// Work in addition to the conversation, for lists: a background job, or a subagent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct JobInfo {
    /// `job1` for the first job of the session, `agent1` for its first subagent.
    pub id: String,
    pub command: String,
    pub running: bool,
    /// It was running when osier ended: its end is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// A subagent whose call waits for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub foreground: bool,
    /// Not set when a signal ended the job, or when it is still running.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended the job, as in `SIGKILL`.
    pub signal: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub started_at: i64,
    /// Milliseconds until now, or until its end.
    pub duration: u64,
    /// Bytes of output so far.
    pub output_bytes: u64,
    /// The complete output when it is long, available while the session is open.
    pub full_output_path: Option<String>,
}

/// A terminal session, for lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalInfo {
    /// `term1` for the first terminal of the session.
    pub id: String,
    pub command: String,
    pub running: bool,
    /// The program reads a line that it does not show, such as a password.
    pub hidden_input: bool,
    /// Not set when a signal ended the program, or when it is still running.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended the program, as in `SIGKILL`.
    pub signal: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub started_at: i64,
    pub rows: u16,
    pub columns: u16,
}

/// The screen of a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalScreen {
    /// The rows without control sequences, and their colours.
    #[serde(flatten)]
    pub output: Output,
    /// Row and column from 0, if the cursor is shown.
    pub cursor: Option<(u16, u16)>,
    /// The program asked for application sequences of the arrow keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub application_keys: bool,
    pub rows: u16,
    pub columns: u16,
}

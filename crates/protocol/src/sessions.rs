//! Sessions in lists, and ways to open one.

use osier_llm::Usage;
use serde::{Deserialize, Serialize};

/// The session that is open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub id: String,
    /// Not set for a session that is not stored.
    pub path: Option<String>,
    pub cwd: String,
    pub name: Option<String>,
    /// Whether it existed before.
    pub resumed: bool,
    /// It can be looked at, and nothing is stored.
    #[serde(default)]
    pub read_only: bool,
    /// What all of it holds; not set while a long one is still being read.
    pub contents: Option<SessionContents>,
    /// Whether an answer that was cut off by a crash was brought back.
    pub recovered_draft: bool,
}

/// What a whole session holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionContents {
    /// Messages of the current branch.
    pub messages: usize,
    /// Lines that could not be read and were left out.
    pub damaged_lines: usize,
    /// Tokens and cost of every call, on all branches.
    pub usage: Usage,
}

/// A session as a list shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    pub id: String,
    pub path: String,
    pub cwd: String,
    pub name: Option<String>,
    pub first_prompt: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub modified: i64,
    /// Bytes of the file.
    pub size: u64,
}

/// As what a stored session is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// To go on in it. Refused while another process has it.
    #[default]
    Itself,
    /// To go on in a copy of its current branch: a session of its own.
    Copy,
    /// To look at it as it is now. Nothing can be stored.
    ReadOnly,
}

//! Typed details that tools report to the interface in addition to the text for the model. They are stored
//! with the session, so the names and meanings of fields are stable.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Converts details for `ToolOutput::details`.
pub fn to_value(details: &impl Serialize) -> Value {
    serde_json::to_value(details).unwrap_or_default()
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadDetails {
    /// Absolute path.
    pub file_path: String,
    pub total_lines: u64,
    pub lines_read: u64,
    /// First line read, from 1.
    pub offset: u64,
    /// More lines follow, or a line was cut.
    pub truncated: bool,
    /// Set when the file is an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalDetails {
    /// The id of the terminal.
    pub id: String,
    pub command: String,
    pub running: bool,
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WriteDetails {
    /// Absolute path.
    pub file_path: String,
    /// In bytes.
    pub size: u64,
    pub is_new: bool,
    /// Unified diff; long ones are cut, see `diff::unified`.
    pub diff: String,
    pub lines_added: u64,
    pub lines_removed: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditDetails {
    /// Absolute path.
    pub file_path: String,
    /// The text of the first edit; `edits` contains all when there are several.
    pub old_string: String,
    pub new_string: String,
    /// Number of replacements, over all edits.
    pub match_count: u64,
    /// Lines added or removed; a replaced line counts once.
    pub lines_changed: u64,
    /// Unified diff; long ones are cut, see `diff::unified`.
    pub diff: String,
    pub lines_added: u64,
    pub lines_removed: u64,
    /// Line number in the new file, from 1.
    pub first_changed_line: Option<u64>,
    /// Some text matched only after normalisation.
    pub fuzzy: bool,
    /// All edits, when there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<SingleEdit>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SingleEdit {
    pub old_string: String,
    pub new_string: String,
    pub match_count: u64,
}

/// Of `apply_patch`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchDetails {
    /// In the order of the patch.
    pub files: Vec<PatchedFile>,
    /// Unified diff of all files; long ones are cut. If there are several files, a line `diff --git` is before each, see
    /// `diff::by_file`.
    pub diff: String,
    pub lines_added: u64,
    pub lines_removed: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchedFile {
    /// Absolute path.
    pub file_path: String,
    pub kind: PatchedKind,
    /// The absolute path before it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    pub lines_added: u64,
    pub lines_removed: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchedKind {
    Add,
    #[default]
    Update,
    Delete,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobListDetails {
    pub jobs: Vec<BashDetails>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobDetails {
    pub id: String,
    pub running: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GrepDetails {
    pub pattern: String,
    /// Absolute path.
    pub path: String,
    /// Matches that are shown, without context lines.
    pub matches: u64,
    /// Files with matches.
    pub files: u64,
    /// There are more matches than shown.
    pub truncated: bool,
    /// Number of files and directories that could not be read.
    pub unreadable: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FindDetails {
    pub pattern: String,
    /// Absolute path.
    pub path: String,
    /// Number of paths shown.
    pub count: u64,
    /// There are more paths than shown.
    pub truncated: bool,
    /// Directories that could not be read.
    pub unreadable: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MapDetails {
    /// Absolute path.
    pub path: String,
    /// Files shown.
    pub files: u64,
    /// Symbols shown.
    pub symbols: u64,
    /// There are more files than shown.
    pub truncated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LsDetails {
    /// Absolute path.
    pub path: String,
    /// Entries of the directory, including those not shown.
    pub total: u64,
    pub truncated: bool,
}

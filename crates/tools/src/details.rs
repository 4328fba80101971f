//! What the tools tell the interface beside the text a model reads. Stored with the session, so a
//! field that was written once keeps its name and meaning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The details as `ToolOutput::details` carries them.
pub fn to_value(details: &impl Serialize) -> Value {
    serde_json::to_value(details).unwrap_or_default()
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadDetails {
    /// Absolute.
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
pub struct WriteDetails {
    /// Absolute.
    pub file_path: String,
    /// Bytes.
    pub size: u64,
    pub is_new: bool,
    /// Unified; cut when long, see `diff::unified`.
    pub diff: String,
    pub lines_added: u64,
    pub lines_removed: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditDetails {
    /// Absolute.
    pub file_path: String,
    /// Of the first edit; `edits` has all when there are several.
    pub old_string: String,
    pub new_string: String,
    /// Places changed, over all edits.
    pub match_count: u64,
    /// Lines added or removed, a replaced line counted once.
    pub lines_changed: u64,
    /// Unified; cut when long, see `diff::unified`.
    pub diff: String,
    pub lines_added: u64,
    pub lines_removed: u64,
    /// In the new file, from 1.
    pub first_changed_line: Option<u64>,
    /// Some text matched only after normalising.
    pub fuzzy: bool,
    /// Every edit when there are several.
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BashDetails {
    pub command: String,
    /// Not set when a signal ended the command or it still runs.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended the command: `SIGKILL`.
    pub signal: Option<String>,
    /// Milliseconds.
    pub duration: u64,
    /// The model got a part of the output.
    pub truncated: bool,
    /// The whole output, while the session lives.
    pub full_output_path: Option<String>,
    /// What confined it: `workspace, bubblewrap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// It most likely failed because the sandbox stopped it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox_denied: bool,
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
    /// Absolute.
    pub path: String,
    /// Shown; lines of context not counted.
    pub matches: u64,
    /// That have one.
    pub files: u64,
    /// There are more matches.
    pub truncated: bool,
    /// Files and directories that could not be read.
    pub unreadable: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FindDetails {
    pub pattern: String,
    /// Absolute.
    pub path: String,
    /// Paths shown.
    pub count: u64,
    /// There are more.
    pub truncated: bool,
    /// Directories that could not be read.
    pub unreadable: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LsDetails {
    /// Absolute.
    pub path: String,
    /// Entries of the directory, shown or not.
    pub total: u64,
    pub truncated: bool,
}

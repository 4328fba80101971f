//! What can be told and heard about the files of the working directory and how they stood.

use serde::{Deserialize, Serialize};

use osier_checkpoint::{FileChange, Unrestored};

/// Instructions about files; those that change them are refused while the agent works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum CheckpointOp {
    /// What bringing the files back to a place would do. Answered by `CheckpointEvent::FilesPreview`.
    /// `request` is a number of the asker's choice that comes back with the answer.
    PreviewFiles { request: u64, at: FilesAt },
    /// Brings the files back to a place; those changed by hand since only with `byHand`. Answered by
    /// `CheckpointEvent::FilesRestored`.
    RestoreFiles {
        at: FilesAt,
        #[serde(default)]
        by_hand: bool,
    },
    /// Takes the last `RestoreFiles` back; once more, and it holds again.
    UndoRestore,
    /// How files changed over a part of the session, or against git. Answered by `CheckpointEvent::FileDiffs`.
    ReadFileDiffs { request: u64, range: DiffRange },
    /// Takes the rejected pieces of diffs back, and, with `tell`, tells the model what was rejected and what
    /// was said of the others, as one prompt. Answered by `CheckpointEvent::FilesRestored` when any was
    /// rejected; `UndoRestore` takes it back.
    Review {
        pieces: Vec<Reviewed>,
        #[serde(default)]
        tell: bool,
    },
}

/// What a person says of one piece of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reviewed {
    /// Relative to the working directory.
    pub path: String,
    /// The piece, from its `@@` line to the next.
    pub hunk: String,
    #[serde(default)]
    pub rejected: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// Which state of the files is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "at", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum FilesAt {
    /// That of the place in the tree where the conversation is.
    Here,
    /// That of the session's first record.
    Start,
    /// That from before the last prompt of the branch.
    LastPrompt,
    /// That of an entry: before a prompt, behind anything else.
    Entry { entry_id: String },
}

/// Over what files are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "over",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum DiffRange {
    /// From its first record until now.
    Session,
    /// From the last prompt until now.
    LastPrompt,
    /// From the commit that is checked out, as git knows it, until now.
    Head,
    /// What the prompt at or above an entry led to: up to the next prompt, or to the end of its branch.
    Turn { entry_id: String },
    /// Between two entries, of one branch or of two; without `from` the session's first record, without
    /// `to` now.
    Between {
        #[serde(default)]
        from: Option<String>,
        #[serde(default)]
        to: Option<String>,
    },
}

/// What is heard about files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum CheckpointEvent {
    /// Answer to `PreviewFiles`.
    FilesPreview {
        request: u64,
        at: FilesAt,
        /// False when no state of the files is known for the place; `changes` is empty then.
        known: bool,
        changes: Vec<FileChange>,
    },
    /// Files were brought back. What stayed says why.
    FilesRestored {
        changes: Vec<FileChange>,
        left: Vec<Unrestored>,
    },
    /// Answer to `ReadFileDiffs`, by path. `known` is false when no state of the files is known for one
    /// of the ends; `files` is empty then.
    FileDiffs {
        request: u64,
        range: DiffRange,
        known: bool,
        files: Vec<FileDiff>,
    },
}

/// How one file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    #[serde(flatten)]
    pub change: FileChange,
    /// Its path before, where the file was renamed; git alone tells that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Unified, of bounded length; empty for what is no text.
    pub diff: String,
}

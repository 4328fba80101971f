//! Requests and events about checkpoints of the working directory.

use serde::{Deserialize, Serialize};

osier_base::requests! {
    /// A request about the files of the working directory.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum CheckpointOp {
        /// List the changes that `restore_files` would make.
        #[request(Files, None => FilesPreview)]
        PreviewFiles {
            request: u64,
            /// the checkpoint
            at: FilesAt,
        },
        /// Restore the files of a checkpoint. Files changed by hand since then are skipped.
        #[request(Files, Change => FilesRestored)]
        RestoreFiles {
            /// the checkpoint
            at: FilesAt,
            /// also restore files changed by hand
            #[serde(default)]
            by_hand: bool,
        },
        /// Undo the last `restore_files`. A second call redoes it.
        #[request(Files, Change => FilesRestored)]
        UndoRestore,
        /// Return the diffs of the files over a part of the session, or against the checked-out commit.
        #[request(Files, None => FileDiffs)]
        ReadFileDiffs {
            request: u64,
            /// which part
            range: DiffRange,
        },
        /// Revert rejected parts of diffs. With `tell`, send the review to the model as a prompt.
        #[request(Files, Change => FilesRestored)]
        Review {
            /// the decision about each part
            pieces: Vec<Reviewed>,
            /// send the review to the model
            #[serde(default)]
            tell: bool,
        },
    }
}

osier_base::parameter_types! {
    DiffRange: Object("DiffRange"),
    FilesAt: Object("FilesAt"),
    Reviewed: Object("Reviewed"),
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

/// The change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file is created.
    Create,
    /// The content or the file type changes.
    Modify,
    /// Its permission bits alone change.
    Mode,
    /// The file is removed.
    Remove,
}

/// A file of a plan, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Relative to the working directory.
    pub path: String,
    pub kind: ChangeKind,
    /// Changed outside of the agent since: the file stays unless its restoration is requested.
    pub by_hand: bool,
    /// Why it stays in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// A file that stayed as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unrestored {
    /// Relative to the working directory.
    pub path: String,
    pub reason: String,
}

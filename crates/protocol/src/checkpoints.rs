//! Requests and events about checkpoints of the working directory.

use osier_base::{text, visible};
use serde::{Deserialize, Serialize};

osier_base::requests! {
    /// A request about the files of the working directory.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum CheckpointOp {
        /// List the changes that `restore_files` would make.
        #[request(Files, None)]
        PreviewFiles {
            request: u64,
            /// the checkpoint
            at: FilesAt,
        } => FilesPreview {
            request: u64,
            at: FilesAt,
            /// False when no state of the files is recorded; `changes` is empty then.
            known: bool,
            changes: Vec<FileChange>,
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
        /// Undo the last `restore_files`; a second call undoes the one before. The next turn that changes files ends the
        /// history of restores.
        #[request(Files, Change => FilesRestored)]
        UndoRestore,
        /// Redo the restore that `undo_restore` has undone last.
        #[request(Files, Change => FilesRestored)]
        RedoRestore,
        /// Return the diffs of the files over a part of the session, or against the checked-out commit.
        #[request(Files, None)]
        ReadFileDiffs {
            request: u64,
            /// which part
            range: DiffRange,
        } =>
        /// Sorted by path. `known` is false, and `files` is empty, when no state of the files is recorded
        /// for an end of the range.
        FileDiffs {
            request: u64,
            range: DiffRange,
            known: bool,
            files: Vec<FileDiff>,
        },
        /// Count the lines that were added to and removed from each file over a part of the session.
        #[request(Files, None)]
        CountChangedLines {
            request: u64,
            /// which part, except `head`; the session until now when missing
            #[serde(default)]
            range: DiffRange,
        } =>
        /// Sorted by path. `known` is false, and `files` is empty, when no state of the files is recorded.
        ChangedLines {
            request: u64,
            known: bool,
            /// At most 1,000.
            files: Vec<ChangedLines>,
            /// The number of other changed files.
            more: u64,
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
    answers checkpoint_events $
}

osier_base::parameter_types! {
    DiffRange: Object("DiffRange"),
    FilesAt: Object("FilesAt"),
    Reviewed: Object("Reviewed"),
}

/// The user's review of one hunk of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reviewed {
    /// Relative to the working directory.
    pub path: String,
    /// The hunk, from its `@@` line to the next.
    pub hunk: String,
    #[serde(default)]
    pub rejected: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// The lines have changed since the review.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated: bool,
}

/// A recorded state of the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "at", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum FilesAt {
    /// The state at the current entry.
    Here,
    /// The first recorded state of the session.
    Start,
    /// Before the last prompt of the branch: only the files that its turn changed.
    LastPrompt,
    /// Before the turns between the current entry and `entryId`, which were undone: only the files that they changed.
    Undone { entry_id: String },
    /// Before the files were restored after the undo that the last `redo_prompt` reverted: only those that were restored.
    Redone,
    /// The state when the conversation was last at the current position, with changes by hand; else the state at the
    /// current entry.
    Returned,
    /// The state at an entry: before a prompt, after any other entry.
    Entry { entry_id: String },
}

/// The range of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "over",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum DiffRange {
    /// From the first recorded state until now.
    #[default]
    Session,
    /// From the last prompt until now.
    LastPrompt,
    /// From the checked-out git commit until now.
    Head,
    /// From the prompt at or above an entry to the next prompt, or to the end of the branch.
    Turn { entry_id: String },
    /// Between two entries of any branches. Without `from`, from the first recorded state; without `to`,
    /// until now.
    Between {
        #[serde(default)]
        from: Option<String>,
        #[serde(default)]
        to: Option<String>,
    },
}

checkpoint_events! {
    /// An event about files.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(
        tag = "type",
        rename_all = "snake_case",
        rename_all_fields = "camelCase"
    )]
    pub enum CheckpointEvent {
        /// Files were restored.
        FilesRestored {
            changes: Vec<FileChange>,
            /// Files that were not restored, with the reason.
            left: Vec<Unrestored>,
            /// A step in the history of restores.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            step: Option<RestoreStep>,
        },
        /// The user or another program changed or removed files since the model last read or wrote them. Sent once per change,
        /// when the next request to the model contains a reminder with these paths.
        FilesChangedOutside {
            /// At most 20 paths. A path in the working directory is relative to it.
            paths: Vec<String>,
            /// The number of other paths.
            more: u64,
        },
    }
}

/// A step in the history of restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RestoreStep {
    /// A restore was undone.
    Undo,
    /// A restore that was undone was made again.
    Redo,
}

/// The number of changed lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedLines {
    /// Relative to the working directory.
    pub path: String,
    pub kind: ChangeKind,
    /// Both are 0 for files that are not text.
    pub added: u64,
    pub removed: u64,
}

/// Paths that one line about changed files names.
const NAMED: usize = 3;

/// One line for the user about the files of `FilesChangedOutside`.
pub fn changed_outside(paths: &[String], more: u64) -> String {
    let (named, others) = paths.split_at(paths.len().min(NAMED));
    let named: Vec<String> = named
        .iter()
        .map(|path| text::single_line(&visible::visible(path)))
        .collect();
    let more = match more + others.len() as u64 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = named.join(", ");
    format!("changed outside of osier: {named}{more}; the model gets a reminder")
}

/// The diff of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    #[serde(flatten)]
    pub change: FileChange,
    /// The previous path of a renamed file. Only set for a range from the git commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// A unified diff of limited length; empty for binary files.
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
    /// Only the permission bits of the file change.
    Mode,
    /// The file is removed.
    Remove,
}

/// A file of a restoration plan, for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Relative to the working directory.
    pub path: String,
    pub kind: ChangeKind,
    /// The file was changed by hand since then. It is skipped unless `byHand` is set in the request.
    pub by_hand: bool,
    /// Why the file cannot be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// A file that was not restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unrestored {
    /// Relative to the working directory.
    pub path: String,
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_three_changed_files_and_counts_the_others() {
        let paths =
            |count: usize| -> Vec<String> { (0..count).map(|of| format!("f{of}")).collect() };
        assert_eq!(
            changed_outside(&paths(1), 0),
            "changed outside of osier: f0; the model gets a reminder"
        );
        assert_eq!(
            changed_outside(&paths(5), 2),
            "changed outside of osier: f0, f1, f2 and 4 more; the model gets a reminder"
        );
        let hostile = ["a\nb\u{1b}[2J".to_owned()];
        assert!(!changed_outside(&hostile, 0).contains(char::is_control));
    }
}

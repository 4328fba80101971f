//! Requests and events about the session tree: navigation, branches, compaction.

use crate::{
    Comparison, ContextReport, Entry, ForkFiles, LaneState, Outline, Spending, StoredMessage,
};
use osier_agent::UserMessage;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// The default for `bytes` of `read_entries`.
fn usual_glimpse() -> usize {
    400
}

/// The default for `limit` of `get_entries`.
fn usual_limit() -> usize {
    1000
}

osier_base::requests! {
    /// A request about the session tree. Requests that change the tree fail during a run.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum TreeOp {
        /// Return the complete tree in a compact form, or the entries after the first `since`.
        #[request(Tree, None + session, command "get_tree")]
        ReadTree {
            request: u64,
            /// how many entries the client already has
            #[serde(default)]
            since: u32,
        } => Tree {
            request: u64,
            outline: Arc<Outline>,
        },
        /// Return the start of the text of entries.
        #[request(Tree, None + session)]
        ReadEntries {
            request: u64,
            /// the entries
            entry_ids: Vec<String>,
            /// maximum of each; 400 when missing
            #[serde(default = "usual_glimpse")]
            bytes: usize,
        } =>
        /// Unknown entries are left out.
        Entries {
            request: u64,
            entries: Vec<Glimpse>,
        },
        /// Return entries of the session as stored, oldest first: at most `limit`, and about 16 MB.
        #[request(Tree, None + session, command "get_entries")]
        ReadLog {
            request: u64,
            /// only the entries after this one
            #[serde(default, skip_serializing_if = "Option::is_none")]
            since: Option<String>,
            /// maximum number; 1000 when missing
            #[serde(default = "usual_limit")]
            limit: usize,
        } =>
        /// `found` is false, and `entries` is empty, when the entry `since` does not exist.
        StoredEntries {
            request: u64,
            found: bool,
            entries: Vec<Entry>,
            /// The current entry of the conversation.
            leaf: Option<String>,
            /// There are more entries after these.
            more: bool,
        },
        /// Search all branches for entries that contain all words of a query, newest first. A new search cancels
        /// the previous one; an empty query only cancels.
        #[request(Tree, None + session)]
        SearchTree {
            request: u64,
            /// the words
            query: String,
        },
        /// Continue from an entry: before a prompt, whose text is returned for editing; after any other entry.
        /// With `summarize`, a model first summarizes the branch that is left; `abort` cancels the summary and
        /// the move.
        #[request(Tree, Begin + session, also "navigate_tree" => Moved | BranchSummaryFailed)]
        MoveTo {
            /// before the first entry when missing
            entry_id: Option<String>,
            /// continue before the last prompt instead of an entry
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            last_prompt: bool,
            /// summarize the branch that is left
            #[serde(default)]
            summarize: bool,
            /// instructions for the summary
            #[serde(default, skip_serializing_if = "Option::is_none")]
            instructions: Option<String>,
            /// refuse the move if the files of that point cannot be restored; `restore_files` restores them
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            with_files: bool,
        },
        /// Continue after an entry of any kind.
        #[request(Tree, Change + session => Moved | BranchSummaryFailed)]
        Branch {
            /// the entry
            entry_id: Option<String>,
        },
        /// Store a copy of the path to an entry as a session of its own. The path ends before a prompt, which is returned
        /// and becomes the draft of the copy, and after any other entry. This session stays open, and a run continues;
        /// `switch_session` opens the copy.
        #[request(Tree, Change + session => Forked)]
        Fork {
            /// the last prompt when missing
            #[serde(default)]
            entry_id: Option<String>,
        },
        /// Store a copy of the path to an entry as a session in a new git worktree, next to the repository and on a branch of
        /// its own, with the files of that entry if they are recorded. This session stays open.
        #[request(Tree, Change + session => Forked)]
        ForkWorktree {
            /// the last prompt when missing
            #[serde(default)]
            entry_id: Option<String>,
        },
        /// Store a copy of the current branch as a session of its own. This session stays open, and a run continues;
        /// `switch_session` opens the copy.
        #[request(Tree, Change + session => Forked)]
        Clone,
        /// Set the label of an entry. An empty label removes it.
        #[request(Tree, None + session, also "set_label" => EntryLabelled)]
        LabelEntry {
            /// the entry
            entry_id: String,
            /// its label
            label: String,
        },
        /// Hide an entry and all entries below it, or show them again. Nothing is removed from the file.
        #[request(Tree, Change + session => BranchHidden)]
        HideBranch {
            /// the entry
            entry_id: String,
            /// `false` shows it again
            hidden: bool,
        },
        /// Collapse the entries below an entry in the tree, or expand them again.
        #[request(Tree, None + session => BranchFolded)]
        FoldBranch {
            /// the entry
            entry_id: String,
            /// `false` expands it again
            folded: bool,
        },
        /// Delete an entry and all entries below it permanently: the session file is written again without their
        /// content. Checkpoints and the cost of answers stay. Not for the current branch.
        #[request(Tree, Change + session => BranchDeleted)]
        DeleteBranch {
            /// the entry
            entry_id: String,
            /// only return what would be deleted
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            preview: bool,
        },
        /// Compare the branches that end in two entries.
        #[request(Tree, None + session)]
        CompareBranches {
            request: u64,
            /// an entry; the current entry when missing
            left: Option<String>,
            /// another entry
            right: Option<String>,
        } => BranchesCompared {
            request: u64,
            comparison: Box<Comparison>,
        },
        /// Send the last prompt again as a sibling.
        #[request(Tree, Begin + session => Moved | BranchSummaryFailed)]
        RetryPrompt {
            /// send it to this model
            #[serde(default)]
            model: Option<String>,
        },
        /// Move to before the last prompt.
        #[request(Tree, Change + session => Moved | BranchSummaryFailed)]
        UndoPrompt {
            /// refuse the move if the files of the last prompt cannot be restored
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            with_files: bool,
        },
        /// Move back to where the last `undo_prompt` or `move_to` was sent.
        #[request(Tree, Change + session => Moved | BranchSummaryFailed)]
        RedoPrompt {
            /// refuse the move if the files of that point cannot be restored
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            with_files: bool,
        },
        /// Move back to the position before the last move. Sessions store the history of positions.
        #[request(Tree, Change + session => Moved | BranchSummaryFailed)]
        GoBack,
        /// Move to the position that the last `go_back` left.
        #[request(Tree, Change + session => Moved | BranchSummaryFailed)]
        GoForward,
        /// Replace the earlier part of the conversation by a summary.
        #[request(Tree, Begin + session)]
        Compact {
            /// what the summary must keep
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[also("customInstructions")]
            instructions: Option<String>,
            /// send the summary as `summary_drafted` and wait for `store_summary`
            #[serde(default)]
            review: bool,
            /// replace everything before this entry of the current branch; otherwise, all but recent messages
            #[serde(default, skip_serializing_if = "Option::is_none")]
            up_to: Option<String>,
        },
        /// Store the drafted summary with this text.
        #[request(Tree, Change + session)]
        StoreSummary {
            /// the summary
            summary: String,
        },
        /// Discard the drafted summary.
        #[request(Tree, Change + session)]
        DropSummary,
        /// Turn automatic compaction of a nearly full context window on or off.
        #[request(Tree, Change + session, command "set_auto_compaction" => AutoCompactChanged)]
        SetAutoCompact {
            /// on by default
            enabled: bool,
        },
        /// Return what fills the context window.
        #[request(State, None + session)]
        GetContext => ContextReport {
            report: Box<ContextReport>,
            /// Tokens, cost and cache use of the session.
            spending: Box<Spending>,
        },
        /// Send a prompt to several models at the same time. Each works in a copy of the files and on its own
        /// branch. `abort` stops all of them.
        #[request(Tree, Begin + session => FanStarted | FanEnded)]
        FanOut {
            /// two or more
            models: Vec<String>,
            /// the last prompt when missing
            #[serde(default, skip_serializing_if = "Option::is_none")]
            prompt: Option<String>,
        },
        /// Continue with a lane of the last fan: its files are copied to the working directory. If files were
        /// changed by hand meanwhile, nothing is written unless it is forced.
        #[request(Tree, Change + session => LaneTaken | LaneConflicts)]
        TakeLane {
            /// which lane
            lane: usize,
            /// back up files that were changed meanwhile, and overwrite them
            #[serde(default)]
            force: bool,
        },
        /// Delete the file copies of the last fan. Its branches remain.
        #[request(Tree, Change + session)]
        EndFan,
    }
    answers tree_events $
}

tree_events! {
    /// An event about the session tree.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(
        tag = "type",
        rename_all = "snake_case",
        rename_all_fields = "camelCase"
    )]
    pub enum TreeEvent {
        /// A batch of results of `search_tree`: entry numbers of the outline, newest first.
        #[event(Answer)]
        TreeHits {
            request: u64,
            entries: Vec<u32>,
            /// This is the last batch.
            done: bool,
        },
        /// A model summarizes the branch that is left.
        BranchSummaryStart,
        /// The summary failed or was interrupted. The current entry did not change.
        BranchSummaryFailed {
            message: String,
        },
        /// The conversation continues from another entry. `messages` are the last messages of its branch, oldest
        /// first. The model and level of that branch follow as `model_selected`.
        Moved {
            from: Option<String>,
            leaf: Option<String>,
            messages: Vec<StoredMessage>,
            /// `messages` begin with the first message of the branch.
            at_start: bool,
            /// Number of messages of the branch.
            count: usize,
            /// The prompt before which the conversation continues, for editing.
            prompt: Option<UserMessage>,
        },
        /// A copy of this session, up to one of its entries, is stored as the session `session`. It is not open.
        Forked {
            /// Id of the open session.
            parent_session: String,
            /// Id of the copy.
            session: String,
            /// File of the copy.
            path: PathBuf,
            /// The prompt before which the copy ends, for editing.
            prompt: Option<Box<UserMessage>>,
            /// Its working directory, in a new worktree.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            cwd: Option<PathBuf>,
            /// The files of the worktree.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            files: Option<ForkFiles>,
        },
        EntryLabelled {
            entry_id: String,
            /// `null` when the label was removed.
            label: Option<String>,
        },
        BranchHidden {
            entry_id: String,
            hidden: bool,
        },
        BranchFolded {
            entry_id: String,
            folded: bool,
        },
        /// An entry and all entries below it were deleted, or would be.
        BranchDeleted {
            entry_id: String,
            /// Nothing was deleted.
            preview: bool,
            /// Number of messages.
            messages: usize,
            /// By how much the session file is shorter.
            bytes: u64,
        },
        /// A summary waits for `store_summary`.
        SummaryDrafted {
            summary: String,
            tokens_before: u64,
            /// Number of messages that the summary replaces, and of messages that stay.
            goes: usize,
            stays: usize,
        },
        #[event(RetainedForSession)]
        AutoCompactChanged {
            enabled: bool,
        },
        /// Several models started to answer, in the order of their lanes.
        FanStarted {
            models: Vec<String>,
        },
        /// The progress of a lane.
        LaneUpdate {
            state: Box<LaneState>,
        },
        /// All lanes have ended. Empty when they could not start, or when their file copies were deleted.
        FanEnded {
            lanes: Vec<LaneState>,
        },
        /// The files of a lane were copied to the working directory.
        LaneTaken {
            lane: usize,
            files: Vec<PathBuf>,
            /// The directory with backups of overwritten files.
            kept: Option<PathBuf>,
        },
        /// No file was written, because these files were changed by hand since the fan started.
        LaneConflicts {
            lane: usize,
            files: Vec<PathBuf>,
        },
    }
}

/// A short preview of one entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Glimpse {
    pub entry_id: String,
    /// The start of its text, not sanitized.
    pub text: String,
    /// The author: a model or a tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// RFC 3339.
    pub timestamp: String,
    /// The entry is a call that failed or was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Duration and cost in US dollars of the call of an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "is_free")]
    pub cost: f64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_free(cost: &f64) -> bool {
    *cost <= 0.0
}

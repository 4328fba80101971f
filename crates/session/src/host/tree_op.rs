//! What can be told and heard about the session's tree: moving in it, branches, compaction.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compaction::ContextReport;
use crate::fan::LaneState;
use crate::spending::Spending;
use osier_agent::UserMessage;
use osier_store::{Comparison, Entry, Glimpse, Outline, StoredMessage};

/// Bytes of a glimpse when no other number is given.
fn usual_glimpse() -> usize {
    400
}

/// Entries of a piece of the log when no other number is given.
fn usual_limit() -> usize {
    1000
}

/// Instructions about the tree; those that change it are refused while the agent works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum TreeOp {
    /// The whole tree in a compact form, or what follows the first `since` entries of it; answered by
    /// `TreeEvent::Tree`.
    ReadTree {
        request: u64,
        #[serde(default)]
        since: u32,
    },
    /// The start of what entries say, at most `bytes` each; answered by `TreeEvent::Entries`.
    ReadEntries {
        request: u64,
        entry_ids: Vec<String>,
        #[serde(default = "usual_glimpse")]
        bytes: usize,
    },
    /// The entries as they are stored, oldest first: those behind the entry `since`, or from the first one
    /// on; at most `limit`. Answered by `TreeEvent::StoredEntries`.
    ReadLog {
        request: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
        #[serde(default = "usual_limit")]
        limit: usize,
    },
    /// Looks for entries of every branch that hold all words of `query`, the newest first; answered by
    /// `TreeEvent::TreeHits`. Ends the search before; an empty query does only that.
    SearchTree { request: u64, query: String },
    /// Goes on from an entry (`None`: before every root). A prompt is gone on before: its text comes back
    /// with `TreeEvent::Moved`, to be sent again as a sibling. With `summarize` a model first writes down
    /// what the branch that is left came to, told `instructions` too; `Abort` ends that, and nothing moves.
    MoveTo {
        entry_id: Option<String>,
        #[serde(default)]
        summarize: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Goes on behind an entry, whatever it is.
    Branch { entry_id: Option<String> },
    /// Leaves for a new session with a copy of the path to an entry: before it when it is a prompt, whose
    /// text comes back with `TreeEvent::Forked`. Without an entry, the last prompt.
    Fork {
        #[serde(default)]
        entry_id: Option<String>,
    },
    /// Leaves for a new session with a copy of the current branch.
    Clone,
    /// Names an entry; an empty label takes the name away.
    LabelEntry { entry_id: String, label: String },
    /// Deletes a branch: an entry and what hangs on it go out of sight. With `hidden: false` they come
    /// back; nothing is removed from the file.
    HideBranch { entry_id: String, hidden: bool },
    /// Puts the branches that end in two entries beside each other; answered by
    /// `TreeEvent::BranchesCompared`. Without an entry, the current leaf.
    CompareBranches {
        request: u64,
        left: Option<String>,
        right: Option<String>,
    },
    /// Sends the last prompt once more, as a sibling; to another model when one is named.
    RetryPrompt {
        #[serde(default)]
        model: Option<String>,
    },
    /// Goes back to before the last prompt.
    UndoPrompt,
    /// Goes on where the last `UndoPrompt` left.
    RedoPrompt,
    /// Replaces the earlier part of the conversation by a summary. With `review` the summary comes as
    /// `TreeEvent::SummaryDrafted` and waits for `StoreSummary`.
    Compact {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        #[serde(default)]
        review: bool,
    },
    /// Stores the drafted summary as it is here.
    StoreSummary { summary: String },
    /// Forgets the drafted summary.
    DropSummary,
    /// Whether a window that is nearly full is compacted without being asked.
    SetAutoCompact { enabled: bool },
    /// What fills the window; answered by `TreeEvent::Context`.
    GetContext,
    /// Sends a prompt, the last one again when none is given, to several models at once: each works in a
    /// copy of the files and on a branch of its own. `Abort` stops them all.
    FanOut {
        models: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
    /// Goes on with a lane of the last fan: its files become those of the working directory. Files that
    /// were changed by hand meanwhile are told by `TreeEvent::LaneConflicts` and nothing is written,
    /// unless it is forced: then they are kept aside first.
    TakeLane {
        lane: usize,
        #[serde(default)]
        force: bool,
    },
    /// Removes the copies of the last fan; its branches stay.
    EndFan,
}

/// What is heard about the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum TreeEvent {
    /// Answer to `ReadTree`.
    Tree {
        request: u64,
        outline: Arc<Outline>,
    },
    /// Answer to `ReadEntries`; what is not there is left out.
    Entries {
        request: u64,
        entries: Vec<Glimpse>,
    },
    /// Answer to `ReadLog`. `found` is false, and the rest empty, when there is no entry `since`.
    StoredEntries {
        request: u64,
        found: bool,
        entries: Vec<Entry>,
        /// The entry the conversation stands at.
        leaf: Option<String>,
        /// Others follow.
        more: bool,
    },
    /// Answer to `SearchTree`, in pieces: numbers of the outline, the newest first.
    TreeHits {
        request: u64,
        entries: Vec<u32>,
        /// No more will come.
        done: bool,
    },
    /// A model writes down what the branch that is left came to.
    BranchSummaryStart,
    /// The summary has failed or was interrupted: nothing moved.
    BranchSummaryFailed {
        message: String,
    },
    /// The conversation goes on elsewhere. `messages` are the last ones there, oldest first; the model
    /// and level of the place follow as `ModelSelected`.
    Moved {
        from: Option<String>,
        leaf: Option<String>,
        messages: Vec<StoredMessage>,
        at_start: bool,
        /// Messages of the branch.
        count: usize,
        /// The prompt that was gone on before, to be changed and sent again.
        prompt: Option<UserMessage>,
    },
    /// The session that was just opened is a copy of another.
    Forked {
        parent_session: String,
        prompt: Option<UserMessage>,
    },
    EntryLabelled {
        entry_id: String,
        /// `None` when the name was taken away.
        label: Option<String>,
    },
    BranchHidden {
        entry_id: String,
        hidden: bool,
    },
    /// Answer to `CompareBranches`.
    BranchesCompared {
        request: u64,
        comparison: Box<Comparison>,
    },
    /// A summary waits for `StoreSummary`.
    SummaryDrafted {
        summary: String,
        tokens_before: u64,
        /// Messages it stands for, and messages that stay.
        goes: usize,
        stays: usize,
    },
    AutoCompactChanged {
        enabled: bool,
    },
    /// Several models begin to answer, in this order of lanes.
    FanStarted {
        models: Vec<String>,
    },
    /// How far a lane is.
    LaneUpdate {
        state: Box<LaneState>,
    },
    /// Every lane has ended; none when they could not begin, or when their copies were removed.
    FanEnded {
        lanes: Vec<LaneState>,
    },
    /// The lane's files are those of the working directory now.
    LaneTaken {
        lane: usize,
        files: Vec<PathBuf>,
        /// Where overwritten files are kept.
        kept: Option<PathBuf>,
    },
    /// Nothing was written: these files were changed meanwhile.
    LaneConflicts {
        lane: usize,
        files: Vec<PathBuf>,
    },
    /// Answer to `GetContext`. Its name on the wire is not that of the parts of the prompt.
    #[serde(rename = "context_report")]
    Context {
        report: Box<ContextReport>,
        /// What the session has used, and how its caches were hit.
        spending: Box<Spending>,
    },
}

//! The comparison of two branches.

use osier_base::text::head_bytes;
use osier_llm::Usage;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The files of a fork in a new worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForkFiles {
    /// The files of the point that was forked.
    Point,
    /// The present files: the point is the current one.
    Now,
    /// The present files: those of the point are not recorded.
    Unrecorded,
}

/// Maximum bytes of a diff.
const TEXT: usize = 64 * 1024;

/// Two branches and their last common entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The last common entry; `null` when there is none.
    pub ancestor: Option<String>,
    pub left: BranchFacts,
    pub right: BranchFacts,
}

/// The content of one branch after the common entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BranchFacts {
    /// The last entry of the branch.
    pub leaf: Option<String>,
    /// The entry of its first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// The last answer.
    pub answer: String,
    /// All prompts and answers in order, at most 64 KiB: texts in the middle are left out first.
    #[serde(default)]
    pub conversation: Vec<BranchText>,
    /// `PROVIDER/ID` of the models that answered.
    pub models: BTreeSet<String>,
    pub messages: usize,
    pub tool_calls: usize,
    pub usage: Usage,
    /// Total time of model calls and tool calls, in milliseconds.
    pub duration_ms: u64,
    /// The changed files by path: from checkpoints if the branch has any, otherwise from tool results.
    pub files: BTreeMap<String, FileChanges>,
}

/// A text of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BranchText {
    Prompt {
        text: String,
    },
    Answer {
        text: String,
    },
    /// These prompts and answers are left out here.
    LeftOut {
        messages: usize,
    },
}

impl BranchText {
    /// Bytes of the text.
    pub fn size(&self) -> usize {
        match self {
            Self::Prompt { text } | Self::Answer { text } => text.len(),
            Self::LeftOut { .. } => 0,
        }
    }
}

/// Changes of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    pub added: u64,
    pub removed: u64,
    /// Unified diffs in chronological order, at most 64 KiB.
    pub diff: String,
}

impl FileChanges {
    /// Counts the lines of a unified diff and shortens it.
    pub fn new(diff: &str) -> Self {
        let mut changes = Self::default();
        let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
        for line in lines {
            changes.added += u64::from(line.starts_with('+'));
            changes.removed += u64::from(line.starts_with('-'));
        }
        head_bytes(diff, TEXT).clone_into(&mut changes.diff);
        changes
    }
}

//! Branches compared with one another.

use osier_base::text::head_bytes;
use osier_llm::Usage;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of an answer or a file's diff that are told.
const TEXT: usize = 64 * 1024;

/// Two branches and where they part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// The last entry of both; `None` when they share nothing.
    pub ancestor: Option<String>,
    pub left: BranchFacts,
    pub right: BranchFacts,
}

/// What one branch holds behind the place where it parted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BranchFacts {
    /// Its last entry.
    pub leaf: Option<String>,
    /// The entry of its first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The first prompt.
    pub prompt: String,
    /// The last answer.
    pub answer: String,
    /// `PROVIDER/ID` of those that answered.
    pub models: BTreeSet<String>,
    pub messages: usize,
    pub tool_calls: usize,
    pub usage: Usage,
    /// Milliseconds in which models answered and tools ran.
    pub duration_ms: u64,
    /// Files it changed, by path: from the records of files where it has some, else what its tools told.
    pub files: BTreeMap<String, FileChanges>,
}

/// Changes of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    pub added: u64,
    pub removed: u64,
    /// Unified diffs in the order they were made.
    pub diff: String,
}

impl FileChanges {
    /// Counts the lines of a unified diff, and keeps as much of it as is told.
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

//! Two branches beside each other: what each says, did, cost and changed since they parted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bodies::Record;
use super::envelope::Tag;
use super::index::SessionIndex;
use super::walk::into_message;
use osier_agent::{AgentMessage, ToolResultMessage};
use osier_base::text::head_bytes;
use osier_llm::Usage;

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

impl SessionIndex {
    /// Compares the branches that end in two entries. Reads what is not on both; blocks.
    pub fn compare(&self, left: Option<&str>, right: Option<&str>) -> Comparison {
        let (plans, ancestor, bodies) = self.look(|tree| {
            let path = |id: Option<&str>| tree.path_numbers(id.and_then(|id| tree.number(id)));
            let (left, right) = (path(left), path(right));
            let both = left
                .iter()
                .zip(&right)
                .take_while(|(one, other)| one == other);
            let shared = both.count();
            let ancestor = shared.checked_sub(1).map(|last| tree.id(left[last]));
            let records = |path: &[u32]| -> Vec<Record> {
                path[shared..]
                    .iter()
                    .map(|number| tree.record(*number))
                    .collect()
            };
            let plans = [records(&left), records(&right)];
            (plans, ancestor, tree.bodies().clone())
        });
        let facts = |records: &[Record], leaf: Option<&str>| {
            let mut facts = BranchFacts {
                leaf: leaf.map(str::to_owned),
                prompt_id: records
                    .iter()
                    .find(|record| record.tag == Tag::User)
                    .map(|record| record.id.clone()),
                ..BranchFacts::default()
            };
            let entries = records.iter().filter_map(|record| bodies.try_read(record));
            entries
                .filter_map(into_message)
                .for_each(|message| facts.see(&message));
            facts
        };
        Comparison {
            ancestor,
            left: facts(&plans[0], left),
            right: facts(&plans[1], right),
        }
    }
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

impl BranchFacts {
    fn see(&mut self, message: &AgentMessage) {
        self.messages += 1;
        match message {
            AgentMessage::User(prompt) if self.prompt.is_empty() => {
                head_bytes(&prompt.text, TEXT).clone_into(&mut self.prompt);
            }
            AgentMessage::Assistant(answer) => {
                self.models
                    .insert(format!("{}/{}", answer.provider, answer.model));
                self.usage += answer.usage;
                self.duration_ms += answer.duration_ms;
                self.tool_calls += answer.tool_calls().count();
                let text = answer.text();
                if !text.trim().is_empty() {
                    head_bytes(&text, TEXT).clone_into(&mut self.answer);
                }
            }
            AgentMessage::ToolResult(result) => self.see_result(result),
            _ => {}
        }
    }

    fn see_result(&mut self, result: &ToolResultMessage) {
        self.duration_ms += result.duration_ms;
        let details = &result.details;
        let text = |name: &str| details.get(name).and_then(Value::as_str);
        let (Some(path), Some(diff)) = (text("filePath"), text("diff")) else {
            return;
        };
        if !result.status.is_success() {
            return;
        }
        let lines = |name: &str| details.get(name).and_then(Value::as_u64).unwrap_or(0);
        let file = self.files.entry(path.to_owned()).or_default();
        file.added += lines("linesAdded");
        file.removed += lines("linesRemoved");
        if file.diff.len() + diff.len() <= TEXT {
            file.diff.push_str(diff);
        }
    }
}

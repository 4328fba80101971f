//! Compares two branches: their answers, tool calls, cost and changed files since their common ancestor.

use osier_protocol::{BranchFacts, Comparison};

use serde_json::Value;

use super::entry_reader::Record;
use super::index::EntryIndex;
use super::walk::into_message;
use osier_agent::{AgentMessage, ToolResultMessage};
use osier_base::text::head_bytes;
use osier_protocol::Tag;

/// Maximum bytes of an answer or a file's diff in a comparison.
const TEXT: usize = 64 * 1024;

impl EntryIndex {
    /// Compares the branches that end in two entries. Reads the entries that are not on both; blocks.
    pub fn compare(&self, left: Option<&str>, right: Option<&str>) -> Comparison {
        let (plans, ancestor, entry_reader) = self.read(|tree| {
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
            (plans, ancestor, tree.entry_reader().clone())
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
            let entries = records
                .iter()
                .filter_map(|record| entry_reader.try_read(record));
            entries
                .filter_map(into_message)
                .for_each(|message| count_message(&mut facts, &message));
            facts
        };
        Comparison {
            ancestor,
            left: facts(&plans[0], left),
            right: facts(&plans[1], right),
        }
    }
}

fn count_message(facts: &mut BranchFacts, message: &AgentMessage) {
    facts.messages += 1;
    match message {
        AgentMessage::User(prompt) if facts.prompt.is_empty() => {
            head_bytes(&prompt.text, TEXT).clone_into(&mut facts.prompt);
        }
        AgentMessage::Assistant(answer) => {
            facts
                .models
                .insert(format!("{}/{}", answer.provider, answer.model));
            facts.usage += answer.usage;
            facts.duration_ms += answer.duration_ms;
            facts.tool_calls += answer.tool_calls().count();
            if let Some(text) = message.answer() {
                head_bytes(&text, TEXT).clone_into(&mut facts.answer);
            }
        }
        AgentMessage::ToolResult(result) => count_result(facts, result),
        _ => {}
    }
}

fn count_result(facts: &mut BranchFacts, result: &ToolResultMessage) {
    facts.duration_ms += result.duration_ms;
    let details = &result.details;
    let text = |name: &str| details.get(name).and_then(Value::as_str);
    let (Some(path), Some(diff)) = (text("filePath"), text("diff")) else {
        return;
    };
    if !result.status.is_success() {
        return;
    }
    let lines = |name: &str| details.get(name).and_then(Value::as_u64).unwrap_or(0);
    let file = facts.files.entry(path.to_owned()).or_default();
    file.added += lines("linesAdded");
    file.removed += lines("linesRemoved");
    if file.diff.len() + diff.len() <= TEXT {
        file.diff.push_str(diff);
    }
}

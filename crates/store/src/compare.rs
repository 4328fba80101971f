//! Compares two branches: their answers, tool calls, cost and changed files since their common ancestor.

use osier_protocol::{BranchFacts, BranchText, Comparison};

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
            leave_out_middle(&mut facts.conversation);
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
        AgentMessage::User(prompt) => {
            let text = head_bytes(&prompt.text, TEXT).to_owned();
            if facts.prompt.is_empty() {
                facts.prompt.clone_from(&text);
            }
            facts.conversation.push(BranchText::Prompt { text });
        }
        AgentMessage::Assistant(answer) => {
            facts
                .models
                .insert(format!("{}/{}", answer.provider, answer.model));
            facts.usage += answer.usage;
            facts.duration_ms += answer.duration_ms;
            facts.tool_calls += answer.tool_calls().count();
            if let Some(text) = message.answer() {
                let text = head_bytes(&text, TEXT).to_owned();
                facts.answer.clone_from(&text);
                facts.conversation.push(BranchText::Answer { text });
            }
        }
        AgentMessage::ToolResult(result) => count_result(facts, result),
        _ => {}
    }
}

/// Replaces texts in the middle by one `LeftOut`, so that the others have about [`TEXT`] bytes: the last text, and as many of the first and
/// of the last others as fit into a half each.
fn leave_out_middle(texts: &mut Vec<BranchText>) {
    let sizes: Vec<usize> = texts.iter().map(BranchText::size).collect();
    let total: usize = sizes.iter().sum();
    if total <= TEXT {
        return;
    }
    let last = sizes.len() - 1;
    let first = fitting(sizes[..last].iter(), TEXT / 2);
    let room = (TEXT / 2).saturating_sub(sizes[last]);
    let end = fitting(sizes[first..last].iter().rev(), room);
    let left_out = first..last - end;
    let messages = left_out.len();
    if messages > 0 {
        texts.splice(left_out, [BranchText::LeftOut { messages }]);
    }
}

/// The number of sizes, from the first one on, that fit into `room`.
fn fitting<'a>(sizes: impl Iterator<Item = &'a usize>, mut room: usize) -> usize {
    let fits = |size: &&usize| {
        let left = room.checked_sub(**size);
        room = left.unwrap_or(0);
        left.is_some()
    };
    sizes.take_while(fits).count()
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

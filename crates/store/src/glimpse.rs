//! One-line previews of entries, read on demand, and text search in the complete tree.

use osier_protocol::Glimpse;
use std::sync::atomic::{AtomicBool, Ordering};

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::entry_reader::Record;
use super::index::EntryIndex;
use super::search::visible_texts;
use super::walk::message_of;
use osier_agent::AgentMessage;
use osier_base::text::{self, composed, head_bytes};
use osier_llm::{AssistantMessage, StopReason, ToolCall};
use osier_protocol::{Entry, EntryKind, Tag};

/// Entries read in one batch.
const BATCH: usize = 256;
/// Bytes at the start of an entry's text that are matched fuzzily; after them only complete words match.
const FUZZY: usize = 160;
/// Maximum bytes of a preview.
const LIMIT: usize = 1024 * 1024;

/// The words of a tree search.
#[derive(Debug)]
pub struct TreeQuery {
    pattern: Pattern,
    words: Vec<String>,
    any_case: bool,
    matcher: Matcher,
}

impl TreeQuery {
    /// `None` for an empty query. A query without capitals ignores case.
    pub fn new(query: &str) -> Option<Self> {
        let query = &*composed(query);
        let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then(|| Self {
            pattern: Pattern::parse(query, CaseMatching::Smart, Normalization::Smart),
            any_case: !query.chars().any(char::is_uppercase),
            words,
            matcher: Matcher::new(Config::DEFAULT),
        })
    }

    /// Whether `text` contains every word, or its start matches fuzzily.
    pub fn matches(&mut self, text: &str) -> bool {
        let text = &*composed(text);
        let whole = if self.any_case {
            let lower = text.to_lowercase();
            self.words.iter().all(|word| lower.contains(word.as_str()))
        } else {
            self.words.iter().all(|word| text.contains(word.as_str()))
        };
        let mut buffer = Vec::new();
        let start = head_bytes(text, FUZZY);
        whole
            || self
                .pattern
                .score(Utf32Str::new(start, &mut buffer), &mut self.matcher)
                .is_some()
    }
}

/// A preview of `entry` with at most `bytes` of text.
pub(super) fn glimpse(entry: &Entry, bytes: usize) -> Glimpse {
    let message = message_of(entry);
    let Description {
        text,
        by,
        failed,
        duration_ms,
        cost,
    } = match &message {
        Some(message) => Description::of(message),
        None => Description {
            text: describe_kind(&entry.kind),
            ..Description::default()
        },
    };
    Glimpse {
        entry_id: entry.id.clone(),
        text: head_bytes(&text, bytes).to_owned(),
        by,
        timestamp: entry.timestamp.clone(),
        failed,
        duration_ms,
        cost,
    }
}

/// The complete text of a preview.
#[derive(Default)]
struct Description {
    text: String,
    /// The model or tool.
    by: String,
    failed: bool,
    duration_ms: u64,
    cost: f64,
}

impl Description {
    fn of(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::Assistant(answer) => Self {
                text: answer_text(answer),
                by: answer.model.clone(),
                failed: matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted),
                duration_ms: answer.duration_ms,
                cost: answer.usage.cost.total,
            },
            AgentMessage::ToolResult(result) => Self {
                text: message.text(),
                by: result.result.tool_name.clone(),
                failed: !result.status.is_success(),
                ..Self::default()
            },
            AgentMessage::ShellRun(run) => Self {
                text: format!("! {}\n{}", run.command, run.output),
                by: String::new(),
                failed: run.exit_code != Some(0),
                ..Self::default()
            },
            message => Self {
                text: message.text(),
                ..Self::default()
            },
        }
    }
}

/// The answer's text, else its calls, else its thinking.
fn answer_text(answer: &AssistantMessage) -> String {
    let calls = answer.tool_calls().map(call_text);
    let calls = calls.collect::<Vec<_>>().join("\n");
    let text = answer.text();
    let text = text.trim();
    match (text.is_empty(), calls.is_empty()) {
        (false, true) => text.to_owned(),
        (false, false) => format!("{text}\n{calls}"),
        (true, false) => calls,
        (true, true) => answer
            .error_message
            .clone()
            .unwrap_or_else(|| "(thinking only)".to_owned()),
    }
}

/// A call as its tool and first argument.
fn call_text(call: &ToolCall) -> String {
    let first = call
        .arguments
        .as_object()
        .and_then(|fields| fields.values().find_map(|value| value.as_str()));
    format!("⚙ {} {}", call.name, first.unwrap_or_default())
}

fn describe_kind(kind: &EntryKind) -> String {
    match kind {
        EntryKind::ModelChange { provider, model_id } => format!("model: {provider}/{model_id}"),
        EntryKind::ThinkingLevelChange { thinking_level } => {
            format!("thinking: {}", thinking_level.name())
        }
        EntryKind::Label { label, .. } => match label {
            Some(label) => format!("label: {label}"),
            None => "label removed".to_owned(),
        },
        EntryKind::Hide { hidden, .. } => {
            let what = if *hidden { "hidden" } else { "restored" };
            format!("branch {what}")
        }
        EntryKind::Fold { folded, .. } => {
            let what = if *folded { "collapsed" } else { "expanded" };
            format!("branch {what}")
        }
        EntryKind::Deleted { .. } => "deleted".to_owned(),
        EntryKind::SessionInfo { name } => match name {
            Some(name) => format!("name: {name}"),
            None => "name removed".to_owned(),
        },
        EntryKind::Checkpoint { .. } => "files".to_owned(),
        EntryKind::DroppedResults { entry_ids, .. } => {
            let count = entry_ids.len();
            format!(
                "{} left out of requests",
                text::counted(count, "result", "results")
            )
        }
        EntryKind::Usage { kind, .. } => format!("usage: {kind}"),
        EntryKind::Custom { custom_type, .. } => custom_type.clone(),
        _ => String::new(),
    }
}

impl EntryIndex {
    /// Previews of entries; unknown ids are skipped. Blocks.
    pub fn glimpses(&self, ids: &[String], bytes: usize) -> Vec<Glimpse> {
        let (records, entry_reader) = self.read(|tree| {
            let numbers = ids.iter().filter_map(|id| tree.number(id));
            let records: Vec<Record> = numbers.map(|number| tree.record(number)).collect();
            (records, tree.entry_reader().clone())
        });
        let entries = records.iter().map(|record| entry_reader.read(record));
        let bytes = bytes.min(LIMIT);
        entries.map(|entry| glimpse(&entry, bytes)).collect()
    }

    /// Reports the numbers of the entries on all branches that contain every word of the query, newest first, in
    /// batches until `stop` is set. Blocks.
    pub fn search_tree(
        &self,
        query: &mut TreeQuery,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Vec<u32>),
    ) {
        let mut end = self.read(super::tree::SessionTree::records);
        while end > 0 && !stop.load(Ordering::Relaxed) {
            let start = end.saturating_sub(BATCH as u32);
            let (records, entry_reader) = self.read(|tree| {
                let shown = (start..end).filter(|number| sought(tree.tag(*number)));
                let labelled = |number: &u32| tree.label(&tree.id(*number)).map(str::to_owned);
                let records = shown.map(|number| (number, labelled(&number), tree.record(number)));
                (records.collect::<Vec<_>>(), tree.entry_reader().clone())
            });
            let found = records.iter().rev().filter_map(|(number, label, record)| {
                let entry = entry_reader.try_read(record)?;
                let found = glimpse(&entry, usize::MAX);
                let mut text = match label {
                    Some(label) => format!("{label} {}", found.text),
                    None => found.text,
                };
                // A search of the conversation also finds thinking and all arguments of calls.
                if let Some(message) = message_of(&entry) {
                    visible_texts(&message, &mut |part| {
                        text.push('\n');
                        text.push_str(part);
                    });
                }
                query.matches(&text).then_some(*number)
            });
            let found: Vec<u32> = found.collect();
            if !found.is_empty() {
                tell(found);
            }
            end = start;
        }
    }
}

fn sought(tag: Tag) -> bool {
    tag.is_shown() && tag != Tag::Reminder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_anywhere_and_fuzzy_text_only_at_the_start() {
        let found = |query: &str, text: &str| TreeQuery::new(query).unwrap().matches(text);
        assert!(found("parser fix", "fix the Parser"));
        assert!(!found("Parser", "fix the parser"));
        assert!(found("fxprs", "fix the parser"));
        let far = format!("{} needle", "x ".repeat(400));
        assert!(found("needle", &far));
        assert!(!found("ndl", &far));
        assert!(TreeQuery::new("  ").is_none());
    }
}

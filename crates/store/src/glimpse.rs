//! What a list shows of an entry: one line of what it says and who said it, read when the line is to be
//! seen; and finding entries of the whole tree by words.

use std::sync::atomic::{AtomicBool, Ordering};

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use serde::{Deserialize, Serialize};

use super::bodies::Record;
use super::entry::{Entry, EntryKind};
use super::envelope::Tag;
use super::index::SessionIndex;
use super::walk::message_of;
use osier_agent::AgentMessage;
use osier_base::text::head_bytes;
use osier_llm::{AssistantMessage, StopReason, ToolCall};

/// Entries that are read together.
const BATCH: usize = 256;
/// Bytes of an entry's text in which letters may be far apart; behind them words have to stand whole.
const FUZZY: usize = 160;
/// Bytes of a glimpse at most.
const LIMIT: usize = 64 * 1024;

/// A look at one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Glimpse {
    pub entry_id: String,
    /// The start of what it says, as it was written: it may hold anything.
    pub text: String,
    /// Who says it: a model, a tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// RFC 3339.
    pub timestamp: String,
    /// It failed or was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Words to be found in entries.
#[derive(Debug)]
pub struct TreeQuery {
    pattern: Pattern,
    words: Vec<String>,
    any_case: bool,
    matcher: Matcher,
}

impl TreeQuery {
    /// `None` for an empty query. One without capitals finds them too.
    pub fn new(query: &str) -> Option<Self> {
        let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then(|| Self {
            pattern: Pattern::parse(query, CaseMatching::Smart, Normalization::Smart),
            any_case: !query.chars().any(char::is_uppercase),
            words,
            matcher: Matcher::new(Config::DEFAULT),
        })
    }

    /// Whether every word is in `text`, or nearly so in its start.
    pub fn matches(&mut self, text: &str) -> bool {
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

impl Glimpse {
    /// A look at `entry` of at most `bytes` of text.
    pub fn of(entry: &Entry, bytes: usize) -> Self {
        let message = message_of(entry);
        let (text, by, failed) = match &message {
            Some(message) => describe(message),
            None => (describe_kind(&entry.kind), String::new(), false),
        };
        Self {
            entry_id: entry.id.clone(),
            text: head_bytes(&text, bytes.min(LIMIT)).to_owned(),
            by,
            timestamp: entry.timestamp.clone(),
            failed,
        }
    }
}

fn describe(message: &AgentMessage) -> (String, String, bool) {
    match message {
        AgentMessage::Assistant(answer) => {
            let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            (answer_text(answer), answer.model.clone(), failed)
        }
        AgentMessage::ToolResult(result) => {
            let by = result.result.tool_name.clone();
            (message.text(), by, !result.status.is_success())
        }
        AgentMessage::ShellRun(run) => {
            let text = format!("! {}\n{}", run.command, run.output);
            (text, String::new(), run.exit_code != Some(0))
        }
        message => (message.text(), String::new(), false),
    }
}

/// What the model said, else what it called, else what it thought.
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

/// A call by its tool and its first argument.
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
            let what = if *hidden { "deleted" } else { "brought back" };
            format!("branch {what}")
        }
        EntryKind::SessionInfo { name } => match name {
            Some(name) => format!("name: {name}"),
            None => "name removed".to_owned(),
        },
        EntryKind::Checkpoint { .. } => "files".to_owned(),
        EntryKind::Usage { kind, .. } => format!("usage: {kind}"),
        EntryKind::Custom { custom_type, .. } => custom_type.clone(),
        _ => String::new(),
    }
}

impl SessionIndex {
    /// Looks at entries; those that are not there are left out. Blocks.
    pub fn glimpses(&self, ids: &[String], bytes: usize) -> Vec<Glimpse> {
        let (records, bodies) = self.look(|tree| {
            let numbers = ids.iter().filter_map(|id| tree.number(id));
            let records: Vec<Record> = numbers.map(|number| tree.record(number)).collect();
            (records, tree.bodies().clone())
        });
        let entries = records.iter().map(|record| bodies.read(record));
        entries.map(|entry| Glimpse::of(&entry, bytes)).collect()
    }

    /// Tells the numbers of the entries on any branch that hold every word of the query, the newest
    /// first, in pieces, until `stop` is set. Blocks.
    pub fn search_tree(
        &self,
        query: &mut TreeQuery,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Vec<u32>),
    ) {
        let mut end = self.look(super::tree::SessionTree::records);
        while end > 0 && !stop.load(Ordering::Relaxed) {
            let start = end.saturating_sub(BATCH as u32);
            let (records, bodies) = self.look(|tree| {
                let shown = (start..end).filter(|number| sought(tree.tag(*number)));
                let labelled = |number: &u32| tree.label(&tree.id(*number)).map(str::to_owned);
                let records = shown.map(|number| (number, labelled(&number), tree.record(number)));
                (records.collect::<Vec<_>>(), tree.bodies().clone())
            });
            let found = records.iter().rev().filter_map(|(number, label, record)| {
                let glimpse = Glimpse::of(&bodies.try_read(record)?, LIMIT);
                let text = match label {
                    Some(label) => format!("{label} {}", glimpse.text),
                    None => glimpse.text,
                };
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
    tag.is_shown()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_anywhere_and_letters_in_the_start() {
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

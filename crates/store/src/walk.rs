//! The state at an entry of the tree: the messages that the model sees, and the current model and level. Reads only
//! the necessary entries.

use super::entry_reader::{EntryReader, Record};
use super::summary::milliseconds;
use super::tree::SessionTree;
use std::collections::HashSet;

use osier_agent::AgentMessage;
use osier_agent::Summary;
use osier_llm::{ContentBlock, ThinkingLevel};
use osier_protocol::{Entry, EntryKind, Tag};

/// The state at an entry of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Provider and model id: the last selected model, else the last model that answered.
    pub model: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    /// The session's name; it does not depend on the entry.
    pub name: Option<String>,
}

/// A message of a conversation and its entry.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextEntry {
    pub id: String,
    pub message: AgentMessage,
    /// The data of a compaction besides its summary.
    pub details: serde_json::Value,
    /// Bytes of a result that is left out; 0 for everything else.
    pub left_out: usize,
}

/// The entries of a conversation, not read yet.
#[derive(Debug, Clone, Default)]
pub(super) struct ContextPlan {
    /// A compaction and the root of the messages it replaces.
    summary: Option<(Record, Option<String>)>,
    messages: Vec<Record>,
    /// Entries that name results which are left out.
    dropped: Vec<Record>,
}

/// The text for the model in place of a result that is left out.
pub const LEFT_OUT: &str =
    "[This result was left out to save context. Call the tool again if you need it.]";

impl SessionTree {
    /// The messages of the conversation at `leaf`. A compaction replaces everything before the first entry that it
    /// leaves uncompacted.
    pub fn context(&self, leaf: Option<&str>) -> Vec<AgentMessage> {
        self.context_plan(leaf).read(self.entry_reader())
    }

    pub(super) fn context_plan(&self, leaf: Option<&str>) -> ContextPlan {
        let path = self.path_numbers(leaf.and_then(|id| self.number(id)));
        let compaction = path
            .iter()
            .rposition(|number| self.tag(*number) == Tag::Compaction);
        let mut plan = ContextPlan::default();
        let start = compaction.map_or(0, |at| {
            let record = self.record(path[at]);
            let first = match self.entry_reader().read(&record).kind {
                EntryKind::Compaction {
                    first_kept_entry_id,
                    ..
                } => self.number(&first_kept_entry_id),
                _ => None,
            };
            let root = path.first().map(|root| self.id(*root));
            plan.summary = Some((record, root));
            first
                .and_then(|entry| path[..at].binary_search(&entry).ok())
                .unwrap_or(at)
        });
        let sent = |tag: Tag| tag.is_message() || tag == Tag::BranchSummary;
        let sent = path[start..]
            .iter()
            .filter(|number| sent(self.tag(**number)));
        plan.messages = sent.map(|number| self.record(*number)).collect();
        let dropped = path[start..]
            .iter()
            .filter(|number| self.tag(**number) == Tag::DroppedResults);
        plan.dropped = dropped.map(|number| self.record(*number)).collect();
        plan
    }

    /// Model, level and name at `leaf`.
    pub(crate) fn state_at(&self, leaf: Option<&str>) -> State {
        let mut state = StateSearch::default();
        for number in self.walk(leaf.and_then(|id| self.number(id))) {
            if state.wants(self.tag(number)) && state.see(&self.read(number)) {
                break;
            }
        }
        state.finish(self.name().map(str::to_owned))
    }
}

impl ContextPlan {
    /// Reads the messages. Skips unreadable ones.
    pub(super) fn read(&self, entry_reader: &EntryReader) -> Vec<AgentMessage> {
        let entries = self.read_entries(entry_reader);
        entries.into_iter().map(|entry| entry.message).collect()
    }

    /// Reads the messages with their entries.
    pub(super) fn read_entries(&self, entry_reader: &EntryReader) -> Vec<ContextEntry> {
        let mut context = Vec::with_capacity(self.messages.len() + 1);
        if let Some((record, root)) = &self.summary
            && let Some(entry) = entry_reader.try_read(record)
            && let Some(AgentMessage::CompactionSummary(summary)) = message_of(&entry)
        {
            let details = match entry.kind {
                EntryKind::Compaction { details, .. } => details,
                _ => serde_json::Value::Null,
            };
            context.push(ContextEntry {
                id: entry.id,
                message: AgentMessage::CompactionSummary(Summary {
                    from_id: root.clone(),
                    ..summary
                }),
                details,
                left_out: 0,
            });
        }
        let dropped = self.dropped_ids(entry_reader);
        let entries = self
            .messages
            .iter()
            .filter_map(|record| entry_reader.try_read(record));
        context.extend(entries.filter_map(|entry| {
            let id = entry.id.clone();
            let mut message = into_message(entry)?;
            let mut left_out = 0;
            if let AgentMessage::ToolResult(result) = &mut message
                && dropped.contains(&id)
            {
                let stub = vec![ContentBlock::text(LEFT_OUT)];
                let content = std::mem::replace(&mut result.result.content, stub);
                left_out = content.iter().map(size).sum();
            }
            Some(ContextEntry {
                id,
                message,
                details: serde_json::Value::Null,
                left_out,
            })
        }));
        context
    }

    /// The entries of the results that are left out.
    fn dropped_ids(&self, entry_reader: &EntryReader) -> HashSet<String> {
        let entries = self
            .dropped
            .iter()
            .filter_map(|record| entry_reader.try_read(record));
        entries
            .flat_map(|entry| match entry.kind {
                EntryKind::DroppedResults { entry_ids, .. } => entry_ids,
                _ => Vec::new(),
            })
            .collect()
    }
}

fn size(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text } | ContentBlock::File { text, .. } => text.len(),
        ContentBlock::Image { .. } => 0,
    }
}

/// Searches for the state at a leaf, from the leaf to the root.
#[derive(Debug, Default)]
pub(super) struct StateSearch {
    state: State,
    answered: Option<(String, String)>,
}

impl StateSearch {
    /// Whether an entry of this kind can add information.
    fn wants(&self, tag: Tag) -> bool {
        match tag {
            Tag::ModelChange => self.state.model.is_none(),
            Tag::ThinkingLevelChange => self.state.thinking_level.is_none(),
            Tag::Assistant => self.answered.is_none() && self.state.model.is_none(),
            _ => false,
        }
    }

    /// Reads the next entry; true when everything is known.
    pub(super) fn see(&mut self, entry: &Entry) -> bool {
        let state = &mut self.state;
        match &entry.kind {
            EntryKind::ModelChange { provider, model_id } if state.model.is_none() => {
                state.model = Some((provider.clone(), model_id.clone()));
            }
            EntryKind::ThinkingLevelChange { thinking_level } => {
                state.thinking_level.get_or_insert(*thinking_level);
            }
            EntryKind::Message {
                message: AgentMessage::Assistant(message),
            } if self.answered.is_none() && !message.model.is_empty() => {
                self.answered = Some((message.provider.clone(), message.model.clone()));
            }
            _ => {}
        }
        state.model.is_some() && state.thinking_level.is_some()
    }

    pub(super) fn finish(self, name: Option<String>) -> State {
        State {
            model: self.state.model.or(self.answered),
            name,
            ..self.state
        }
    }
}

/// The transcript message of an entry, if any.
pub(super) fn message_of(entry: &Entry) -> Option<AgentMessage> {
    let summary = |summary: &str, from_id: Option<&String>| Summary {
        summary: summary.to_owned(),
        from_id: from_id.cloned(),
        timestamp: milliseconds(&entry.timestamp).unwrap_or_default(),
    };
    match &entry.kind {
        EntryKind::Message { message } => Some(message.clone()),
        EntryKind::BranchSummary {
            from_id,
            summary: text,
        } => Some(AgentMessage::BranchSummary(summary(text, Some(from_id)))),
        EntryKind::Compaction { summary: text, .. } => {
            Some(AgentMessage::CompactionSummary(summary(text, None)))
        }
        _ => None,
    }
}

/// The transcript message of an entry, by value.
pub(super) fn into_message(entry: Entry) -> Option<AgentMessage> {
    match entry.kind {
        EntryKind::Message { message } => Some(message),
        _ => message_of(&entry),
    }
}

//! The state at an entry of the tree: the messages that the model sees, and the current model and level. Reads only
//! the necessary entries.

use super::entry_reader::{EntryReader, Location, Record};
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

impl ContextEntry {
    /// Makes this summary as new as the message `newest`: the provider's counts of tokens up to it are ignored then.
    fn outdate_counts(&mut self, newest: Option<&Self>) {
        if let (AgentMessage::CompactionSummary(summary), Some(newest)) =
            (&mut self.message, newest)
        {
            summary.timestamp = newest.message.timestamp();
        }
    }
}

/// How much of a conversation is read.
///
/// A summary can shorten a conversation of a few context windows. One of hundreds, which was imported or never compacted,
/// cannot be read, summarised or sent: its end is the conversation, as much as the context window holds.
#[derive(Debug, Clone, Copy)]
pub struct ContextLimit {
    /// Tokens that the model accepts; 0 if it is unknown. Compactions for smaller windows are left out if the
    /// conversation without them needs at most three quarters.
    pub(super) window: u64,
    /// Tokens that are read.
    pub(super) read: u64,
    /// Tokens that stay of a conversation that has more.
    pub(super) keep: u64,
    /// Bytes of older messages that have more tokens than can be read, images or not.
    pub(super) far: u64,
    /// Tokens of a message.
    pub(super) tokens: fn(&AgentMessage) -> u64,
}

/// Tokens up to which a conversation is read completely, or twice the context window if that is more.
const READ: u64 = 1_000_000;
/// Bytes before the kept messages that are not read to count them.
const FAR: u64 = 64 << 20;
/// The context window of a model that does not say its own.
const USUAL_WINDOW: u64 = 128_000;

impl ContextLimit {
    /// The limit for a context window of `window` tokens, 0 if it is unknown.
    pub fn of(window: u64, tokens: fn(&AgentMessage) -> u64) -> Self {
        let known = if window == 0 { USUAL_WINDOW } else { window };
        Self {
            window,
            read: READ.max(known.saturating_mul(2)),
            keep: known,
            far: FAR,
            tokens,
        }
    }

    /// This limit for a conversation that is read completely or not at all, with room for the next
    /// prompts and answers.
    pub(super) fn whole(self) -> Self {
        Self {
            read: self.window / 4 * 3,
            keep: 0,
            ..self
        }
    }

    /// The limit for a context window, with room for the next prompts and answers.
    pub(super) fn with_room(window: u64, tokens: fn(&AgentMessage) -> u64) -> Self {
        let limit = Self::of(window, tokens);
        Self {
            keep: limit.keep / 4 * 3,
            ..limit
        }
    }
}

/// A conversation, or its end.
#[derive(Debug, Default)]
pub struct ContextEntries {
    pub entries: Vec<ContextEntry>,
    /// It is longer than the limit: older messages are missing.
    pub is_cut: bool,
}

/// The entries of a conversation, not read yet.
#[derive(Debug, Clone, Default)]
pub(super) struct ContextPlan {
    /// A compaction and the root of the messages it replaces.
    summary: Option<(Record, Option<String>)>,
    /// Models with other windows may have answered since the compaction: their counts of tokens are not of this
    /// conversation.
    is_mixed: bool,
    messages: Vec<u32>,
    /// Entries that name results which are left out.
    dropped: Vec<Record>,
}

/// Gives the records of entries: the index is locked for a few of them at a time.
pub(super) type Records<'a> = &'a dyn Fn(&[u32]) -> Vec<Record>;

/// Messages whose records are in memory at a time.
const CHUNK: usize = 256;

/// The text for the model in place of a result that is left out.
pub const LEFT_OUT: &str =
    "[This result was left out to save context. Call the tool again if you need it.]";

/// The text for the model in place of the messages before the end of a very long conversation.
const EARLIER_LEFT_OUT: &str = "[The messages before the next one were left out: the conversation is far longer than the context window.]";

impl SessionTree {
    /// The messages of the conversation at `leaf`. A compaction replaces everything before the first entry that it
    /// leaves uncompacted.
    pub fn context(&self, leaf: Option<&str>) -> Vec<AgentMessage> {
        let records = |numbers: &[u32]| self.records_of(numbers);
        self.context_plan(leaf).read(self.entry_reader(), &records)
    }

    /// The conversation as its newest compaction has left it.
    pub(super) fn context_plan(&self, leaf: Option<&str>) -> ContextPlan {
        self.context_plans(leaf, 0).swap_remove(0)
    }

    /// The conversation as its newest compaction has left it, and without the newest compactions that were for windows
    /// smaller than `window`, the shortest first.
    pub(super) fn context_plans(&self, leaf: Option<&str>, window: u64) -> Vec<ContextPlan> {
        let path = self.path_numbers(leaf.and_then(|id| self.number(id)));
        let mut plans = Vec::with_capacity(1);
        let mut end = path.len();
        loop {
            let compaction = path[..end]
                .iter()
                .rposition(|number| self.tag(*number) == Tag::Compaction);
            let (plan, made_for) = self.plan_after(&path, compaction);
            plans.push(plan);
            match compaction {
                Some(at) if made_for > 0 && made_for < window => end = at,
                _ => return plans,
            }
        }
    }

    /// The conversation after the compaction at `at` of a path, and the window that the compaction was for.
    fn plan_after(&self, path: &[u32], at: Option<usize>) -> (ContextPlan, u64) {
        let mut plan = ContextPlan::default();
        let mut made_for = 0;
        let start = at.map_or(0, |at| {
            let record = self.record(path[at]);
            let first = match self.entry_reader().read(&record).kind {
                EntryKind::Compaction {
                    first_kept_entry_id,
                    window,
                    ..
                } => {
                    made_for = window;
                    self.number(&first_kept_entry_id)
                }
                _ => None,
            };
            let root = path.first().map(|root| self.id(*root));
            plan.summary = Some((record, root));
            let mut later = path[at..].iter();
            plan.is_mixed =
                made_for > 0 || later.any(|number| self.tag(*number) == Tag::ModelChange);
            first
                .and_then(|entry| path[..at].binary_search(&entry).ok())
                .unwrap_or(at)
        });
        let sent = |tag: Tag| tag.is_message() || tag == Tag::BranchSummary;
        let sent = path[start..]
            .iter()
            .filter(|number| sent(self.tag(**number)));
        plan.messages = sent.copied().collect();
        let dropped = path[start..]
            .iter()
            .filter(|number| self.tag(**number) == Tag::DroppedResults);
        plan.dropped = dropped.map(|number| self.record(*number)).collect();
        (plan, made_for)
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

/// Whether the stored lines of these messages have more bytes.
fn exceed(messages: &[u32], records: Records<'_>, bytes: u64) -> bool {
    let mut found = 0;
    messages.rchunks(CHUNK).any(|chunk| {
        let lengths = records(chunk)
            .into_iter()
            .map(|record| match record.location {
                Location::Stored { length, .. } => u64::from(length),
                Location::Memory(_) => 0,
            });
        found += lengths.sum::<u64>();
        found > bytes
    })
}

impl ContextPlan {
    pub(super) fn is_empty(&self) -> bool {
        self.summary.is_none() && self.messages.is_empty()
    }

    /// Reads the messages. Skips unreadable ones.
    pub(super) fn read(&self, reader: &EntryReader, records: Records<'_>) -> Vec<AgentMessage> {
        let dropped = self.dropped_ids(reader);
        let mut context = Vec::with_capacity(self.messages.len() + 1);
        context.extend(self.summary(reader));
        for chunk in self.messages.chunks(CHUNK) {
            let records = records(chunk);
            context.extend(
                records
                    .iter()
                    .filter_map(|record| read(record, reader, &dropped)),
            );
        }
        context.into_iter().map(|entry| entry.message).collect()
    }

    /// Reads the end of the conversation that `limit` allows, from the newest message to older ones.
    pub(super) fn read_within(
        &self,
        entry_reader: &EntryReader,
        records: Records<'_>,
        limit: ContextLimit,
    ) -> ContextEntries {
        let dropped = self.dropped_ids(entry_reader);
        let (mut read_tokens, mut keep) = (0, 0);
        let mut entries = Vec::new();
        let mut older = self.messages.as_slice();
        let mut is_far = None;
        let newest_first = self.messages.rchunks(CHUNK);
        for record in newest_first.flat_map(|chunk| records(chunk).into_iter().rev()) {
            older = &older[..older.len() - 1];
            let Some(entry) = read(&record, entry_reader, &dropped) else {
                continue;
            };
            read_tokens += (limit.tokens)(&entry.message);
            if keep > 0 && read_tokens > limit.keep {
                is_far.get_or_insert_with(|| exceed(older, records, limit.far));
            }
            if read_tokens > limit.read || is_far == Some(true) {
                entries.truncate(keep);
                entries.push(self.left_out(entry_reader, entries.first()));
                entries.reverse();
                return ContextEntries {
                    entries,
                    is_cut: true,
                };
            }
            // The call of a result must not be missing.
            let can_begin = !matches!(entry.message, AgentMessage::ToolResult(_));
            entries.push(entry);
            if read_tokens <= limit.keep && can_begin {
                keep = entries.len();
            }
        }
        let mut summary = self.summary(entry_reader);
        if let Some(entry) = summary.as_mut().filter(|_| self.is_mixed) {
            entry.outdate_counts(entries.first());
        }
        entries.extend(summary);
        entries.reverse();
        ContextEntries {
            entries,
            is_cut: false,
        }
    }

    /// The beginning of a conversation of which only the end is read. The provider's counts of tokens before `newest`
    /// include what is left out.
    fn left_out(&self, entry_reader: &EntryReader, newest: Option<&ContextEntry>) -> ContextEntry {
        let mut entry = self.summary(entry_reader).unwrap_or_else(|| ContextEntry {
            id: String::new(),
            message: AgentMessage::CompactionSummary(Summary::default()),
            details: serde_json::Value::Null,
            left_out: 0,
        });
        if let AgentMessage::CompactionSummary(summary) = &mut entry.message {
            let earlier = std::mem::take(&mut summary.summary);
            let parts = [earlier.as_str(), EARLIER_LEFT_OUT];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            summary.summary = parts.collect::<Vec<_>>().join("\n\n");
        }
        entry.outdate_counts(newest);
        entry
    }

    /// The summary with which the conversation begins.
    fn summary(&self, entry_reader: &EntryReader) -> Option<ContextEntry> {
        if let Some((record, root)) = &self.summary
            && let Some(entry) = entry_reader.try_read(record)
            && let Some(AgentMessage::CompactionSummary(summary)) = message_of(&entry)
        {
            let details = match entry.kind {
                EntryKind::Compaction { details, .. } => details,
                _ => serde_json::Value::Null,
            };
            return Some(ContextEntry {
                id: entry.id,
                message: AgentMessage::CompactionSummary(Summary {
                    from_id: root.clone(),
                    ..summary
                }),
                details,
                left_out: 0,
            });
        }
        None
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

/// Reads a message of the conversation; `dropped` are the results that are left out.
fn read(
    record: &Record,
    entry_reader: &EntryReader,
    dropped: &HashSet<String>,
) -> Option<ContextEntry> {
    let entry = entry_reader.try_read(record)?;
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

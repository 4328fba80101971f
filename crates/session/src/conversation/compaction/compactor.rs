//! The interceptor that keeps a conversation within the context window of its model, and `/compact`.
//!
//! The compactor runs in the agent's task: there is at most one compaction, and an interrupt of the
//! agent stops it. The conversation changes only after the summary is stored.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::check::Facts;
use super::estimate::{context_tokens, message_tokens, text_tokens, tool_tokens};
use super::files::FileLists;
use super::plan::{Limits, cut, cut_at_once, cut_before, split_prompt};
use super::reopened;
use super::summarize::Summarized;
use super::written::{Written, whole, write};
use crate::models::SmallModels;
use osier_agent::{
    AgentAccess, AgentMessage, CompactionDecision, CompactionOutcome, CompactionPlan,
    CompactionPoint, CompactionReason, Event, Interceptor, Severity, StopRun,
};
use osier_base::ids;
use osier_llm::{CacheRetention, Model, Usage};
use osier_protocol::{EntryKind, TOOL, TodoList};
use osier_store::recorder::{StoredHistory, stop};
use osier_store::writer::Writer;
use osier_store::{ContextEntry, ContextLimit, SessionError};
use osier_tools::{READ, WRITE, Workspace};

/// How often automatic compaction is tried with one model before it pauses.
const ATTEMPTS: u32 = 3;

/// Tokens of the files that are shown again, as a share of what stays.
const FILES_SHARE: u64 = 2;

/// How conversations are kept within their context window.
#[derive(Debug, Clone)]
pub(crate) struct CompactionOptions {
    /// Whether a nearly full context window is compacted automatically.
    pub automatic: bool,
    /// Whether results that are no longer needed are left out of requests.
    pub drops_results: bool,
    pub cache_retention: CacheRetention,
    pub small_models: SmallModels,
}

/// The interceptor of one conversation. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Compactor {
    pub(super) writer: Writer,
    /// Receives the entry of every message, in the order of their `MessageEnd`s.
    stored: UnboundedSender<String>,
    pub(super) options: CompactionOptions,
    workspace: Arc<Workspace>,
    /// Whether the compactor compacts automatically now.
    automatic: Arc<AtomicBool>,
    /// The user was warned that the context window is nearly full.
    warned: Arc<AtomicBool>,
    /// The model whose summaries failed, and how often in a row.
    failures: Arc<Mutex<(String, u32)>>,
    /// The context window that the conversation was read for; 0 before the first request.
    window: Arc<AtomicU64>,
}

/// Why a part of the conversation cannot be summarised.
const NOT_IN_CONTEXT: &str = "there is nothing before this entry in the context of the model";

/// How the user wants a conversation to be summarised.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes<'a> {
    pub instructions: Option<&'a str>,
    /// The first entry that stays.
    pub up_to: Option<&'a str>,
}

/// A summary that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    pub summary: String,
    pub tokens_before: u64,
    /// The number of summarised messages, and of messages that stay.
    pub goes: usize,
    pub stays: usize,
    first_kept: String,
    /// The context window that the conversation was read for, and the one that the summary is
    /// stored for: 0 for every window.
    window: u64,
    made_for: u64,
    details: Value,
    /// The calls that wrote and checked the summary, and their kinds.
    calls: Vec<(&'static str, Summarized)>,
}

impl Compactor {
    pub(crate) fn new(
        writer: Writer,
        stored: UnboundedSender<String>,
        options: CompactionOptions,
        workspace: Arc<Workspace>,
    ) -> Self {
        Self {
            writer,
            stored,
            automatic: Arc::new(AtomicBool::new(options.automatic)),
            options,
            workspace,
            warned: Arc::default(),
            failures: Arc::default(),
            window: Arc::default(),
        }
    }

    /// Whether the compactor compacts automatically when the context window is nearly full.
    pub(crate) fn set_automatic(&self, automatic: bool) {
        self.automatic.store(automatic, Ordering::Relaxed);
        self.forget_failures();
    }

    pub(crate) fn is_automatic(&self) -> bool {
        self.automatic.load(Ordering::Relaxed)
    }

    /// The options as they are now.
    pub(crate) fn options(&self) -> CompactionOptions {
        CompactionOptions {
            automatic: self.is_automatic(),
            ..self.options.clone()
        }
    }

    /// The model that writes summaries, unless it is that of the conversation.
    pub(crate) async fn summary_model(&self, cancel: &CancellationToken) -> Option<Arc<Model>> {
        let small = self.options.small_models.find(cancel).await;
        small.named().cloned()
    }

    /// Requests a summary. Nothing is stored.
    ///
    /// How the request ended without a summary.
    /// How it ended without one.
    pub(crate) async fn draft(
        &self,
        desk: &dyn AgentAccess,
        reason: CompactionReason,
        wishes: Wishes<'_>,
        cancel: &CancellationToken,
    ) -> Result<Draft, CompactionOutcome> {
        let refused = |message: &str| CompactionOutcome::Refused {
            message: message.to_owned(),
        };
        let Some(model) = desk.models().first().cloned() else {
            return Err(refused("no model is selected: select one with `/model`"));
        };
        let limits = Limits::of(&model);
        let entries = self.entries(limits.window).await;
        let place = match wishes.up_to {
            Some(id) => Some(cut_before(&entries, id).ok_or_else(|| refused(NOT_IN_CONTEXT))?),
            None if reason == CompactionReason::Threshold => cut(&entries, &limits, limits.keep),
            None => cut_at_once(&entries, &limits),
        };
        let Some(place) = place else {
            return Err(refused("there is nothing to compact yet"));
        };
        let (goes, stays) = entries.split_at(place);
        let messages: Vec<&AgentMessage> = entries.iter().map(|entry| &entry.message).collect();
        let tokens_before = context_tokens(&messages, overhead(desk));
        let plan = CompactionPlan {
            reason,
            instructions: wishes.instructions.map(str::to_owned),
            tokens_before,
            replaced: goes
                .iter()
                .map(|entry| Arc::new(entry.message.clone()))
                .collect(),
            remaining: stays.len(),
        };
        let (decided, instructions) = decide(desk, &plan).await?;
        let mut files = FileLists::default();
        if let Some(first) = goes.first() {
            files = FileLists::of_details(&first.details);
        }
        for entry in goes {
            files.see(&entry.message);
        }
        let facts = Facts::new(
            goes.iter().map(|entry| &entry.message),
            self.todo(&entries),
            files.modified_files.clone(),
        );
        let Written { text, calls } = if let Some(text) = decided {
            Written {
                text,
                ..Written::default()
            }
        } else {
            let small = self.options.small_models.find(cancel).await;
            let instructions = instructions.as_deref();
            let mut written = write(desk, &small, goes, instructions, cancel).await?;
            written.check(desk, &small, &facts, cancel).await?;
            written
        };
        Ok(Draft {
            summary: whole(text, &facts, split_prompt(&entries, place), &limits, &files),
            tokens_before,
            goes: goes.len(),
            stays: stays.len(),
            first_kept: stays
                .first()
                .map(|entry| entry.id.clone())
                .unwrap_or_default(),
            window: limits.window,
            // The user's own compaction is not for one window.
            made_for: match reason {
                CompactionReason::Manual => 0,
                CompactionReason::Threshold | CompactionReason::Overflow => limits.window,
            },
            details: serde_json::to_value(&files).unwrap_or_default(),
            calls,
        })
    }

    /// Stores a summary, which the user may have changed. Returns the new conversation.
    ///
    /// # Errors
    /// The session cannot be written.
    pub(crate) async fn store(
        &self,
        desk: &dyn AgentAccess,
        draft: Draft,
    ) -> Result<(Vec<AgentMessage>, CompactionOutcome), StopRun> {
        let failed = |error: SessionError| stop(&error);
        for (kind, call) in draft.calls {
            let kind = EntryKind::Usage {
                kind: kind.to_owned(),
                provider: call.provider,
                model: call.model,
                usage: call.usage,
            };
            self.writer.append(kind).await.map_err(failed)?;
        }
        let kind = EntryKind::Compaction {
            summary: draft.summary.clone(),
            first_kept_entry_id: draft.first_kept,
            tokens_before: draft.tokens_before,
            window: draft.made_for,
            details: draft.details,
        };
        let entry = self.writer.append(kind).await.map_err(failed)?;
        self.writer.store().sync().await.map_err(failed)?;
        let entries = self.entries(0).await;
        let reopened = self.reopen(desk, &entries).await;
        let mut messages: Vec<AgentMessage> =
            entries.into_iter().map(|entry| entry.message).collect();
        if let Some(summary) = messages.first() {
            self.announce(desk, entry.id, summary);
        }
        if let Some(files) = reopened {
            let kind = EntryKind::message(files.clone());
            let entry = self.writer.append(kind).await.map_err(failed)?;
            self.announce(desk, entry.id, &files);
            messages.push(files);
        }
        let borrowed: Vec<&AgentMessage> = messages.iter().collect();
        let tokens_after = context_tokens(&borrowed, overhead(desk));
        self.warned.store(false, Ordering::Relaxed);
        self.forget_failures();
        let outcome = CompactionOutcome::Done {
            summary: draft.summary,
            tokens_before: draft.tokens_before,
            tokens_after,
        };
        Ok((messages, outcome))
    }

    /// The files that the model worked with last, unless the rest of the conversation shows them.
    async fn reopen(
        &self,
        desk: &dyn AgentAccess,
        entries: &[ContextEntry],
    ) -> Option<AgentMessage> {
        let (summary, rest) = entries.split_first()?;
        let files = FileLists::of_details(&summary.details);
        let shown = rest.iter().flat_map(|entry| shown_files(&entry.message));
        let shown: Vec<&str> = shown.collect();
        let model = desk.models().first().cloned()?;
        let room = Limits::of(&model).keep / FILES_SHARE;
        reopened::message(&self.workspace, &files, &shown, room).await
    }

    /// Publishes a message that was stored as the entry `entry_id`.
    fn announce(&self, desk: &dyn AgentAccess, entry_id: String, message: &AgentMessage) {
        let (id, message) = (ids::prefixed("message"), Arc::new(message.clone()));
        // The id comes before its message, as with every message.
        let _ = self.stored.send(entry_id);
        desk.publish(Event::MessageStart {
            id: id.clone(),
            message: Arc::clone(&message),
        });
        desk.publish(Event::MessageEnd { id, message });
    }

    /// The to-do list of the model.
    fn todo(&self, entries: &[ContextEntry]) -> TodoList {
        let list = |message: &AgentMessage| match message {
            AgentMessage::ToolResult(result) if result.result.tool_name == TOOL => {
                TodoList::of(&result.details)
            }
            _ => None,
        };
        let newest = entries.iter().rev().find_map(|entry| list(&entry.message));
        let stored = || {
            let result = self.writer.store().index().last_result(TOOL)?;
            TodoList::of(&result.details)
        };
        newest.or_else(stored).unwrap_or_default()
    }

    /// Whether the messages that a draft keeps are still in the conversation.
    pub(crate) async fn fits(&self, draft: &Draft) -> bool {
        let entries = self.entries(draft.window).await;
        draft.first_kept.is_empty() || entries.iter().any(|entry| entry.id == draft.first_kept)
    }

    /// The stored conversation.
    pub(crate) fn history(&self) -> StoredHistory {
        let store = self.writer.store().clone();
        StoredHistory::new(store, self.writer.leaf(), message_tokens)
    }

    /// Requests and stores a summary.
    async fn compact(
        &self,
        desk: &dyn AgentAccess,
        reason: CompactionReason,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, StopRun> {
        desk.publish(Event::CompactionStart { reason });
        let drafted = self.draft(desk, reason, Wishes::default(), cancel).await;
        match drafted {
            Ok(draft) => {
                let (messages, outcome) = self.store(desk, draft).await?;
                desk.publish(end(desk, reason, outcome).await);
                Ok(Some(messages))
            }
            Err(outcome) => {
                if matches!(outcome, CompactionOutcome::Failed { .. }) {
                    self.count_failure(desk);
                }
                desk.publish(end(desk, reason, outcome).await);
                Ok(None)
            }
        }
    }

    /// Compacts because the context window is nearly full, unless that failed too often with `model`. Failures must
    /// not repeat endlessly: each attempt is a call that costs money.
    async fn compact_before_limit(
        &self,
        desk: &dyn AgentAccess,
        model: String,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, StopRun> {
        if self.failures_of(&model) >= ATTEMPTS {
            return Ok(None);
        }
        let compacted = self
            .compact(desk, CompactionReason::Threshold, cancel)
            .await?;
        if compacted.is_none() && self.failures_of(&model) == ATTEMPTS {
            desk.publish(Event::Notice {
                severity: Severity::Warning,
                text: format!(
                    "automatic compaction failed {ATTEMPTS} times and pauses: `/compact` tries again, `/model` \
                     chooses another model"
                ),
            });
        }
        Ok(compacted)
    }

    fn failures_of(&self, model: &str) -> u32 {
        let failures = self.failures.lock();
        if failures.0 == model { failures.1 } else { 0 }
    }

    fn count_failure(&self, desk: &dyn AgentAccess) {
        let Some(model) = desk.models().first().map(|model| model.reference()) else {
            return;
        };
        let count = self.failures_of(&model) + 1;
        *self.failures.lock() = (model, count);
    }

    fn forget_failures(&self) {
        *self.failures.lock() = (String::new(), 0);
    }

    /// The stored conversation, as much as a context window of `window` tokens needs.
    pub(super) async fn entries(&self, window: u64) -> Vec<ContextEntry> {
        let (index, leaf) = (self.writer.store().index().clone(), self.writer.leaf());
        let limit = ContextLimit::of(window, message_tokens);
        let reading = osier_base::task::spawn_blocking(move || {
            index.context_within(leaf.as_deref(), limit).entries
        });
        reading.await.unwrap_or_default()
    }

    /// The conversation for the window of `model`, unless it is the same: without compactions that were for smaller
    /// windows if it fits, or with an earlier compaction.
    async fn for_window(
        &self,
        desk: &dyn AgentAccess,
        model: &Model,
        messages: &[Arc<AgentMessage>],
    ) -> Option<Vec<AgentMessage>> {
        let read = self.entries(model.context_window).await.into_iter();
        let read: Vec<AgentMessage> = read.map(|entry| entry.message).collect();
        if summary(read.first()) == summary(messages.first().map(Arc::as_ref)) {
            return None;
        }
        let tokens: u64 = read.iter().map(message_tokens).sum();
        let name = model.reference();
        let text = if read.len() > messages.len() {
            let cost = Usage {
                input: tokens,
                ..Usage::default()
            };
            let cost = cost.priced(&model.price).cost.total;
            let cost = match cost {
                0.0 => String::new(),
                cost => format!(", about ${cost:.2}"),
            };
            format!(
                "{name} gets the conversation from before the compaction: {tokens} tokens are sent again without \
                 prompt cache{cost}"
            )
        } else {
            format!("{name} gets the summary of an earlier compaction: {tokens} tokens")
        };
        let severity = Severity::Info;
        desk.publish(Event::Notice { severity, text });
        Some(read)
    }

    /// Warns once when the context window is nearly full.
    fn warn(&self, desk: &dyn AgentAccess, tokens: u64, limits: &Limits) {
        let (Some(warning), Some(trigger)) = (limits.warning(), limits.trigger()) else {
            return;
        };
        if tokens < warning {
            self.warned.store(false, Ordering::Relaxed);
            return;
        }
        if self.warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let percent = tokens * 100 / limits.window.max(1);
        let next = if self.is_automatic() {
            format!("osier compacts at {trigger} tokens")
        } else {
            "automatic compaction is off".to_owned()
        };
        desk.publish(Event::Notice {
            severity: Severity::Info,
            text: format!(
                "the context window is {percent} % full; {next}. `/context` shows its contents, `/compact` compacts now"
            ),
        });
    }
}

#[async_trait]
impl Interceptor for Compactor {
    async fn make_room(
        &self,
        desk: &dyn AgentAccess,
        moment: CompactionPoint,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, StopRun> {
        if !self.is_automatic() && moment == CompactionPoint::Overflow {
            return Ok(None);
        }
        if moment == CompactionPoint::Overflow {
            return self.compact(desk, CompactionReason::Overflow, cancel).await;
        }
        let Some(model) = desk.models().first().cloned() else {
            return Ok(None);
        };
        let limits = Limits::of(&model);
        let Some(trigger) = limits.trigger() else {
            return Ok(None);
        };
        let mut messages = desk.messages();
        let mut tokens = context_tokens(&messages, overhead(desk));
        let mut shortened = None;
        let before = self.window.swap(limits.window, Ordering::Relaxed);
        let is_other_window = before != 0 && before != limits.window;
        if (is_other_window || tokens > trigger)
            && let Some(read) = self.for_window(desk, &model, &messages).await
        {
            tokens = context_tokens(&read, overhead(desk));
            messages = read.iter().cloned().map(Arc::new).collect();
            shortened = Some(read);
        }
        if moment == CompactionPoint::BeforeRequest
            && let Some((rest, saved)) = self.drop_results(desk, &model, &messages, tokens).await?
        {
            tokens = tokens.saturating_sub(saved);
            shortened = Some(rest);
        }
        if tokens <= trigger || !self.is_automatic() {
            self.warn(desk, tokens, &limits);
            return Ok(shortened);
        }
        let compacted = self.compact_before_limit(desk, model.reference(), cancel);
        Ok(compacted.await?.or(shortened))
    }
}

/// The text of a summary.
fn summary(message: Option<&AgentMessage>) -> Option<&str> {
    match message {
        Some(AgentMessage::CompactionSummary(summary)) => Some(&summary.summary),
        _ => None,
    }
}

/// The files that a message reads or writes as a whole.
fn shown_files(message: &AgentMessage) -> Vec<&str> {
    let AgentMessage::Assistant(answer) = message else {
        return Vec::new();
    };
    let calls = answer.tool_calls();
    let calls = calls.filter(|call| matches!(call.name.as_str(), READ | WRITE));
    calls
        .filter_map(|call| call.arguments.get("file_path")?.as_str())
        .collect()
}

/// Notifies the interceptors of the end of a compaction. Returns the event.
pub(crate) async fn end(
    desk: &dyn AgentAccess,
    reason: CompactionReason,
    outcome: CompactionOutcome,
) -> Event {
    for interceptor in desk.interceptors() {
        interceptor.after_compact(reason, &outcome).await;
    }
    Event::CompactionEnd { reason, outcome }
}

/// The contribution of the other interceptors to a plan: a summary, or instructions for the model.
async fn decide(
    desk: &dyn AgentAccess,
    plan: &CompactionPlan,
) -> Result<(Option<String>, Option<String>), CompactionOutcome> {
    let mut instructions = plan.instructions.clone();
    for interceptor in desk.interceptors() {
        match interceptor.before_compact(plan).await {
            CompactionDecision::Proceed => {}
            CompactionDecision::Instruct(text) => {
                let before = instructions.take();
                let both = before.map(|before| format!("{before}\n{text}"));
                instructions = Some(both.unwrap_or(text));
            }
            CompactionDecision::Replace { summary } => return Ok((Some(summary), instructions)),
            CompactionDecision::Cancel { reason } => {
                return Err(CompactionOutcome::Refused { message: reason });
            }
        }
    }
    Ok((None, instructions))
}

/// Tokens of the system prompt and the tools.
pub(super) fn overhead(desk: &dyn AgentAccess) -> u64 {
    let tools: u64 = desk.tools().iter().map(tool_tokens).sum();
    text_tokens(&desk.system_prompt()) + tools
}

//! The interceptor that keeps a conversation within the context window of its model, and `/compact`.
//!
//! It runs in the agent's task: there is at most one compaction, and an interrupt of the agent stops it. The
//! conversation changes only after the summary is stored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::estimate::{context_tokens, text_tokens, tool_tokens};
use super::files::FileLists;
use super::plan::{Limits, cut, split_prompt};
use super::prompts;
use super::serialize::{message_text, shortened};
use super::summarize::{Summarized, SummaryError, Task, summarize};
use osier_agent::{
    AgentAccess, AgentMessage, CompactionDecision, CompactionOutcome, CompactionPlan,
    CompactionPoint, CompactionReason, Event, Interceptor, Severity, StopRun,
};
use osier_base::ids;
use osier_protocol::EntryKind;
use osier_store::recorder::{StoredHistory, stop};
use osier_store::writer::Writer;
use osier_store::{ContextEntry, SessionError};

/// How often automatic compaction is tried with one model before it pauses.
const ATTEMPTS: u32 = 3;

/// Tokens of the prompt of a split turn that stay verbatim, as a share of what stays.
const PROMPT_SHARE: u64 = 4;

/// The interceptor of one conversation. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Compactor {
    writer: Writer,
    /// Receives the entry of every message, in the order of their `MessageEnd`s.
    stored: UnboundedSender<String>,
    /// Whether it compacts automatically.
    automatic: Arc<AtomicBool>,
    /// The user was warned that the context window is nearly full.
    warned: Arc<AtomicBool>,
    /// The model whose summaries failed, and how often in a row.
    failures: Arc<Mutex<(String, u32)>>,
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
    details: Value,
    usage: Option<Box<Summarized>>,
}

/// The result of a request for a summary.
#[derive(Debug)]
pub(crate) enum Drafted {
    Draft(Box<Draft>),
    Ended(CompactionOutcome),
}

impl Compactor {
    pub(crate) fn new(writer: Writer, stored: UnboundedSender<String>, automatic: bool) -> Self {
        Self {
            writer,
            stored,
            automatic: Arc::new(AtomicBool::new(automatic)),
            warned: Arc::default(),
            failures: Arc::default(),
        }
    }

    /// Whether it compacts automatically when the context window is nearly full.
    pub(crate) fn set_automatic(&self, automatic: bool) {
        self.automatic.store(automatic, Ordering::Relaxed);
        self.forget_failures();
    }

    pub(crate) fn is_automatic(&self) -> bool {
        self.automatic.load(Ordering::Relaxed)
    }

    /// Requests a summary. Nothing is stored.
    pub(crate) async fn draft(
        &self,
        desk: &dyn AgentAccess,
        reason: CompactionReason,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Drafted {
        match self.try_draft(desk, reason, instructions, cancel).await {
            Ok(draft) => Drafted::Draft(Box::new(draft)),
            Err(outcome) => Drafted::Ended(outcome),
        }
    }

    async fn try_draft(
        &self,
        desk: &dyn AgentAccess,
        reason: CompactionReason,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Draft, CompactionOutcome> {
        let refused = |message: &str| CompactionOutcome::Refused {
            message: message.to_owned(),
        };
        let Some(model) = desk.models().first().cloned() else {
            return Err(refused("no model is selected: select one with `/model`"));
        };
        let limits = Limits::of(&model);
        let entries = self.entries().await;
        let place = cut(&entries, &limits, limits.keep).or_else(|| {
            // A request of the user or the provider compacts a conversation of any length.
            let must = reason != CompactionReason::Threshold;
            must.then(|| cut(&entries, &limits, 1)).flatten()
        });
        let Some(place) = place else {
            return Err(refused("there is nothing to compact yet"));
        };
        let (goes, stays) = entries.split_at(place);
        let messages: Vec<&AgentMessage> = entries.iter().map(|entry| &entry.message).collect();
        let tokens_before = context_tokens(&messages, overhead(desk));
        let plan = CompactionPlan {
            reason,
            instructions: instructions.map(str::to_owned),
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
        let (text, usage) = if let Some(summary) = decided {
            (summary, None)
        } else {
            let written = write(desk, goes, instructions.as_deref(), cancel).await?;
            (written.text.clone(), Some(Box::new(written)))
        };
        Ok(Draft {
            summary: whole(text, &entries, place, &limits, &files),
            tokens_before,
            goes: goes.len(),
            stays: stays.len(),
            first_kept: stays
                .first()
                .map(|entry| entry.id.clone())
                .unwrap_or_default(),
            details: serde_json::to_value(&files).unwrap_or_default(),
            usage,
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
        if let Some(written) = draft.usage {
            let kind = EntryKind::Usage {
                kind: "compaction".to_owned(),
                provider: written.provider,
                model: written.model,
                usage: written.usage,
            };
            self.writer.append(kind).await.map_err(failed)?;
        }
        let kind = EntryKind::Compaction {
            summary: draft.summary.clone(),
            first_kept_entry_id: draft.first_kept,
            tokens_before: draft.tokens_before,
            details: draft.details,
        };
        let entry = self.writer.append(kind).await.map_err(failed)?;
        self.writer.store().sync().await.map_err(failed)?;
        let entries = self.entries().await;
        let messages: Vec<AgentMessage> = entries.into_iter().map(|entry| entry.message).collect();
        if let Some(summary) = messages.first() {
            let (id, message) = (ids::prefixed("message"), Arc::new(summary.clone()));
            // The id comes before its message, as with every message.
            let _ = self.stored.send(entry.id);
            desk.publish(Event::MessageStart {
                id: id.clone(),
                message: Arc::clone(&message),
            });
            desk.publish(Event::MessageEnd { id, message });
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

    /// Whether the messages that a draft keeps are still in the conversation.
    pub(crate) async fn fits(&self, draft: &Draft) -> bool {
        let entries = self.entries().await;
        draft.first_kept.is_empty() || entries.iter().any(|entry| entry.id == draft.first_kept)
    }

    /// Notifies the interceptors of the end of a compaction. Returns the event.
    pub(crate) async fn end(
        &self,
        desk: &dyn AgentAccess,
        reason: CompactionReason,
        outcome: CompactionOutcome,
    ) -> Event {
        end(desk, reason, outcome).await
    }

    /// The stored conversation.
    pub(crate) fn history(&self) -> StoredHistory {
        StoredHistory::new(self.writer.store().clone(), self.writer.leaf())
    }

    /// Requests and stores a summary.
    async fn compact(
        &self,
        desk: &dyn AgentAccess,
        reason: CompactionReason,
        cancel: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, StopRun> {
        desk.publish(Event::CompactionStart { reason });
        match self.draft(desk, reason, None, cancel).await {
            Drafted::Draft(draft) => {
                let (messages, outcome) = self.store(desk, *draft).await?;
                desk.publish(end(desk, reason, outcome).await);
                Ok(Some(messages))
            }
            Drafted::Ended(outcome) => {
                if matches!(outcome, CompactionOutcome::Failed { .. }) {
                    self.count_failure(desk);
                }
                desk.publish(end(desk, reason, outcome).await);
                Ok(None)
            }
        }
    }

    /// Compacts because the context window is nearly full, unless that failed too often with `model`. A failure is not
    /// repeated for ever: each attempt is a call that costs money.
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
        let failures = failures.unwrap_or_else(PoisonError::into_inner);
        if failures.0 == model { failures.1 } else { 0 }
    }

    fn count_failure(&self, desk: &dyn AgentAccess) {
        let Some(model) = desk.models().first().map(|model| model.reference()) else {
            return;
        };
        let count = self.failures_of(&model) + 1;
        let failures = self.failures.lock();
        *failures.unwrap_or_else(PoisonError::into_inner) = (model, count);
    }

    fn forget_failures(&self) {
        let failures = self.failures.lock();
        *failures.unwrap_or_else(PoisonError::into_inner) = (String::new(), 0);
    }

    async fn entries(&self) -> Vec<ContextEntry> {
        let (index, leaf) = (self.writer.store().index().clone(), self.writer.leaf());
        let reading =
            osier_base::task::spawn_blocking(move || index.context_entries(leaf.as_deref()));
        reading.await.unwrap_or_default()
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

impl Interceptor for Compactor {
    fn make_room<'a>(
        &'a self,
        desk: &'a dyn AgentAccess,
        moment: CompactionPoint,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<Vec<AgentMessage>>, StopRun>> {
        async move {
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
            let tokens = context_tokens(&desk.messages(), overhead(desk));
            if tokens <= trigger || !self.is_automatic() {
                self.warn(desk, tokens, &limits);
                return Ok(None);
            }
            self.compact_before_limit(desk, model.reference(), cancel)
                .await
        }
        .boxed()
    }
}

/// Notifies the interceptors of the end. Returns the event.
async fn end(
    desk: &dyn AgentAccess,
    reason: CompactionReason,
    outcome: CompactionOutcome,
) -> Event {
    for interceptor in desk.interceptors() {
        interceptor.after_compact(reason, &outcome).await;
    }
    Event::CompactionEnd { reason, outcome }
}

/// What the other interceptors contribute to a plan: a summary, or instructions for the model.
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

async fn write(
    desk: &dyn AgentAccess,
    goes: &[ContextEntry],
    instructions: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Summarized, CompactionOutcome> {
    let (previous, rest) = match goes.split_first() {
        Some((first, rest)) => match &first.message {
            AgentMessage::CompactionSummary(summary) => (Some(summary.summary.as_str()), rest),
            _ => (None, goes),
        },
        None => (None, goes),
    };
    let texts = rest.iter().map(|entry| message_text(&entry.message));
    let task = Task {
        previous: previous.map(without_lists),
        form: prompts::FORM,
        instructions,
    };
    let written = summarize(desk, texts.collect(), task, cancel).await;
    written.map_err(|error| match error {
        SummaryError::Interrupted => CompactionOutcome::Interrupted,
        error => CompactionOutcome::Failed {
            message: error.to_string(),
        },
    })
}

/// A summary without the parts that are added after it.
fn without_lists(summary: &str) -> &str {
    let ends = [IN_PROGRESS, "\n\n<read-files>", "\n\n<modified-files>"];
    let end = ends.iter().filter_map(|end| summary.find(end)).min();
    &summary[..end.unwrap_or(summary.len())]
}

/// The heading of the prompt of a split turn.
const IN_PROGRESS: &str = "\n\n## Request in progress\n";

/// The summary with the prompt of a split turn and the lists of files.
fn whole(
    text: String,
    entries: &[ContextEntry],
    place: usize,
    limits: &Limits,
    files: &FileLists,
) -> String {
    let mut summary = text;
    let bytes = limits.keep.max(256) as usize;
    if let Some(prompt) = split_prompt(entries, place) {
        let share = (limits.keep / PROMPT_SHARE).max(64) as usize * 4;
        summary.push_str(IN_PROGRESS);
        summary.push_str(&shortened(prompt, share));
    }
    summary.push_str(&files.text(bytes));
    summary
}

/// Tokens of the system prompt and the tools.
fn overhead(desk: &dyn AgentAccess) -> u64 {
    let tools: u64 = desk.tools().iter().map(tool_tokens).sum();
    text_tokens(&desk.system_prompt()) + tools
}

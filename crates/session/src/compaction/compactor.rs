//! The interceptor that keeps a conversation within its model's window, and what `/compact` does.
//!
//! It runs inside the agent's task, so there is never more than one compaction, and interrupting the
//! agent interrupts it. The conversation is replaced only after the summary is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    AgentMessage, CompactionDecision, CompactionOutcome, CompactionPlan, CompactionReason, Desk,
    Event, Interceptor, Moment, Severity, StopRun,
};
use osier_base::ids;
use osier_store::recorder::{StoredHistory, stop};
use osier_store::writer::Writer;
use osier_store::{ContextEntry, EntryKind, SessionError};

/// Tokens of a parted turn's prompt that are kept word for word, as a share of what stays.
const PROMPT_SHARE: u64 = 4;

/// The interceptor of one conversation. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Compactor {
    writer: Writer,
    /// Told the entry of every message, in the order of their `MessageEnd`s.
    stored: UnboundedSender<String>,
    /// Whether it acts by itself.
    automatic: Arc<AtomicBool>,
    /// The person was warned that the window fills.
    warned: Arc<AtomicBool>,
}

/// A summary that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub summary: String,
    pub tokens_before: u64,
    /// Messages the summary stands for, and messages that stay.
    pub goes: usize,
    pub stays: usize,
    first_kept: String,
    details: Value,
    usage: Option<Box<Summarized>>,
}

/// What became of a wish for a summary.
#[derive(Debug)]
pub enum Drafted {
    Draft(Box<Draft>),
    Ended(CompactionOutcome),
}

impl Compactor {
    pub fn new(writer: Writer, stored: UnboundedSender<String>, automatic: bool) -> Self {
        Self {
            writer,
            stored,
            automatic: Arc::new(AtomicBool::new(automatic)),
            warned: Arc::default(),
        }
    }

    /// Whether it acts by itself when the window is nearly full.
    pub fn set_automatic(&self, automatic: bool) {
        self.automatic.store(automatic, Ordering::Relaxed);
    }

    pub fn is_automatic(&self) -> bool {
        self.automatic.load(Ordering::Relaxed)
    }

    /// Has a summary written. Nothing is stored.
    pub async fn draft(
        &self,
        desk: Desk<'_>,
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
        desk: Desk<'_>,
        reason: CompactionReason,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Draft, CompactionOutcome> {
        let refused = |message: &str| CompactionOutcome::Refused {
            message: message.to_owned(),
        };
        let Some(model) = desk.models().first().cloned() else {
            return Err(refused("no model is chosen: pick one with `/model`"));
        };
        let limits = Limits::of(&model);
        let entries = self.entries().await;
        let place = cut(&entries, &limits, limits.keep).or_else(|| {
            // Who asks by hand knows why, however short the conversation is, and so does a provider.
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
            goes: goes
                .iter()
                .map(|entry| Arc::new(entry.message.clone()))
                .collect(),
            stays: stays.len(),
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

    /// Stores a summary, as it was made or as the person changed it. The conversation from then on.
    ///
    /// # Errors
    /// The session cannot be written.
    pub async fn store(
        &self,
        desk: Desk<'_>,
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
            // The id goes ahead of its message, as with every other.
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
        let outcome = CompactionOutcome::Done {
            summary: draft.summary,
            tokens_before: draft.tokens_before,
            tokens_after,
        };
        Ok((messages, outcome))
    }

    /// Whether what a draft would keep is still a part of the conversation.
    pub async fn fits(&self, draft: &Draft) -> bool {
        let entries = self.entries().await;
        draft.first_kept.is_empty() || entries.iter().any(|entry| entry.id == draft.first_kept)
    }

    /// Lets everybody know how a compaction ended; the event that tells of it.
    pub async fn end(
        &self,
        desk: Desk<'_>,
        reason: CompactionReason,
        outcome: CompactionOutcome,
    ) -> Event {
        end(desk, reason, outcome).await
    }

    /// The conversation as it is stored now.
    pub fn history(&self) -> StoredHistory {
        StoredHistory::new(self.writer.store().clone(), self.writer.leaf())
    }

    /// Makes a summary and stores it.
    async fn compact(
        &self,
        desk: Desk<'_>,
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
                desk.publish(end(desk, reason, outcome).await);
                Ok(None)
            }
        }
    }

    async fn entries(&self) -> Vec<ContextEntry> {
        let (index, leaf) = (self.writer.store().index().clone(), self.writer.leaf());
        let reading = tokio::task::spawn_blocking(move || index.context_entries(leaf.as_deref()));
        reading.await.unwrap_or_default()
    }

    /// Warns once when the window is nearly full.
    fn warn(&self, desk: Desk<'_>, tokens: u64, limits: &Limits) {
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
            format!("from {trigger} tokens on the earlier part is summarised")
        } else {
            "it is not compacted by itself".to_owned()
        };
        desk.publish(Event::Notice {
            severity: Severity::Info,
            text: format!(
                "the context is {percent} % full; {next}. `/context` shows what fills it, `/compact` makes room now"
            ),
        });
    }
}

impl Interceptor for Compactor {
    fn make_room<'a>(
        &'a self,
        desk: Desk<'a>,
        moment: Moment,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<Vec<AgentMessage>>, StopRun>> {
        async move {
            if !self.is_automatic() && moment == Moment::Overflow {
                return Ok(None);
            }
            if moment == Moment::Overflow {
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
            self.compact(desk, CompactionReason::Threshold, cancel)
                .await
        }
        .boxed()
    }
}

/// Lets everybody know how it ended; the event that tells of it.
async fn end(desk: Desk<'_>, reason: CompactionReason, outcome: CompactionOutcome) -> Event {
    for interceptor in desk.interceptors() {
        interceptor.after_compact(reason, &outcome).await;
    }
    Event::CompactionEnd { reason, outcome }
}

/// What the others say of a plan: a summary of their own if they bring one, and what the model is told.
async fn decide(
    desk: Desk<'_>,
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
    desk: Desk<'_>,
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

/// A summary without what was added to it: that is added anew.
fn without_lists(summary: &str) -> &str {
    let ends = [IN_PROGRESS, "\n\n<read-files>", "\n\n<modified-files>"];
    let end = ends.iter().filter_map(|end| summary.find(end)).min();
    &summary[..end.unwrap_or(summary.len())]
}

/// The heading under which the prompt of a parted turn stands.
const IN_PROGRESS: &str = "\n\n## Request in progress\n";

/// The summary with what no model may forget: the prompt of a parted turn, and the files.
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
fn overhead(desk: Desk<'_>) -> u64 {
    let tools: u64 = desk.tools().iter().map(tool_tokens).sum();
    text_tokens(&desk.system_prompt()) + tools
}

//! Leaves results that the model no longer needs out of requests. The decision is stored, so that it also holds after the
//! session is opened again, and what the provider caches from now on stays valid.

use std::sync::Arc;
use std::time::Duration;

use osier_agent::{AgentAccess, AgentMessage, Event, Severity, StopRun};
use osier_base::{clock, text};
use osier_llm::Model;
use osier_protocol::EntryKind;
use osier_store::recorder::stop;

use super::compactor::Compactor;
use super::dropping::{self, Reason, Situation, Superseded, superseded};
use super::estimate::message_tokens;
use super::plan::Limits;

impl Compactor {
    /// Leaves results out if it is worth it. Returns the new conversation and how many tokens shorter it is.
    ///
    /// # Errors
    /// The session cannot be written.
    pub(super) async fn drop_results(
        &self,
        desk: &dyn AgentAccess,
        model: &Model,
        messages: &[Arc<AgentMessage>],
        tokens: u64,
    ) -> Result<Option<(Vec<AgentMessage>, u64)>, StopRun> {
        let trigger = Limits::of(model).trigger();
        // Within a run the cache is warm, and thinking can be bound to what precedes it.
        let is_start = !matches!(
            messages.last().map(|message| &**message),
            Some(AgentMessage::ToolResult(_))
        );
        let is_full = trigger.is_some_and(|trigger| tokens > trigger);
        if !self.options.drops_results || !(is_start || is_full) {
            return Ok(None);
        }
        let found = superseded(messages);
        let saved = sum(&found);
        let Some(first) = found.first() else {
            return Ok(None);
        };
        let after = messages[first.place..].iter();
        let situation = Situation {
            tokens,
            trigger,
            rest: after.map(|message| message_tokens(message)).sum(),
            idle: idle(messages),
            lifetime: model.cache_lifetime(self.options.cache_retention),
            price: model.price_with(self.options.cache_retention),
        };
        let Some(reason) = dropping::decide(saved, &situation) else {
            return Ok(None);
        };
        // Find the same results in the stored conversation, which has the ids of the entries.
        let entries = self.entries(model.context_window).await;
        let stored: Vec<&AgentMessage> = entries.iter().map(|entry| &entry.message).collect();
        let found = superseded(&stored);
        let (count, saved) = (found.len(), sum(&found));
        let ids = found.iter().map(|one| entries[one.place].id.clone());
        let kind = EntryKind::DroppedResults {
            entry_ids: ids.collect(),
            tokens: saved,
        };
        self.writer
            .append(kind)
            .await
            .map_err(|error| stop(&error))?;
        desk.publish(Event::Notice {
            severity: Severity::Info,
            text: notice(count, saved, reason),
        });
        let messages = self.entries(model.context_window).await;
        let messages = messages.into_iter().map(|entry| entry.message).collect();
        Ok(Some((messages, saved)))
    }
}

fn sum(found: &[Superseded]) -> u64 {
    found.iter().map(|one| one.tokens).sum()
}

fn notice(count: usize, tokens: u64, reason: Reason) -> String {
    let why = match reason {
        Reason::Cold => "the prompt cache had expired",
        Reason::Price => "that costs less than to keep them",
        Reason::Room => "the context window is nearly full",
    };
    format!(
        "requests leave out {} of tools that the model no longer needs, about {tokens} tokens: {why}",
        text::counted(count, "result", "results")
    )
}

/// The time since the last answer.
fn idle(messages: &[Arc<AgentMessage>]) -> Duration {
    let last = messages.iter().rev().find_map(|message| match &**message {
        AgentMessage::Assistant(answer) => Some(answer),
        _ => None,
    });
    let ended = last.map_or(i64::MAX, |answer| {
        answer.timestamp.saturating_add_unsigned(answer.duration_ms)
    });
    let passed = clock::now_ms().saturating_sub(ended);
    Duration::from_millis(u64::try_from(passed).unwrap_or_default())
}

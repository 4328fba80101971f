//! Stores the agent's messages: each final message becomes an entry before it counts, user messages and finished
//! turns are synced to disk, and the current answer has a draft. Earlier messages are read back when a model needs
//! them.

use async_trait::async_trait;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::walk::ContextLimit;
use super::writer::Writer;
use crate::{SessionError, SessionStore};
use osier_agent::{
    AgentMessage, Earlier, History, Interceptor, RunOutcome, StopRun, ToolResultMessage,
};
use osier_llm::{AssistantMessage, Delta};
use osier_protocol::EntryKind;

/// The interceptor of one session.
#[derive(Debug)]
pub struct MessageRecorder {
    writer: Writer,
    /// Receives the entry of every message, in the order of their `MessageEnd`s.
    stored: UnboundedSender<String>,
}

impl MessageRecorder {
    pub fn new(writer: Writer, stored: UnboundedSender<String>) -> Self {
        Self { writer, stored }
    }
}

#[async_trait]
impl Interceptor for MessageRecorder {
    async fn commit(&self, message: &AgentMessage) -> Result<(), StopRun> {
        let entry = self
            .writer
            .append(EntryKind::message(message.clone()))
            .await
            .map_err(|error| stop(&error))?;
        if matches!(message, AgentMessage::User(_)) {
            self.writer
                .store()
                .sync()
                .await
                .map_err(|error| stop(&error))?;
        }
        // The receiver may be gone.
        let _ = self.stored.send(entry.id);
        Ok(())
    }

    fn on_answer(&self, partial: &AssistantMessage) {
        if self.writer.is_at_leaf() {
            self.writer.store().begin_draft(partial.clone());
        }
    }

    fn on_delta(&self, delta: &Delta) {
        if self.writer.is_at_leaf() {
            self.writer.store().draft(delta);
        }
    }

    async fn on_turn_end(
        &self,
        _results: &[ToolResultMessage],
        _cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        self.writer
            .store()
            .sync()
            .await
            .map_err(|error| stop(&error))
    }

    async fn on_settled(&self, _outcome: &RunOutcome) {
        // A remaining draft belongs to an abandoned answer.
        if self.writer.is_at_leaf() {
            let _ = self.writer.store().clear_draft().await;
        }
    }
}

/// The conversation of a resumed session, as it was when opened.
#[derive(Debug)]
pub struct StoredHistory {
    store: SessionStore,
    leaf: Option<String>,
    /// Tokens of a message.
    tokens: fn(&AgentMessage) -> u64,
}

impl StoredHistory {
    pub fn new(
        store: SessionStore,
        leaf: Option<String>,
        tokens: fn(&AgentMessage) -> u64,
    ) -> Self {
        Self {
            store,
            leaf,
            tokens,
        }
    }
}

#[async_trait]
impl History for StoredHistory {
    async fn load(&self, window: u64) -> Result<Earlier, StopRun> {
        self.store.findings().await.map_err(|error| stop(&error))?;
        let (index, leaf) = (self.store.index().clone(), self.leaf.clone());
        let limit = ContextLimit::with_room(window, self.tokens);
        let reading = osier_base::task::spawn_blocking(move || {
            let context = index.context_within(leaf.as_deref(), limit);
            Earlier {
                messages: context
                    .entries
                    .into_iter()
                    .map(|entry| entry.message)
                    .collect(),
                is_cut: context.is_cut,
            }
        });
        reading.await.map_err(|error| StopRun {
            message: format!("the session could not be read: {error}"),
        })
    }
}

/// The message for the user when the session cannot be written.
pub fn stop(error: &SessionError) -> StopRun {
    let message = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    StopRun { message }
}

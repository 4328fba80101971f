//! Stores the agent's messages: each final message becomes an entry before it counts, user messages and finished
//! turns are synced to disk, and the current answer has a draft. Earlier messages are read back when a model needs
//! them.

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::writer::Writer;
use crate::{SessionError, SessionStore};
use osier_agent::{AgentMessage, History, Interceptor, RunOutcome, StopRun, ToolResultMessage};
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

impl Interceptor for MessageRecorder {
    fn commit<'a>(&'a self, message: &'a AgentMessage) -> BoxFuture<'a, Result<(), StopRun>> {
        async move {
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
        .boxed()
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

    fn on_turn_end<'a>(
        &'a self,
        _results: &'a [ToolResultMessage],
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<(), StopRun>> {
        async move {
            self.writer
                .store()
                .sync()
                .await
                .map_err(|error| stop(&error))
        }
        .boxed()
    }

    fn on_settled<'a>(&'a self, _outcome: &'a RunOutcome) -> BoxFuture<'a, ()> {
        async move {
            // A remaining draft belongs to an abandoned answer.
            if self.writer.is_at_leaf() {
                let _ = self.writer.store().clear_draft().await;
            }
        }
        .boxed()
    }
}

/// The conversation of a resumed session, as it was when opened.
#[derive(Debug)]
pub struct StoredHistory {
    store: SessionStore,
    leaf: Option<String>,
}

impl StoredHistory {
    pub fn new(store: SessionStore, leaf: Option<String>) -> Self {
        Self { store, leaf }
    }
}

impl History for StoredHistory {
    fn load(&self) -> BoxFuture<'_, Result<Vec<AgentMessage>, StopRun>> {
        async move {
            self.store.findings().await.map_err(|error| stop(&error))?;
            let (index, leaf) = (self.store.index().clone(), self.leaf.clone());
            let reading = osier_base::task::spawn_blocking(move || index.context(leaf.as_deref()));
            reading.await.map_err(|error| StopRun {
                message: format!("the session could not be read: {error}"),
            })
        }
        .boxed()
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

//! Stores what the agent says: every final message becomes an entry before it counts, user messages and
//! finished turns are forced to disk, and the answer in progress is kept as a draft. What was said in
//! earlier runs comes back from there when a model is to hear it again.

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::mpsc::UnboundedSender;

use super::writer::Writer;
use crate::{EntryKind, SessionError, SessionStore};
use osier_agent::{AgentMessage, History, Interceptor, RunOutcome, StopRun, ToolResultMessage};
use osier_llm::{AssistantMessage, Delta};

/// The interceptor of one session.
#[derive(Debug)]
pub struct Keeper {
    writer: Writer,
    /// Told the entry of every message, in the order of their `MessageEnd`s.
    stored: UnboundedSender<String>,
}

impl Keeper {
    pub fn new(writer: Writer, stored: UnboundedSender<String>) -> Self {
        Self { writer, stored }
    }
}

impl Interceptor for Keeper {
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
            // Nobody may be left to listen.
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
            // A draft that is left belongs to an answer that was given up.
            if self.writer.is_at_leaf() {
                let _ = self.writer.store().clear_draft().await;
            }
        }
        .boxed()
    }
}

/// The conversation of a session that is gone on with, as it was when it was opened.
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
            let reading = tokio::task::spawn_blocking(move || index.context(leaf.as_deref()));
            reading.await.map_err(|error| StopRun {
                message: format!("the session could not be read: {error}"),
            })
        }
        .boxed()
    }
}

/// The sentence a person reads when the session cannot be written.
pub fn stop(error: &SessionError) -> StopRun {
    let message = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    StopRun { message }
}

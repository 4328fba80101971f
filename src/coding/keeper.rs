//! Stores what the agent says: every final message becomes an entry before it counts, user messages and
//! finished turns are forced to disk, and the answer in progress is kept as a draft.

use futures_util::future::{BoxFuture, FutureExt};

use super::session::{EntryKind, SessionError, SessionStore};
use crate::agent::{AgentMessage, Interceptor, RunOutcome, StopRun, ToolResultMessage};
use crate::llm::{AssistantMessage, Delta};

/// The interceptor of one session.
#[derive(Debug)]
pub struct Keeper {
    store: SessionStore,
}

impl Keeper {
    pub fn new(store: SessionStore) -> Self {
        Self { store }
    }
}

impl Interceptor for Keeper {
    fn commit<'a>(&'a self, message: &'a AgentMessage) -> BoxFuture<'a, Result<(), StopRun>> {
        async move {
            self.store
                .append(EntryKind::message(message.clone()))
                .await
                .map_err(|error| stop(&error))?;
            if matches!(message, AgentMessage::User(_)) {
                self.store.sync().await.map_err(|error| stop(&error))?;
            }
            Ok(())
        }
        .boxed()
    }

    fn on_answer(&self, partial: &AssistantMessage) {
        self.store.begin_draft(partial.clone());
    }

    fn on_delta(&self, delta: &Delta) {
        self.store.draft(delta);
    }

    fn on_turn_end<'a>(
        &'a self,
        _results: &'a [ToolResultMessage],
    ) -> BoxFuture<'a, Result<(), StopRun>> {
        async move { self.store.sync().await.map_err(|error| stop(&error)) }.boxed()
    }

    fn on_settled<'a>(&'a self, _outcome: &'a RunOutcome) -> BoxFuture<'a, ()> {
        async move {
            // A draft that is left belongs to an answer that was given up.
            let _ = self.store.clear_draft().await;
        }
        .boxed()
    }
}

/// The sentence a person reads when the session cannot be written.
fn stop(error: &SessionError) -> StopRun {
    let message = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    StopRun { message }
}

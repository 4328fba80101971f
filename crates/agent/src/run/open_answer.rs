//! The answer that streams. While the partial answer of a failed attempt is shown, the next attempt publishes nothing
//! until it has content. So clients see one open answer at a time, and the partial one stays until something replaces it.

use std::sync::Arc;

use osier_base::ids;
use osier_llm::{AssistantMessage, Delta};

use super::attempt::{Attempt, retract};
use super::turn::Turn;
use crate::data::{AgentMessage, Event};
use crate::interceptor::AgentAccess;

/// The answer of one attempt.
pub(super) struct OpenAnswer<'a> {
    turn: Turn<'a>,
    /// The id of the answer in events.
    pub(super) id: String,
    empty: AssistantMessage,
    /// The partial answer of an earlier attempt, which this one replaces.
    partial: &'a mut Option<Attempt>,
    is_open: bool,
    /// Starts of blocks without content.
    early: Vec<Delta>,
}

impl<'a> OpenAnswer<'a> {
    pub(super) fn new(
        turn: Turn<'a>,
        empty: AssistantMessage,
        partial: &'a mut Option<Attempt>,
    ) -> Self {
        Self {
            turn,
            id: ids::prefixed("message"),
            empty,
            partial,
            is_open: false,
            early: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The call begins: publishes the start unless a partial answer is shown.
    pub(super) fn begin(&mut self) {
        if self.partial.is_none() {
            self.open();
        }
    }

    /// Publishes the start of the answer, which replaces the partial one.
    pub(super) fn open(&mut self) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        if let Some(partial) = self.partial.take() {
            retract(self.turn, &partial.id);
        }
        for interceptor in self.turn.core.interceptors() {
            interceptor.on_answer(&self.empty);
        }
        self.turn.core.publish(Event::MessageStart {
            id: self.id.clone(),
            message: Arc::new(AgentMessage::Assistant(self.empty.clone())),
        });
        for delta in std::mem::take(&mut self.early) {
            self.publish_delta(delta);
        }
    }

    /// Publishes the next part of the answer.
    pub(super) fn publish(&mut self, delta: Delta) {
        if self.is_open {
            return self.publish_delta(delta);
        }
        let has_content = match &delta {
            Delta::TextDelta { delta, .. } | Delta::ThinkingDelta { delta, .. } => {
                !delta.is_empty()
            }
            Delta::ToolcallStart { .. } => true,
            _ => false,
        };
        self.early.push(delta);
        if has_content {
            self.open();
        }
    }

    fn publish_delta(&self, delta: Delta) {
        for interceptor in self.turn.core.interceptors() {
            interceptor.on_delta(&delta);
        }
        self.turn.core.publish(Event::MessageUpdate {
            id: self.id.clone(),
            delta,
        });
    }
}

//! The streaming answer. While the partial answer of a failed attempt is shown, the next attempt
//! publishes nothing until it has content. So clients see one open answer at a time, and the
//! partial one stays until something replaces it.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_base::ids;
use osier_base::secrets::started_known;
use osier_llm::{AssistantMessage, Delta, StreamEvent};

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
    /// Ends of blocks that can be the start of a key: a key is removed only if it is in one delta.
    waiting: BTreeMap<usize, Delta>,
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
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Begins a call: publishes the start unless a partial answer is shown.
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

    /// Adds the next part of the answer, except for an end that the part after it may continue.
    pub(super) fn add(&mut self, delta: Delta) {
        let index = delta.index();
        let mut next = delta;
        if let Some(mut start) = self.waiting.remove(&index) {
            if start.merge(&next) {
                next = start;
            } else {
                self.apply(start);
            }
        }
        let Some(text) = next.text_mut() else {
            return self.apply(next);
        };
        let end = text.split_off(text.len() - started_known(text));
        if end.is_empty() {
            return self.apply(next);
        }
        let mut rest = next.clone();
        if let Some(text) = rest.text_mut() {
            *text = end;
        }
        self.waiting.insert(index, rest);
        if next.text_mut().is_some_and(|text| !text.is_empty()) {
            self.apply(next);
        }
    }

    /// Adds the waiting end, because nothing continues it.
    pub(super) fn flush(&mut self) {
        for delta in std::mem::take(&mut self.waiting).into_values() {
            self.apply(delta);
        }
    }

    fn apply(&mut self, delta: Delta) {
        let event = StreamEvent::Delta(delta);
        if let Some(builder) = &mut self.turn.core.state().partial {
            builder.apply(&event);
        }
        if let StreamEvent::Delta(delta) = event {
            self.publish(delta);
        }
    }

    /// Publishes the next part of the answer.
    fn publish(&mut self, delta: Delta) {
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

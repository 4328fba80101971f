//! One attempt to call a model, and its answer.

use osier_llm::{AssistantMessage, MessageBuilder, TurnStatus};

use super::turn::Turn;
use crate::data::Event;
use crate::interceptor::AgentAccess;

/// One attempt and its answer.
pub(super) struct Attempt {
    /// The id of the answer in events.
    pub id: String,
    /// Whether the start of the answer was published.
    pub is_open: bool,
    pub message: AssistantMessage,
    pub status: TurnStatus,
    /// Notes for the model about each tool call.
    pub notes: Vec<Vec<String>>,
}

impl Attempt {
    /// This attempt; or the partial answer of an earlier attempt, if this attempt failed before it answered.
    pub(super) fn or_partial(self, partial: Option<Self>, turn: Turn<'_>) -> Self {
        match partial {
            Some(partial) if !self.message.has_content() && !self.status.is_success() => {
                if self.is_open {
                    retract(turn, &self.id);
                }
                partial.ended_by(self.status)
            }
            _ => self,
        }
    }

    /// The partial answer of a call that ended with `status`.
    pub(super) fn ended_by(mut self, status: TurnStatus) -> Self {
        let mut builder = MessageBuilder::resume(self.message);
        builder.fail(&status);
        let duration_ms = builder.partial().duration_ms;
        self.message = builder.finish(duration_ms);
        self.status = status;
        self
    }
}

/// Discards the partial answer that clients show.
pub(super) fn retract(turn: Turn<'_>, id: &str) {
    for interceptor in turn.core.interceptors() {
        interceptor.on_retract();
    }
    turn.core
        .publish(Event::MessageRetracted { id: id.to_owned() });
}

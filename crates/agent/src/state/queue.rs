//! The queued messages of an agent.

use std::collections::VecDeque;

use crate::data::{QueueMode, UserMessage};

/// Both queues of an agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queues {
    /// Messages that are delivered before the next request.
    pub steering: Queue,
    /// Messages that are delivered when the agent would otherwise stop.
    pub follow_up: Queue,
}

/// A queue of messages, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    messages: VecDeque<UserMessage>,
    pub mode: QueueMode,
}

impl Queue {
    pub(crate) fn push(&mut self, message: UserMessage) {
        self.messages.push_back(message);
    }

    /// Removes the messages of one delivery.
    pub(crate) fn take(&mut self) -> Vec<UserMessage> {
        match self.mode {
            QueueMode::All => self.messages.drain(..).collect(),
            QueueMode::OneAtATime => self.messages.pop_front().into_iter().collect(),
        }
    }

    pub(crate) fn list(&self) -> Vec<UserMessage> {
        self.messages.iter().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

impl Queues {
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &UserMessage> {
        self.steering
            .messages
            .iter()
            .chain(&self.follow_up.messages)
    }

    /// Removes the messages of the next delivery after a run: steering first.
    pub(crate) fn take(&mut self) -> Vec<UserMessage> {
        let steering = self.steering.take();
        if steering.is_empty() {
            self.follow_up.take()
        } else {
            steering
        }
    }

    /// Removes all messages, in the order of delivery.
    pub(crate) fn recall(&mut self) -> Vec<UserMessage> {
        self.steering
            .messages
            .drain(..)
            .chain(self.follow_up.messages.drain(..))
            .collect()
    }
}

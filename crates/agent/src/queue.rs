//! Messages that wait for the agent: steering (before the next request) and follow-ups (when it would
//! stop).

use std::collections::VecDeque;

use super::message::UserMessage;
use super::op::QueueMode;

/// Both queues and how they are emptied.
#[derive(Debug, Clone, Default)]
pub struct Queues {
    pub steering: Queue,
    pub follow_up: Queue,
}

/// One queue, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    messages: VecDeque<UserMessage>,
    pub mode: QueueMode,
}

impl Queue {
    pub fn push(&mut self, message: UserMessage) {
        self.messages.push_back(message);
    }

    /// What one delivery takes.
    pub fn take(&mut self) -> Vec<UserMessage> {
        match self.mode {
            QueueMode::All => self.messages.drain(..).collect(),
            QueueMode::OneAtATime => self.messages.pop_front().into_iter().collect(),
        }
    }

    pub fn list(&self) -> Vec<UserMessage> {
        self.messages.iter().cloned().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }
}

impl Queues {
    /// Everything that waits, in the order it would have been delivered.
    pub fn recall(&mut self) -> Vec<UserMessage> {
        self.steering
            .messages
            .drain(..)
            .chain(self.follow_up.messages.drain(..))
            .collect()
    }

    pub fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }
}

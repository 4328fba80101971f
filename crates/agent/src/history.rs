//! The earlier part of a resumed conversation, loaded only when it is needed.

use async_trait::async_trait;
use std::fmt;

use crate::data::AgentMessage;
use crate::interceptor::StopRun;

/// The earlier messages that the history has.
#[derive(Debug, Default)]
pub struct Earlier {
    /// The messages, oldest first.
    pub messages: Vec<AgentMessage>,
    /// Older messages exist, which no context window can hold.
    pub is_cut: bool,
}

/// A source of the messages before an agent's own.
#[async_trait]
pub trait History: Send + Sync + fmt::Debug {
    /// Loads the messages. If there are far too many, only those for a context window of `window`
    /// tokens (0 if unknown). Called once, before the first request. An error stops the run, and
    /// the next run calls this method again.
    async fn load(&self, window: u64) -> Result<Earlier, StopRun>;
}

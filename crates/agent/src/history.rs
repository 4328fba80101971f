//! The earlier part of a resumed conversation, loaded only when it is needed.

use async_trait::async_trait;
use std::fmt;

use crate::data::AgentMessage;
use crate::interceptor::StopRun;

/// The messages before an agent's own.
#[derive(Debug, Default)]
pub struct Earlier {
    /// Oldest first.
    pub messages: Vec<AgentMessage>,
    /// Older messages exist, which no context window can hold.
    pub is_cut: bool,
}

/// A source of the messages before an agent's own.
#[async_trait]
pub trait History: Send + Sync + fmt::Debug {
    /// The messages; of far too many, only those that a context window of `window` tokens holds (0 if unknown). Called
    /// once, before the first request. An error stops the run, and the next run calls this again.
    async fn load(&self, window: u64) -> Result<Earlier, StopRun>;
}

//! The earlier part of a resumed conversation, loaded only when it is needed.

use async_trait::async_trait;
use std::fmt;

use crate::data::AgentMessage;
use crate::interceptor::StopRun;

/// A source of the messages before an agent's own.
#[async_trait]
pub trait History: Send + Sync + fmt::Debug {
    /// The messages, oldest first. Called once, before the first request. An error stops the run; the next
    /// run calls it again.
    async fn load(&self) -> Result<Vec<AgentMessage>, StopRun>;
}

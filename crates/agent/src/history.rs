//! The earlier part of a resumed conversation, loaded only when it is needed.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::data::AgentMessage;
use crate::interceptor::StopRun;

/// A source of the messages before an agent's own.
pub trait History: Send + Sync + fmt::Debug {
    /// The messages, oldest first. Called once, before the first request. An error stops the run; the next
    /// run calls it again.
    fn load(&self) -> BoxFuture<'_, Result<Vec<AgentMessage>, StopRun>>;
}

//! A conversation that was begun earlier and is read only when it is needed: with the first request.

use std::fmt;

use futures_util::future::BoxFuture;

use super::interceptor::StopRun;
use super::message::AgentMessage;

/// Where the messages before an agent's own come from. Knows where they are kept, which the agent does
/// not.
pub trait History: Send + Sync + fmt::Debug {
    /// The messages, oldest first. Asked once, unless it fails: then the run stops, and the next one asks
    /// again.
    fn load(&self) -> BoxFuture<'_, Result<Vec<AgentMessage>, StopRun>>;
}

//! Changes of a conversation other than a run: a move in the session tree, a compaction on request, `/fan`.
//!
//! The agent's task does one thing at a time, so a change never overlaps with a run or another change.
//! Messages that arrive during a change are queued, and `Op::Abort` cancels it. Changes that arrive during a brief one are
//! made after it.

use async_trait::async_trait;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use crate::data::Event;
use crate::history::History;
use crate::interceptor::AgentAccess;

/// A change that has exclusive access to the conversation of an agent.
#[async_trait]
pub trait Change: Send {
    async fn perform(
        self: Box<Self>,
        agent: &dyn AgentAccess,
        cancel: &CancellationToken,
    ) -> ChangeOutcome;

    /// Whether the change takes only a moment, so that another change waits for it.
    fn is_brief(&self) -> bool {
        false
    }

    /// Called when the change is rejected because a run or a longer change is in progress.
    fn refused(self: Box<Self>);
}

/// The result of a change. The agent applies it when it is idle again.
#[derive(Default)]
pub struct ChangeOutcome {
    /// The new conversation; the conversation is unchanged when not set.
    pub history: Option<Arc<dyn History>>,
    pub events: Vec<Event>,
    /// Called after `events` were published. The callee can request the next change.
    pub on_complete: Option<Box<dyn FnOnce() + Send>>,
}

osier_base::opaque_debug!(ChangeOutcome);

//! What needs a conversation to itself besides a run: a move in the session's tree, a compaction asked
//! for by hand. The agent's task does one thing at a time, so these never overlap with a run or with one
//! another; messages that come meanwhile wait in the queues, and `Abort` ends them as it ends a run.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::core::Core;
use super::event::Event;
use super::history::History;
use super::interceptor::Interceptor;
use super::message::AgentMessage;
use super::retry::RetryPolicy;
use super::transport::Transport;
use osier_llm::{Model, ThinkingLevel, ToolSpec};

/// Work on the conversation of an agent that does nothing else meanwhile.
pub trait Change: Send {
    fn perform<'a>(
        self: Box<Self>,
        desk: Desk<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Changed>;

    /// A run or another change is on: nothing was done.
    fn refused(self: Box<Self>);
}

/// What a change came to. It is told when the agent is free again: whoever hears of it may ask for the
/// next one.
#[derive(Default)]
pub struct Changed {
    /// The conversation from then on; as it was when not set.
    pub history: Option<Arc<dyn History>>,
    pub events: Vec<Event>,
    /// Tells whoever asked, after the events.
    pub tell: Option<Box<dyn FnOnce() + Send>>,
}

impl fmt::Debug for Changed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Changed")
            .field("history", &self.history)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// When an interceptor is asked to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The next request is about to be made: behind a prompt, or behind tool results.
    BeforeRequest,
    /// The model has answered and the agent would stop.
    AfterRun,
    /// The provider said that the conversation does not fit.
    Overflow,
}

/// What those who work on a conversation see of the agent.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    core: &'a Core,
}

impl<'a> Desk<'a> {
    pub(super) fn new(core: &'a Core) -> Self {
        Self { core }
    }

    pub fn publish(&self, event: Event) {
        self.core.publish(event);
    }

    /// The conversation as far as it is in memory.
    pub fn messages(&self) -> Vec<Arc<AgentMessage>> {
        self.core.state().messages.clone()
    }

    /// Whether a part of the conversation was not read yet.
    pub fn is_unread(&self) -> bool {
        self.core.state().history.is_some()
    }

    /// Best first.
    pub fn models(&self) -> Vec<Arc<Model>> {
        self.core.state().models.clone()
    }

    /// The level that was asked for.
    pub fn thinking(&self) -> ThinkingLevel {
        self.core.state().thinking
    }

    pub fn system_prompt(&self) -> String {
        self.core.state().system_prompt.clone()
    }

    /// The tools that are offered.
    pub fn tools(&self) -> Vec<ToolSpec> {
        let state = self.core.state();
        state.toolbox.specs(&state.withheld)
    }

    pub fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.core.config.transport)
    }

    pub fn retry(&self) -> RetryPolicy {
        self.core.config.retry
    }

    pub fn interceptors(&self) -> &'a [Arc<dyn Interceptor>] {
        self.core.interceptors()
    }
}

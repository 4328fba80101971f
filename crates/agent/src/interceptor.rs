//! The extension point for features that see all messages and tool calls: storage, permissions, hooks, plugins,
//! checkpoints, compaction.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use osier_llm::{AssistantMessage, Context, Delta, Model, ToolCall, ToolSpec};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::data::{
    AgentMessage, CompactionDecision, CompactionOutcome, CompactionPlan, CompactionReason, Event,
    RunOutcome, ToolResultMessage, UserMessage,
};
use crate::retry::RetryPolicy;
use crate::tool::{CheckedCall, ToolOutput};
use crate::transport::Transport;

/// Stops a run. The message is for the user and says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StopRun {
    pub message: String,
}

/// The decision about a tool call.
#[derive(Debug)]
pub enum ToolDecision {
    Allow,
    /// The call does not run; the model gets `reason` as the result.
    Deny {
        reason: String,
    },
    /// The call does not run, because it would fail. This is its result.
    Fail(ToolOutput),
    /// The call is prepared again, with other arguments.
    Rewrite {
        arguments: Value,
    },
    /// This call runs instead. The interceptor has judged it.
    Replace(Box<CheckedCall>),
}

/// A point in a run at which an interceptor can compact the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionPoint {
    /// Before the next request: after a prompt or after tool results.
    BeforeRequest,
    /// After the last answer, when the agent would stop.
    AfterRun,
    /// The provider reported that the conversation exceeds the context window.
    Overflow,
}

/// The parts of an agent that interceptors and changes can use.
pub trait AgentAccess: Send + Sync + fmt::Debug {
    fn publish(&self, event: Event);

    /// The messages in memory.
    fn messages(&self) -> Vec<Arc<AgentMessage>>;

    /// The models, preferred first.
    fn models(&self) -> Vec<Arc<Model>>;

    fn system_prompt(&self) -> String;

    /// The specifications of the offered tools.
    fn tools(&self) -> Vec<ToolSpec>;

    fn transport(&self) -> Arc<dyn Transport>;

    fn retry(&self) -> RetryPolicy;

    fn interceptors(&self) -> &[Arc<dyn Interceptor>];
}

/// Observes a run, and can change or stop it. The interceptors of an agent are called in order; the first
/// refusal is final. Every method has a default without effect.
pub trait Interceptor: Send + Sync + fmt::Debug {
    /// Called before a message of the user enters the conversation; can change it.
    fn on_input<'a>(&'a self, _message: &'a mut UserMessage) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// Called for every final message. It enters the conversation after every interceptor returned `Ok`.
    fn commit<'a>(&'a self, _message: &'a AgentMessage) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// Called when a model starts to answer; `partial` is empty. Must not block.
    fn on_answer(&self, _partial: &AssistantMessage) {}

    /// Called for every delta of an answer. Must not block or allocate much.
    fn on_delta(&self, _delta: &Delta) {}

    /// Called when the partial answer was discarded.
    fn on_retract(&self) {}

    /// Whether [`Interceptor::reminders`] needs the complete conversation, not only its loaded end. Must be fast.
    fn needs_history(&self) -> bool {
        false
    }

    /// Called before a request, after everything else that is new. The messages are stored and end the conversation, so
    /// that the earlier part of it stays cached.
    fn reminders<'a>(&'a self, _agent: &'a dyn AgentAccess) -> BoxFuture<'a, Vec<AgentMessage>> {
        ready(Vec::new()).boxed()
    }

    /// Called before a request; can change its context.
    fn before_request<'a>(
        &'a self,
        _context: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// Called before a call with valid arguments runs. `cancel` fires when the user interrupts.
    fn before_tool<'a>(
        &'a self,
        _call: &'a CheckedCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolDecision> {
        ready(ToolDecision::Allow).boxed()
    }

    /// Called when a call starts to run: everything that could deny it has allowed it.
    fn tool_starts(&self, _call: &ToolCall) {}

    /// Called after a call; can change its output before the model reads it.
    fn after_tool<'a>(
        &'a self,
        _call: &'a CheckedCall,
        _output: &'a mut ToolOutput,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// Called with every result of a call, also of one that did not run; can add to it. Must not block.
    fn on_result(&self, _call: &ToolCall, _output: &mut ToolOutput) {}

    /// Called after this interceptor denied a call; can add to its result.
    fn after_denial(&self, _call: &ToolCall, _output: &mut ToolOutput) {}

    /// Shortens the conversation if it is too long. `Some` is the new conversation; the remaining
    /// interceptors are not called then. `None` leaves it unchanged.
    fn make_room<'a>(
        &'a self,
        _agent: &'a dyn AgentAccess,
        _point: CompactionPoint,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<Vec<AgentMessage>>, StopRun>> {
        ready(Ok(None)).boxed()
    }

    /// Called before a summary is written.
    fn before_compact<'a>(
        &'a self,
        _plan: &'a CompactionPlan,
    ) -> BoxFuture<'a, CompactionDecision> {
        ready(CompactionDecision::Proceed).boxed()
    }

    /// Called after a compaction, whatever its outcome.
    fn after_compact<'a>(
        &'a self,
        _reason: CompactionReason,
        _outcome: &'a CompactionOutcome,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// Called when an answer and its tool results are stored. `cancel` fires when the user interrupts.
    fn on_turn_end<'a>(
        &'a self,
        _results: &'a [ToolResultMessage],
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// Called when the agent would stop. A message continues the run.
    fn before_settle(&self) -> BoxFuture<'_, Option<UserMessage>> {
        ready(None).boxed()
    }

    /// Called when the run has ended.
    fn on_settled<'a>(&'a self, _outcome: &'a RunOutcome) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }
}

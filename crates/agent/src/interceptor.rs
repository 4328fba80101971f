//! The extension point for features that see all messages and tool calls: storage, permissions, hooks, plugins,
//! checkpoints, compaction.

use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

use osier_llm::{AssistantMessage, Context, Delta, Model, ThinkingLevel, ToolCall, ToolSpec};
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
    /// The call does not run, because it would fail with this result.
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

    /// The thinking level of the next request, adapted to the preferred model.
    fn thinking(&self) -> ThinkingLevel;

    fn system_prompt(&self) -> String;

    /// The specifications of the offered tools.
    fn tools(&self) -> Vec<ToolSpec>;

    fn transport(&self) -> Arc<dyn Transport>;

    fn retry(&self) -> RetryPolicy;

    fn interceptors(&self) -> &[Arc<dyn Interceptor>];
}

/// Observes a run, and can change or stop it. The interceptors of an agent are called in order; the first
/// refusal is final. Every method has a default without effect.
#[async_trait]
pub trait Interceptor: Send + Sync + fmt::Debug {
    /// Called before a message of the user enters the conversation; can change it.
    async fn on_input(&self, _message: &mut UserMessage) -> Result<(), StopRun> {
        Ok(())
    }

    /// Called for every final message. It enters the conversation after every interceptor returned `Ok`.
    async fn commit(&self, _message: &AgentMessage) -> Result<(), StopRun> {
        Ok(())
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
    async fn reminders(&self, _agent: &dyn AgentAccess) -> Vec<AgentMessage> {
        Vec::new()
    }

    /// Called before a request; can change its context.
    async fn before_request(&self, _context: &mut Context) -> Result<(), StopRun> {
        Ok(())
    }

    /// Called before a call with valid arguments runs. `cancel` fires when the user interrupts.
    async fn before_tool(&self, _call: &CheckedCall, _cancel: &CancellationToken) -> ToolDecision {
        ToolDecision::Allow
    }

    /// Called when a call starts to run: everything that could deny it has allowed it.
    fn tool_starts(&self, _call: &ToolCall) {}

    /// Called after a call; can change its output before the model reads it.
    async fn after_tool(&self, _call: &CheckedCall, _output: &mut ToolOutput) {}

    /// Called with every result of a call, also of one that did not run; can add to it. Must not block.
    fn on_result(&self, _call: &ToolCall, _output: &mut ToolOutput) {}

    /// Called after this interceptor denied a call; can add to its result.
    fn after_denial(&self, _call: &ToolCall, _output: &mut ToolOutput) {}

    /// Shortens the conversation if it is too long. `Some` is the new conversation; the remaining
    /// interceptors are not called then. `None` leaves it unchanged.
    async fn make_room(
        &self,
        _agent: &dyn AgentAccess,
        _point: CompactionPoint,
        _cancel: &CancellationToken,
    ) -> Result<Option<Vec<AgentMessage>>, StopRun> {
        Ok(None)
    }

    /// Called before a summary is written.
    async fn before_compact(&self, _plan: &CompactionPlan) -> CompactionDecision {
        CompactionDecision::Proceed
    }

    /// Called after a compaction, whatever its outcome.
    async fn after_compact(&self, _reason: CompactionReason, _outcome: &CompactionOutcome) {}

    /// Called when an answer and its tool results are stored. `cancel` fires when the user interrupts.
    async fn on_turn_end(
        &self,
        _results: &[ToolResultMessage],
        _cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        Ok(())
    }

    /// Called when the agent would stop. A message continues the run.
    async fn before_settle(&self) -> Option<UserMessage> {
        None
    }

    /// Called when the run has ended.
    async fn on_settled(&self, _outcome: &RunOutcome) {}
}

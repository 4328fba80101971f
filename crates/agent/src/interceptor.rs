//! The one seam for everything that cuts across the loop: storing messages, permissions, hooks,
//! plug-ins, checkpoints, compaction. Interceptors are asked in order; the first refusal wins.

use std::fmt;

use futures_util::future::{BoxFuture, FutureExt, ready};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::change::{Desk, Moment};
use super::compaction::{CompactionDecision, CompactionOutcome, CompactionPlan, CompactionReason};
use super::event::RunOutcome;
use super::message::{AgentMessage, ToolResultMessage, UserMessage};
use super::tool::ToolOutput;
use osier_llm::{AssistantMessage, Context, Delta, ToolCall};

/// Why a run must stop: a sentence for the person, naming what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StopRun {
    pub message: String,
}

/// What happens to a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolDecision {
    Allow,
    /// The model gets `reason` as the result.
    Deny {
        reason: String,
    },
    /// The call runs with other arguments.
    Rewrite {
        arguments: Value,
    },
}

/// A listener that may also change or refuse. Every method has a default that lets things pass.
pub trait Interceptor: Send + Sync + fmt::Debug {
    /// A message of the user is about to enter the conversation; it may be changed.
    fn on_input<'a>(&'a self, _message: &'a mut UserMessage) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// A message is final. It enters memory only when every interceptor has returned `Ok`.
    fn commit<'a>(&'a self, _message: &'a AgentMessage) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// A model begins to answer; `partial` is empty. Must not block.
    fn on_answer(&self, _partial: &AssistantMessage) {}

    /// A piece of an answer arrived. Called for every delta: must not block or allocate much.
    fn on_delta(&self, _delta: &Delta) {}

    /// The answer in progress was dropped and is tried again.
    fn on_retract(&self) {}

    /// The context of the next request; it may be changed.
    fn before_request<'a>(
        &'a self,
        _context: &'a mut Context,
    ) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// A call with valid arguments is about to run. `cancel` fires when the user interrupts.
    fn before_tool<'a>(
        &'a self,
        _call: &'a ToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolDecision> {
        ready(ToolDecision::Allow).boxed()
    }

    /// A call ended; its output may be changed before the model reads it.
    fn after_tool<'a>(
        &'a self,
        _call: &'a ToolCall,
        _output: &'a mut ToolOutput,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// The conversation may have become too long. `Some` is what it goes on with; the others are not
    /// asked then. Interrupted or in vain is `None`.
    fn make_room<'a>(
        &'a self,
        _desk: Desk<'a>,
        _moment: Moment,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<Vec<AgentMessage>>, StopRun>> {
        ready(Ok(None)).boxed()
    }

    /// A summary is about to take the place of the earlier part of the conversation.
    fn before_compact<'a>(
        &'a self,
        _plan: &'a CompactionPlan,
    ) -> BoxFuture<'a, CompactionDecision> {
        ready(CompactionDecision::Proceed).boxed()
    }

    /// A compaction has ended, however it did.
    fn after_compact<'a>(
        &'a self,
        _reason: CompactionReason,
        _outcome: &'a CompactionOutcome,
    ) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// An answer and its tool results are stored.
    fn on_turn_end<'a>(
        &'a self,
        _results: &'a [ToolResultMessage],
    ) -> BoxFuture<'a, Result<(), StopRun>> {
        ready(Ok(())).boxed()
    }

    /// The agent would stop: a message here makes it go on.
    fn before_settle(&self) -> BoxFuture<'_, Option<UserMessage>> {
        ready(None).boxed()
    }

    /// The run is over.
    fn on_settled<'a>(&'a self, _outcome: &'a RunOutcome) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }
}

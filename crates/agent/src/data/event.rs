//! The events of an agent. With `Op`, they are the complete interface of the loop.
//!
//! Order of a run: `AgentStart`; per turn `TurnStart`, messages and tools, `TurnEnd`; then `AgentEnd`, and
//! finally `AgentSettled`. A message starts with `MessageStart`, grows with `MessageUpdate`, and is final and
//! stored with `MessageEnd`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use osier_llm::{Delta, ThinkingLevel, TurnStatus};

use super::compaction::{CompactionOutcome, CompactionReason};
use super::log::{AccountingEntry, LogEntry};
use super::message::{AgentMessage, Severity, ToolResultMessage, UserMessage};
use super::op::QueueMode;
use super::output::Output;
use super::snapshot::StateSnapshot;
use super::tool::ToolInfo;
use crate::mailbox::Coalesce;

/// Maximum bytes of pending output per call for a slow subscriber. Older output is counted and dropped; the
/// tool's result contains the relevant part.
const PENDING_OUTPUT_LIMIT: usize = 64 * 1024;

osier_base::events! {
    /// An event of an agent.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(
        feature = "schema",
        derive(schemars::JsonSchema),
        schemars(rename = "AgentEvent")
    )]
    #[serde(
        tag = "type",
        rename_all = "snake_case",
        rename_all_fields = "camelCase"
    )]
    pub enum Event {
        /// A run began.
        AgentStart,
        /// A model call and its tools begin. `turn` counts from 1 within the run.
        TurnStart {
            turn: u32,
        },
        /// A message starts: complete unless it is an assistant message, which is empty.
        MessageStart {
            id: String,
            message: Arc<AgentMessage>,
        },
        /// The next part of the assistant's message `id`.
        MessageUpdate {
            id: String,
            delta: Delta,
        },
        /// The message is complete and stored.
        MessageEnd {
            id: String,
            message: Arc<AgentMessage>,
        },
        /// Discard the partial answer `id`: the answer of a retry replaces it, or it is not stored.
        MessageRetracted {
            id: String,
        },
        /// A tool call is about to run, or was refused. `ToolExecutionEnd` follows in both cases.
        ToolExecutionStart {
            call_id: String,
            tool_name: String,
            arguments: Value,
        },
        /// Output of a running call.
        ToolExecutionUpdate {
            call_id: String,
            update: ToolUpdate,
        },
        /// The call ended; `result.status` is the outcome.
        ToolExecutionEnd {
            call_id: String,
            tool_name: String,
            result: Arc<ToolResultMessage>,
        },
        /// The call and its tools are done.
        TurnEnd {
            turn: u32,
            status: TurnStatus,
        },
        /// The loop ended. Queued follow-ups can still start another run before `AgentSettled`.
        AgentEnd {
            outcome: RunOutcome,
        },
        /// Nothing runs, and no queued message will start a run.
        AgentSettled {
            outcome: RunOutcome,
        },
        /// The queues changed.
        #[event(RetainedForSession)]
        QueueUpdate {
            steering: Vec<UserMessage>,
            follow_up: Vec<UserMessage>,
        },
        /// Answer to `RecallQueue`, oldest first.
        QueueRecalled {
            messages: Vec<UserMessage>,
        },
        /// A failed call is retried after `delay_ms`; at most `max_attempts` retries per turn.
        RetryScheduled {
            attempt: u32,
            max_attempts: u32,
            delay_ms: u64,
            status: TurnStatus,
        },
        /// The call is sent to another model (`PROVIDER/ID`) because the first failed.
        ProviderSwitched {
            from: String,
            to: String,
            status: TurnStatus,
        },
        /// The models changed; `PROVIDER/ID`, preferred first.
        #[event(RetainedForSession)]
        ModelsChanged {
            models: Vec<String>,
        },
        /// The requested level, and the effective level of the current model.
        #[event(RetainedForSession)]
        ThinkingLevelChanged {
            level: ThinkingLevel,
            effective: ThinkingLevel,
        },
        /// Answer to `ListTools`; also sent when the tools of the next request changed.
        Tools {
            tools: Vec<ToolInfo>,
        },
        #[event(RetainedForSession)]
        QueueModeChanged {
            steering: QueueMode,
            follow_up: QueueMode,
        },
        #[event(RetainedForSession)]
        AutoRetryChanged {
            enabled: bool,
        },
        /// The conversation was replaced.
        MessagesReplaced {
            count: usize,
        },
        /// A model starts to write a summary of the earlier part of the conversation.
        CompactionStart {
            reason: CompactionReason,
        },
        /// The compaction ended. When it succeeded, the events of the summary message precede this one.
        CompactionEnd {
            reason: CompactionReason,
            outcome: CompactionOutcome,
        },
        /// A notice for the user.
        Notice {
            severity: Severity,
            text: String,
        },
        /// A log line of a non-interactive run.
        Log {
            entry: LogEntry,
        },
        /// Tokens, cost and time of one model call or tool call.
        Accounting {
            entry: AccountingEntry,
        },
        /// Answer to `GetState`.
        #[event(Answer)]
        State {
            state: Box<StateSnapshot>,
        },
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum RunOutcome {
    /// The model stopped calling tools.
    Completed,
    /// The user interrupted.
    Interrupted,
    /// A model call failed and is not retried.
    Failed { status: TurnStatus },
    /// The last allowed turn had no answer.
    MaxTurns { max_turns: u32 },
    /// A message could not be stored, or an interceptor stopped the run.
    Stopped { message: String },
}

impl RunOutcome {
    /// The error message for people; `None` for success and interrupts.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Completed | Self::Interrupted => None,
            Self::Failed { status } => Some(status.message().to_owned()),
            Self::MaxTurns { max_turns } => Some(format!(
                "the model gave no answer within {max_turns} turns: raise `--max-turns` or narrow the task"
            )),
            Self::Stopped { message } => Some(message.clone()),
        }
    }
}

/// Progress of a running call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolUpdate {
    /// More output, to be appended.
    Output(Output),
    /// A progress line; it replaces the previous one.
    Status { text: String },
    /// The call runs in a terminal of the editor that controls the agent; `id` is its id there.
    Terminal { id: String },
    /// An event of the subagent that the call runs.
    Agent { event: Box<Event> },
}

impl ToolUpdate {
    /// The text of the update.
    pub fn text(&self) -> &str {
        match self {
            Self::Output(Output { text, .. }) | Self::Status { text } => text,
            Self::Agent { .. } | Self::Terminal { .. } => "",
        }
    }

    /// Merges `next` if both are of the same type. Beyond `limit` bytes of output, the oldest text is dropped
    /// and counted as skipped.
    pub fn merge(&mut self, next: &Self, limit: usize) -> bool {
        match (self, next) {
            (Self::Output(output), Self::Output(next)) => output.merge(next, limit),
            (Self::Status { text }, Self::Status { text: next }) => text.clone_from(next),
            _ => return false,
        }
        true
    }
}

impl Coalesce for Event {
    fn coalesce(&mut self, next: &Self) -> bool {
        match (self, next) {
            (
                Self::MessageUpdate { id, delta },
                Self::MessageUpdate {
                    id: at,
                    delta: more,
                },
            ) => id == at && delta.merge(more),
            (
                Self::ToolExecutionUpdate { call_id, update },
                Self::ToolExecutionUpdate {
                    call_id: at,
                    update: more,
                },
            ) => call_id == at && update.merge(more, PENDING_OUTPUT_LIMIT),
            _ => false,
        }
    }

    fn is_deferrable(&self) -> bool {
        match self {
            Self::MessageUpdate { delta, .. } => delta.is_partial(),
            Self::ToolExecutionUpdate { .. } => true,
            _ => false,
        }
    }
}

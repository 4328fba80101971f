//! The operations of an agent. With `Event`, they are the complete interface of the loop.

use serde::{Deserialize, Serialize};

use super::message::{AgentMessage, Attachment};
use osier_llm::{Model, ThinkingLevel};

/// An operation. Every op is accepted at any time; its description says what it does during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "AgentOp")
)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Op {
    /// Starts a run with this message. While a run is on it is queued as `Steer`.
    Prompt {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// Queues a message that is delivered after the current tools, before the next request. Starts a
    /// run when none is on.
    Steer {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// Queues a message that is delivered when the agent would otherwise stop. Starts a run when none
    /// is on.
    FollowUp {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// Removes all queued messages: answered by `Event::QueueRecalled`, then `QueueUpdate`.
    RecallQueue,
    /// How many queued messages are delivered at once; a missing field does not change its mode.
    SetQueueMode {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steering: Option<QueueMode>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow_up: Option<QueueMode>,
    },
    /// Whether a failed model call is tried again; on at first.
    SetAutoRetry { enabled: bool },
    /// Cancels the wait before a retry: the run ends as if no retry were left. Has no effect without a wait.
    AbortRetry,
    /// Stops the run: cancels the stream, kills running tools and keeps the partial answer. Answered by
    /// `AgentSettled`; has no effect without a run.
    Abort,
    /// Continues from the current messages: after an error, or after `ReplaceMessages`.
    Continue,
    /// The models to use from the next request on, best first; the others are fallbacks. Empty lists
    /// are ignored.
    SetModels { models: Vec<Model> },
    /// Enables a provider that was disabled because of its key or quota.
    EnableProvider { provider: String },
    /// Sets the level for the next request, limited to what the model supports.
    SetThinkingLevel { level: ThinkingLevel },
    /// Sets the prompt for the next request.
    SetSystemPrompt { prompt: String },
    /// The tools offered from the next request on, by name; unknown names are answered by a notice. A
    /// tool that joins later is offered. Answered by `Event::Tools`.
    SetTools { names: Vec<String> },
    /// Answered by `Event::Tools`. Without a run, the tool sources are queried first; a run queries them
    /// before each request.
    ListTools,
    /// Replaces the conversation. Ignored, with a notice, while a run is on.
    ReplaceMessages { messages: Vec<AgentMessage> },
    /// Adds a message without starting a run. During a run it is delayed until the next request, so that it
    /// does not separate a tool call from its result.
    AppendMessage { message: Box<AgentMessage> },
    /// Answered by `Event::State`.
    GetState,
}

/// How many queued messages are delivered at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    #[default]
    OneAtATime,
    All,
}

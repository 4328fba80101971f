//! What an agent can be told. With `Event` this is the whole surface of the loop.

use serde::{Deserialize, Serialize};

use super::message::{AgentMessage, Attachment};
use osier_llm::{Model, ThinkingLevel};

/// One instruction. Every op is accepted at any time; what it does while a run is on is said with it.
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
    /// Takes every queued message back: answered by `Event::QueueRecalled`, then `QueueUpdate`.
    RecallQueue,
    /// How many queued messages one delivery takes; a missing field keeps its mode.
    SetQueueMode {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steering: Option<QueueMode>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follow_up: Option<QueueMode>,
    },
    /// Whether a failed model call is tried again; on at first.
    SetAutoRetry { enabled: bool },
    /// Ends the wait before a model call is tried again: the run ends as if no try were left. Nothing
    /// happens when none is waited for.
    AbortRetry,
    /// Stops the run: the stream is dropped, running tools are killed, the partial answer is kept.
    /// Answered by `AgentSettled`; nothing happens when no run is on.
    Abort,
    /// Goes on from the messages as they are: after an error, or after `ReplaceMessages`.
    Continue,
    /// The models to use from the next request on, best first; the others are fallbacks. Empty lists
    /// are ignored.
    SetModels { models: Vec<Model> },
    /// Tries a provider again that was left for its key or its quota.
    EnableProvider { provider: String },
    /// Takes effect with the next request, clamped to what the model has.
    SetThinkingLevel { level: ThinkingLevel },
    /// Takes effect with the next request.
    SetSystemPrompt { prompt: String },
    /// The tools offered from the next request on, by name; unknown names are answered by a notice. A
    /// tool that joins later is offered. Answered by `Event::Tools`.
    SetTools { names: Vec<String> },
    /// Answered by `Event::Tools`. Without a run the sources of tools are asked first; a run asks them
    /// before each request.
    ListTools,
    /// Replaces the conversation. Ignored, with a notice, while a run is on.
    ReplaceMessages { messages: Vec<AgentMessage> },
    /// Adds a message without starting a run. While a run is on it is held until the next request, so
    /// that it cannot stand between a tool call and its result.
    AppendMessage { message: Box<AgentMessage> },
    /// Answered by `Event::State`.
    GetState,
}

/// How many queued messages one delivery takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    #[default]
    OneAtATime,
    All,
}

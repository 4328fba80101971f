//! A copy of an agent's state, for readers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use osier_llm::{AssistantMessage, ThinkingLevel};

use super::message::{AgentMessage, UserMessage};
use super::op::QueueMode;

/// The state of an agent at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StateSnapshot {
    pub system_prompt: String,
    /// The models as `PROVIDER/ID`, preferred first.
    pub models: Vec<String>,
    pub thinking_level: ThinkingLevel,
    /// Names of the tools offered.
    pub tools: Vec<String>,
    /// The messages in memory. The earlier messages of a resumed conversation are loaded with the first
    /// request.
    pub messages: Vec<Arc<AgentMessage>>,
    pub is_streaming: bool,
    /// The streaming answer so far.
    pub partial: Option<AssistantMessage>,
    /// Ids of the running calls.
    pub pending_tool_calls: Vec<String>,
    pub steering: Vec<UserMessage>,
    pub follow_up: Vec<UserMessage>,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// Whether failed model calls are retried.
    pub auto_retry: bool,
    /// Why the last run failed.
    pub error: Option<String>,
}

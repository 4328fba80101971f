//! The state of an agent, and its snapshot for readers.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::history::History;
use super::message::{AgentMessage, UserMessage};
use super::op::QueueMode;
use super::queue::Queues;
use super::toolbox::Toolbox;
use osier_llm::{AssistantMessage, MessageBuilder, Model, ThinkingLevel};

/// The mutable state of an agent. Owned by its core; locked only briefly, never across an await.
#[derive(Debug, Default)]
pub(super) struct State {
    pub system_prompt: String,
    /// Best first; the others are fallbacks.
    pub models: Vec<Arc<Model>>,
    pub thinking: ThinkingLevel,
    /// Every tool there is.
    pub toolbox: Arc<Toolbox>,
    /// Names of the tools that are not offered.
    pub withheld: HashSet<String>,
    pub messages: Vec<Arc<AgentMessage>>,
    /// The messages before `messages` that were not loaded yet.
    pub history: Option<Arc<dyn History>>,
    /// Appended while a run was on; they enter before the next request.
    pub held: Vec<AgentMessage>,
    pub queues: Queues,
    /// The answer that is streaming.
    pub partial: Option<MessageBuilder>,
    pub pending_tool_calls: Vec<String>,
    pub running: bool,
    /// Providers whose key or quota failed in this session.
    pub disabled_providers: HashSet<String>,
    /// A failed call is not tried again.
    pub no_retry: bool,
    /// Why the last run failed.
    pub error: Option<String>,
}

/// A copy of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StateSnapshot {
    pub system_prompt: String,
    /// `PROVIDER/ID`, best first.
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
    /// Ids of the calls that run.
    pub pending_tool_calls: Vec<String>,
    pub steering: Vec<UserMessage>,
    pub follow_up: Vec<UserMessage>,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// Whether a failed model call is tried again.
    pub auto_retry: bool,
    /// Why the last run failed.
    pub error: Option<String>,
}

impl State {
    pub(super) fn snapshot(&self) -> StateSnapshot {
        StateSnapshot {
            system_prompt: self.system_prompt.clone(),
            models: self.model_references(),
            thinking_level: self.thinking,
            tools: self.offered(),
            messages: self.messages.clone(),
            is_streaming: self.running,
            partial: self
                .partial
                .as_ref()
                .map(|builder| builder.partial().clone()),
            pending_tool_calls: self.pending_tool_calls.clone(),
            steering: self.queues.steering.list(),
            follow_up: self.queues.follow_up.list(),
            steering_mode: self.queues.steering.mode,
            follow_up_mode: self.queues.follow_up.mode,
            auto_retry: !self.no_retry,
            error: self.error.clone(),
        }
    }

    /// Names of the tools offered, in the order the model sees them.
    pub(super) fn offered(&self) -> Vec<String> {
        let mut names = self.toolbox.names();
        names.retain(|name| !self.withheld.contains(name));
        names
    }

    pub(super) fn model_references(&self) -> Vec<String> {
        self.models.iter().map(|model| model.reference()).collect()
    }

    /// The effective level of the current model.
    pub(super) fn effective_thinking(&self) -> ThinkingLevel {
        self.models
            .first()
            .map_or(self.thinking, |model| model.clamp(self.thinking))
    }
}

//! The mutable state of an agent.

use std::collections::BTreeSet;

use osier_llm::MessageBuilder;

use super::conversation::Conversation;
use super::models::ModelSelection;
use super::queue::Queues;
use crate::data::{AgentMessage, StateSnapshot, UserMessage};
use crate::tool::ToolSelection;

/// The mutable state of an agent. Its core owns it behind a mutex that is never held across an await.
#[derive(Debug)]
pub(crate) struct AgentState {
    pub system_prompt: String,
    pub models: ModelSelection,
    pub tools: ToolSelection,
    pub conversation: Conversation,
    pub queues: Queues,
    /// The answer that is streaming.
    pub partial: Option<MessageBuilder>,
    /// Ids of the running calls.
    pub pending_tool_calls: Vec<String>,
    /// Whether a run or a change is in progress.
    pub running: bool,
    /// Whether failed model calls are retried.
    pub auto_retry: bool,
    /// Why the last run failed.
    pub error: Option<String>,
    /// The warnings about answers that were shown.
    pub warnings: BTreeSet<String>,
}

impl AgentState {
    pub(crate) fn new(
        system_prompt: String,
        models: ModelSelection,
        tools: ToolSelection,
        conversation: Conversation,
    ) -> Self {
        Self {
            system_prompt,
            models,
            tools,
            conversation,
            queues: Queues::default(),
            partial: None,
            pending_tool_calls: Vec::new(),
            running: false,
            auto_retry: true,
            error: None,
            warnings: BTreeSet::new(),
        }
    }

    /// Whether the agent has a message with this idempotency key: a client sends a message again if
    /// it has not received the end of its run.
    pub(crate) fn knows(&self, once: &str) -> bool {
        let is_it = |message: &UserMessage| message.once.as_deref() == Some(once);
        let mut messages = self.conversation.messages().iter().rev();
        self.queues.waiting().any(is_it)
            || messages.any(|message| matches!(&**message, AgentMessage::User(user) if is_it(user)))
    }

    pub(crate) fn snapshot(&self) -> StateSnapshot {
        StateSnapshot {
            system_prompt: self.system_prompt.clone(),
            models: self.models.references(),
            thinking_level: self.models.thinking,
            tools: self.tools.offered(),
            messages: self.conversation.messages().to_vec(),
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
            auto_retry: self.auto_retry,
            error: self.error.clone(),
        }
    }
}

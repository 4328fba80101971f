//! The requests of an agent. With `Event`, they are its complete interface.

use serde::{Deserialize, Serialize};

use osier_llm::{Model, ThinkingLevel};

use super::message::{AgentMessage, Attachment};

osier_base::requests! {
    /// A request to an agent. Every request is accepted at any time; its documentation says what it does during
    /// a run.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AgentOp"))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum Op {
        /// Start a run with a message. During a run, queue it like `steer`.
        #[request(Prompts, Begin + session)]
        Prompt {
            /// the message
            text: String,
            /// attached files, as the agent stores them
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            attachments: Vec<Attachment>,
            /// what the user typed, if `text` contains more: an expanded template, piped text
            #[serde(default, skip_serializing_if = "Option::is_none")]
            typed: Option<String>,
            /// an idempotency key, stored with the message: a server does not accept it again
            #[serde(default, skip_serializing_if = "Option::is_none")]
            once: Option<String>,
        },
        /// Queue a message that is delivered after the current tools, before the next request. Starts a run when
        /// none is active.
        #[request(Prompts, Begin + session)]
        Steer {
            /// the message
            text: String,
            /// attached files, as the agent stores them
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            attachments: Vec<Attachment>,
            /// what the user typed, if `text` contains more: an expanded template, piped text
            #[serde(default, skip_serializing_if = "Option::is_none")]
            typed: Option<String>,
            /// an idempotency key, stored with the message: a server does not accept it again
            #[serde(default, skip_serializing_if = "Option::is_none")]
            once: Option<String>,
        },
        /// Queue a message that is delivered when the agent would otherwise stop. Starts a run when none is
        /// active.
        #[request(Prompts, Begin + session)]
        FollowUp {
            /// the message
            text: String,
            /// attached files, as the agent stores them
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            attachments: Vec<Attachment>,
            /// what the user typed, if `text` contains more: an expanded template, piped text
            #[serde(default, skip_serializing_if = "Option::is_none")]
            typed: Option<String>,
            /// an idempotency key, stored with the message: a server does not accept it again
            #[serde(default, skip_serializing_if = "Option::is_none")]
            once: Option<String>,
        },
        /// Stop the run, the running change of the conversation and the user's command. The partial answer is
        /// kept; `agent_settled` follows when nothing runs. Has no effect without a run.
        #[request(Prompts, Stop + session, also "interrupt")]
        Abort,
        /// Continue from the current messages: after an error, or after they were replaced.
        #[request(Prompts, Begin + session)]
        Continue,
        /// Remove all queued messages and return them.
        #[request(Prompts, Change + session, command "clear_queue" => QueueRecalled)]
        RecallQueue,
        /// Set how many queued messages are delivered at once. A missing parameter does not change its queue.
        #[request(Prompts, Change + session => QueueModeChanged)]
        SetQueueMode {
            /// for messages that steer
            #[serde(default, skip_serializing_if = "Option::is_none")]
            steering: Option<QueueMode>,
            /// for messages that wait for the end of the run
            #[serde(default, skip_serializing_if = "Option::is_none")]
            follow_up: Option<QueueMode>,
        },
        /// Turn retries of failed model calls on or off.
        #[request(Prompts, Change + session => AutoRetryChanged)]
        SetAutoRetry {
            /// on by default
            enabled: bool,
        },
        /// Cancel the wait before a retry. The run fails with the error of the last call.
        #[request(Prompts, Stop + session)]
        AbortRetry,
        /// Set the models for the next request, best first. The others are fallbacks. An empty list is ignored.
        #[request(Models, Change + session => ModelsChanged)]
        SetModels {
            /// at least one
            models: Vec<Model>,
        },
        /// Enable a provider that was disabled because of its key or quota.
        #[request(Models, Change + session)]
        EnableProvider {
            /// its name
            provider: String,
        },
        /// Set the thinking level for the next request, limited to what the model supports.
        #[request(Models, Change + session => ThinkingLevelChanged)]
        SetThinkingLevel {
            /// limited to what the model supports
            level: ThinkingLevel,
        },
        /// Set the system prompt for the next request.
        #[request(Tools, Change + session)]
        SetSystemPrompt {
            /// the complete prompt
            prompt: String,
        },
        /// Set the tools offered from the next request on. An unknown name is reported by a notice; a tool that
        /// is added later is offered.
        #[request(Tools, Change + session => Tools)]
        SetTools {
            /// their names
            names: Vec<String>,
        },
        /// List all tools and whether they are offered. Without a run, the tool sources are queried first; a run
        /// queries them before each request.
        #[request(Tools, None + session => Tools)]
        ListTools,
        /// Replace the conversation in memory. Ignored, with a notice, during a run.
        #[request(Tools, Change + session => MessagesReplaced)]
        ReplaceMessages {
            /// the messages
            messages: Vec<AgentMessage>,
        },
        /// Add a message without starting a run. During a run it is delayed until the next request, so that it
        /// does not separate a tool call from its result.
        #[request(Tools, Change + session)]
        AppendMessage {
            /// the message
            message: Box<AgentMessage>,
            /// have the model answer it: start a run, or extend the running one
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            respond: bool,
        },
        /// Return the state of the agent: prompt, tools, messages in memory, partial answer, running calls.
        #[request(State, None + session, command "get_agent_state" => State)]
        GetState,
    }
}

impl Op {
    /// Sets the idempotency key of a message.
    pub fn set_once(&mut self, key: String) {
        if let Self::Prompt { once, .. } | Self::Steer { once, .. } | Self::FollowUp { once, .. } =
            self
        {
            *once = Some(key);
        }
    }
}

osier_base::parameter_types! {
    AgentMessage: Object("AgentMessage"),
    Attachment: Object("Attachment"),
}

osier_base::words! {
    /// How many queued messages are delivered at once.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum QueueMode {
        #[default]
        OneAtATime = "one-at-a-time",
        All = "all",
    }
}

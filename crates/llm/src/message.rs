//! Messages as a model sees them, in one form for every vendor.
//!
//! A conversation is plain data: it can be written to a file, read back and sent to another vendor's
//! model. What only one vendor understands (signatures, encrypted reasoning) is kept as opaque text
//! beside the block it belongs to, and `AssistantMessage::{provider, model}` say who may see it again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::usage::Usage;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResult),
}

/// What the person (or a tool result's carrier) says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ModelUserMessage")
)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    pub content: Vec<ContentBlock>,
    /// Milliseconds since the Unix epoch.
    #[serde(default)]
    pub timestamp: i64,
}

impl UserMessage {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            timestamp: 0,
        }
    }
}

/// A part of a user message or of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ContentBlock {
    Text {
        text: String,
    },
    Image {
        /// Base64 of the file's bytes, standard alphabet with padding.
        data: String,
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: String,
    },
}

impl ContentBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// One answer of a model, complete or as far as it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    pub content: Vec<AssistantBlock>,
    /// Provider name as configured, e.g. `anthropic`.
    pub provider: String,
    /// Model id as sent to the provider.
    pub model: String,
    /// Wire format name, e.g. `anthropic-messages`; with `provider` and `model` it decides whether
    /// signatures may be sent back.
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub stop_reason: StopReason,
    /// Why the message ended early; set with `StopReason::Error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Milliseconds since the Unix epoch at which the call began.
    #[serde(default)]
    pub timestamp: i64,
    #[serde(default)]
    pub duration_ms: u64,
}

impl AssistantMessage {
    /// All text blocks joined, without thinking.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The tool calls in source order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum AssistantBlock {
    Text {
        text: String,
        /// Opaque, returned unchanged to the same provider and model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    Thinking {
        thinking: String,
        /// Opaque: a signature, or the whole encrypted block when `redacted`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    ToolCall(ToolCall),
}

/// A request of the model to run a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// A JSON object; `Null` when `arguments_error` is set.
    pub arguments: Value,
    /// The raw text when the arguments were not a complete JSON object. Such a call is never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    /// Opaque, returned unchanged to the same provider and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// What a tool call gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub tool_call_id: String,
    pub tool_name: String,
    pub content: Vec<ContentBlock>,
    pub is_error: bool,
    /// Milliseconds since the Unix epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model said all it wanted to.
    Stop,
    /// It waits for tool results.
    ToolUse,
    /// The output limit cut it off: its last tool call may be half.
    Length,
    /// The vendor's safety filter ended it.
    Refusal,
    /// The call failed; `error_message` says how.
    Error,
    /// The user interrupted it.
    Aborted,
    /// It has not ended: still streaming, or cut off by a crash.
    #[default]
    Pending,
}

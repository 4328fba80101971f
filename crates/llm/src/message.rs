//! The messages of a conversation, in one form for all vendors.
//!
//! A conversation is plain data: it can be stored, and sent to a model of another vendor. Data that only one
//! vendor understands (signatures, encrypted reasoning) is stored as opaque text with its block;
//! `AssistantMessage::{provider, model}` determine which model receives it again.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::Modality;
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

/// A message of the user.
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
    /// A recording or a document.
    File {
        /// Base64 of the file's bytes, standard alphabet with padding.
        data: String,
        /// `audio/wav`, `audio/mpeg`, … or `application/pdf`.
        mime_type: String,
        name: String,
        /// The replacement for a model that does not accept the file; empty for none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
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
            Self::Image { .. } | Self::File { .. } => None,
        }
    }

    /// The base64 data of an image or a file.
    pub fn data(&self) -> Option<&str> {
        match self {
            Self::Text { .. } => None,
            Self::Image { data, .. } | Self::File { data, .. } => Some(data),
        }
    }

    /// The text, or one line about the image or file: `[image/png, 120 bytes]`, `[call.wav: audio/wav, 9 bytes]`.
    pub fn description(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text } => Cow::Borrowed(text),
            Self::Image { mime_type, data } => {
                Cow::Owned(format!("[{mime_type}, {} bytes]", data.len() / 4 * 3))
            }
            Self::File {
                data,
                mime_type,
                name,
                ..
            } => Cow::Owned(format!(
                "[{name}: {mime_type}, {} bytes]",
                data.len() / 4 * 3
            )),
        }
    }

    /// The modality that a model must accept to receive this block.
    pub(crate) fn modality(&self) -> Modality {
        match self {
            Self::Text { .. } => Modality::Text,
            Self::Image { .. } => Modality::Image,
            Self::File { mime_type, .. } if mime_type.starts_with("audio/") => Modality::Audio,
            Self::File { .. } => Modality::Pdf,
        }
    }
}

/// An answer of a model, complete or partial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    pub content: Vec<AssistantBlock>,
    /// The configured name of the provider, e.g. `anthropic`.
    pub provider: String,
    /// The model id as sent to the provider.
    pub model: String,
    /// The name of the wire format, e.g. `anthropic-messages`. With `provider` and `model` it determines
    /// whether signatures are sent back.
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
    /// A hash of the conversation before this answer, if its thinking is bound to that conversation
    /// (`Compat::bound_thinking`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_hash: Option<String>,
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

    /// Whether the answer has anything to show.
    pub fn has_content(&self) -> bool {
        self.content.iter().any(|block| match block {
            AssistantBlock::Text { text, .. } => !text.is_empty(),
            AssistantBlock::Thinking { thinking, .. } => !thinking.is_empty(),
            AssistantBlock::ToolCall(_) => true,
        })
    }

    /// The tool calls in their original order.
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
        /// Opaque: a signature, or the complete encrypted block when `redacted`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    ToolCall(ToolCall),
}

/// The prefix of a step of the provider, which is stored like encrypted thinking. Base64 does not
/// contain it.
pub(crate) const HOSTED_STEP: &str = "step:";

impl AssistantBlock {
    /// A step of the provider between the blocks of an answer of Anthropic, as JSON.
    pub(crate) fn hosted_step(&self) -> Option<&str> {
        match self {
            Self::Thinking {
                signature: Some(step),
                redacted: true,
                ..
            } => step.strip_prefix(HOSTED_STEP),
            _ => None,
        }
    }
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
    /// The raw text if the arguments are not a complete JSON object. Such a call never runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    /// Opaque, returned unchanged to the same provider and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The call as another program made it, in an imported session. Never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Box<OriginalCall>>,
}

/// A call of another program, whose tools differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OriginalCall {
    pub name: String,
    pub arguments: Value,
}

impl ToolCall {
    /// The call as the original program made it, if the session was imported.
    pub fn as_made(&self) -> Cow<'_, Self> {
        match &self.original {
            Some(original) => Cow::Owned(Self {
                name: original.name.clone(),
                arguments: original.arguments.clone(),
                ..self.clone()
            }),
            None => Cow::Borrowed(self),
        }
    }
}

/// The result of a tool call.
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
    /// The answer is complete.
    Stop,
    /// The model waits for tool results.
    ToolUse,
    /// The provider paused a long answer: the next request continues it.
    Paused,
    /// The output limit was reached: the last tool call can be incomplete.
    Length,
    /// The vendor's safety filter ended the answer.
    Refusal,
    /// The call failed; `error_message` is the reason.
    Error,
    /// The user interrupted the answer.
    Aborted,
    /// The answer is still streaming, or was lost in a crash.
    #[default]
    Pending,
}

//! The events of a model call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::StopReason;
use super::status::TurnStatus;
use super::usage::Usage;

/// An event of a model call. Order: `Request`, `Start`, deltas, usage and warnings, then exactly one of `Done` and
/// `Failed`.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The request is about to be sent: its size in bytes, its body when tracing is enabled (without keys), and
    /// `AssistantMessage::prefix_hash` of its answer.
    Request {
        bytes: usize,
        body: Option<String>,
        prefix_hash: Option<String>,
    },
    /// The provider started to answer.
    Start { response_id: Option<String> },
    /// A part of the answer.
    Delta(Delta),
    /// The tokens so far; cumulative, without cost.
    Usage(Usage),
    /// A page that a search of the provider has found. The title can be empty.
    Source { title: String, url: String },
    /// A line for the user about a problem of the answer that does not change it.
    Warning { text: String },
    /// The answer is complete. `usage` is final and includes the cost.
    Done {
        stop_reason: StopReason,
        usage: Usage,
    },
    /// The call failed; the deltas before are a partial answer. Never `TurnStatus::Success`.
    Failed { status: TurnStatus, usage: Usage },
}

/// A part of an answer. `index` is that of the block in `AssistantMessage::content`. Blocks start
/// in order and can interleave; each one is closed by its `End`. The start of an existing block
/// replaces it: some servers reveal only at the end of a text that it was thinking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Delta {
    TextStart {
        index: usize,
    },
    TextDelta {
        index: usize,
        delta: String,
    },
    TextEnd {
        index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    ThinkingStart {
        index: usize,
    },
    ThinkingDelta {
        index: usize,
        delta: String,
    },
    ThinkingEnd {
        index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    ToolcallStart {
        index: usize,
        id: String,
        name: String,
    },
    /// Raw JSON text of the arguments, as it streams.
    ToolcallDelta {
        index: usize,
        delta: String,
    },
    ToolcallEnd {
        index: usize,
        /// The complete arguments object; `Null` when `arguments_error` is set.
        arguments: Value,
        /// The raw text when it was not a complete JSON object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl Delta {
    /// Whether the delta continues a block, and is neither its start nor its end.
    pub fn is_partial(&self) -> bool {
        matches!(
            self,
            Self::TextDelta { .. } | Self::ThinkingDelta { .. } | Self::ToolcallDelta { .. }
        )
    }

    /// The index of the delta's block.
    pub fn index(&self) -> usize {
        match self {
            Self::TextStart { index }
            | Self::TextDelta { index, .. }
            | Self::TextEnd { index, .. }
            | Self::ThinkingStart { index }
            | Self::ThinkingDelta { index, .. }
            | Self::ThinkingEnd { index, .. }
            | Self::ToolcallStart { index, .. }
            | Self::ToolcallDelta { index, .. }
            | Self::ToolcallEnd { index, .. } => *index,
        }
    }

    /// The text that continues a block.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::TextDelta { delta, .. }
            | Self::ThinkingDelta { delta, .. }
            | Self::ToolcallDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// Appends `next` if both are text of the same kind for the same block, so that a slow subscriber
    /// receives one long delta instead of many short ones.
    pub fn merge(&mut self, next: &Self) -> bool {
        match (self, next) {
            (
                Self::TextDelta { index, delta },
                Self::TextDelta {
                    index: at,
                    delta: more,
                },
            )
            | (
                Self::ThinkingDelta { index, delta },
                Self::ThinkingDelta {
                    index: at,
                    delta: more,
                },
            )
            | (
                Self::ToolcallDelta { index, delta },
                Self::ToolcallDelta {
                    index: at,
                    delta: more,
                },
            ) if index == at => {
                delta.push_str(more);
                true
            }
            _ => false,
        }
    }
}

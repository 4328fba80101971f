//! What a model call says while it runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::StopReason;
use super::status::TurnStatus;
use super::usage::Usage;

/// One step of a running call. Order: `Request`, `Start`, deltas and usage, then exactly one of `Done`
/// and `Failed`, which is the last.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The request is about to be sent: its size on the wire, and its body when tracing was asked for
    /// (without any key).
    Request { bytes: usize, body: Option<String> },
    /// The provider began to answer.
    Start { response_id: Option<String> },
    /// A piece of the answer.
    Delta(Delta),
    /// Tokens so far; cumulative, not priced.
    Usage(Usage),
    /// The answer is complete. `usage` is final and priced.
    Done {
        stop_reason: StopReason,
        usage: Usage,
    },
    /// The call failed; what came before it is a partial answer. Never `TurnStatus::Success`.
    Failed { status: TurnStatus, usage: Usage },
}

/// A piece of an answer. `index` is the block's place in `AssistantMessage::content`; blocks open in
/// order, may interleave, and each is closed by its `End`.
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
    /// Whether this is more of a block, neither its start nor its end.
    pub fn is_piece(&self) -> bool {
        matches!(
            self,
            Self::TextDelta { .. } | Self::ThinkingDelta { .. } | Self::ToolcallDelta { .. }
        )
    }

    /// Appends `next` when both are text of the same kind for the same block. Lets a subscriber that
    /// lags receive one long delta in place of many short ones.
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

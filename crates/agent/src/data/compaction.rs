//! The data about a compaction, for interceptors that block or replace it and for clients.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::AgentMessage;

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The user requested it.
    Manual,
    /// The context window is nearly full.
    Threshold,
    /// The provider reported that the conversation exceeds the context window.
    Overflow,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone)]
pub struct CompactionPlan {
    pub reason: CompactionReason,
    /// The user's instructions for the summary.
    pub instructions: Option<String>,
    /// Estimated tokens of the conversation.
    pub tokens_before: u64,
    /// The messages that the summary replaces, oldest first.
    pub replaced: Vec<Arc<AgentMessage>>,
    /// Number of messages that remain.
    pub remaining: usize,
}

/// The decision about a planned compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionDecision {
    Proceed,
    /// Additional instructions for the model that writes the summary.
    Instruct(String),
    /// Use this summary; no model is called.
    Replace {
        summary: String,
    },
    Cancel {
        reason: String,
    },
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum CompactionOutcome {
    /// A summary replaced the earlier part of the conversation.
    Done {
        summary: String,
        tokens_before: u64,
        tokens_after: u64,
    },
    /// The summary is ready and waits for the user's confirmation.
    Drafted,
    /// There was nothing to compact, or it was blocked.
    Refused {
        message: String,
    },
    /// No summary was stored; the conversation is unchanged.
    Failed {
        message: String,
    },
    Interrupted,
}

//! What is told of a compaction: to whoever may refuse or replace it, and to those who watch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::AgentMessage;

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The person asked for it.
    Manual,
    /// The window is nearly full.
    Threshold,
    /// The provider said that the conversation does not fit.
    Overflow,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone)]
pub struct CompactionPlan {
    pub reason: CompactionReason,
    /// What the person wants kept in mind.
    pub instructions: Option<String>,
    /// Tokens of the conversation, about.
    pub tokens_before: u64,
    /// The messages a summary will stand for, oldest first.
    pub goes: Vec<Arc<AgentMessage>>,
    /// Messages that stay as they are.
    pub stays: usize,
}

/// What becomes of a planned compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionDecision {
    Proceed,
    /// The model that summarises is told this too.
    Instruct(String),
    /// This is the summary; no model is asked.
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
    /// A summary stands for the earlier part of the conversation.
    Done {
        summary: String,
        tokens_before: u64,
        tokens_after: u64,
    },
    /// The summary is made and waits for the person's word.
    Drafted,
    /// There was nothing to summarise, or somebody refused.
    Refused {
        message: String,
    },
    /// No summary was stored; the conversation is as it was.
    Failed {
        message: String,
    },
    Interrupted,
}

//! The state of a session.

use crate::{ModelInfo, PermissionMode};
use osier_agent::QueueMode;
use osier_llm::{ThinkingLevel, Usage};
use serde::{Deserialize, Serialize};

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The model for the next request.
    pub model: ModelInfo,
    /// The selected thinking level. The model may not support it; see its `thinkingLevels`.
    pub thinking_level: ThinkingLevel,
    /// A run or a change of the conversation is in progress.
    pub is_streaming: bool,
    pub is_compacting: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub auto_compaction_enabled: bool,
    pub auto_retry_enabled: bool,
    /// Not set when no session is open.
    pub session_id: Option<String>,
    /// Not set for a session that is not stored.
    pub session_file: Option<String>,
    pub session_name: Option<String>,
    /// Number of messages of the current branch.
    pub message_count: usize,
    /// Number of queued messages.
    pub pending_message_count: usize,
    /// Tokens of every call, on all branches.
    pub token_usage: Usage,
    /// Cost of the same calls in US dollars.
    pub cost: f64,
    pub permissions: PermissionMode,
    /// The working directory.
    pub cwd: String,
    /// Why the last run failed.
    pub error: Option<String>,
}

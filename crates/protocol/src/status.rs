//! The state of a session.

use crate::{ModelInfo, PermissionMode};
use osier_agent::QueueMode;
use osier_llm::{ThinkingLevel, Usage};
use serde::{Deserialize, Serialize};

/// How a host and its session stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The model of the next request.
    pub model: ModelInfo,
    /// The level that was asked for; the model's `thinkingLevels` say what it makes of it.
    pub thinking_level: ThinkingLevel,
    /// A run is on, or a change of the conversation.
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
    /// Messages of the current branch.
    pub message_count: usize,
    /// Messages that wait in the queues.
    pub pending_message_count: usize,
    /// Tokens of every call, on all branches.
    pub token_usage: Usage,
    /// US dollars, of the same calls.
    pub cost: f64,
    pub permissions: PermissionMode,
    /// Where the tools work.
    pub cwd: String,
    /// Why the last run failed.
    pub error: Option<String>,
}

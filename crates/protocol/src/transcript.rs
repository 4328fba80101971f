//! Pages of the transcript and search in it.

use osier_agent::AgentMessage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which messages of the current branch a page contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "at", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PageAt {
    /// The first messages.
    Start,
    /// The last messages.
    End,
    /// The messages before this entry.
    Before { entry_id: String },
    /// The messages after this entry.
    After { entry_id: String },
    /// This entry and the messages before and after it.
    Around { entry_id: String },
    /// The prompts after this entry, or the first ones, and no other messages.
    Prompts { after: Option<String> },
    /// The nearest landmark before this entry and the messages after it. Empty when there is none.
    LandmarkBefore {
        entry_id: String,
        landmark: Landmark,
    },
    /// The nearest landmark after this entry and the messages after it. Empty when there is none.
    LandmarkAfter {
        entry_id: String,
        landmark: Landmark,
    },
}

/// A kind of message to jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Landmark {
    /// A prompt.
    Prompt,
    /// A tool call, or a shell command of the user.
    Call,
    /// A failed tool call, or an error message.
    Error,
    /// A tool call that changed files and has a diff.
    Edit,
}

/// A message with the id of its entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage {
    pub entry_id: String,
    #[serde(flatten)]
    pub message: Arc<AgentMessage>,
}

/// A message that contains the searched text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    pub entry_id: String,
    /// The first match with the text around it, not sanitized.
    pub excerpt: String,
    /// How often the message contains the text.
    #[serde(default)]
    pub count: usize,
}

//! Pages of the transcript and search in it.

use osier_agent::AgentMessage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which messages of the current branch a page holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "at", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PageAt {
    /// The first ones.
    Start,
    /// The last ones.
    End,
    /// Those before this entry.
    Before { entry_id: String },
    /// Those after this entry.
    After { entry_id: String },
    /// This entry and those on both sides of it.
    Around { entry_id: String },
    /// The nearest landmark before this entry and what follows it; nothing when there is none.
    LandmarkBefore {
        entry_id: String,
        landmark: Landmark,
    },
    /// The nearest landmark after this entry and what follows it; nothing when there is none.
    LandmarkAfter {
        entry_id: String,
        landmark: Landmark,
    },
}

/// What a reader jumps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Landmark {
    /// What the person said.
    Prompt,
    /// A call of a tool, or a command of the person.
    Call,
    /// A call that did not succeed, or an error that was told.
    Error,
    /// A call that changed files and says how.
    Edit,
}

/// A message and the entry it stands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoredMessage {
    pub entry_id: String,
    #[serde(flatten)]
    pub message: Arc<AgentMessage>,
}

/// A message that holds what was sought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    pub entry_id: String,
    /// The first match with what stands around it, as it was written: it may hold anything.
    pub excerpt: String,
}

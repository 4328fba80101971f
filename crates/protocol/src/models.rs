//! Models in lists.

use osier_llm::{Modality, Price, ThinkingLevel};
use serde::{Deserialize, Serialize};

/// A model, for lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub provider: String,
    pub id: String,
    pub name: String,
    pub context_window: u64,
    pub max_tokens: u64,
    pub thinking_levels: Vec<ThinkingLevel>,
    pub input: Vec<Modality>,
    pub price: Price,
    pub key: KeyState,
    /// Seconds that its provider keeps a cached conversation, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_seconds: Option<u64>,
    /// Whether cycling through the models includes it.
    pub in_cycle: bool,
    /// Whether lists show it first.
    #[serde(default)]
    pub favourite: bool,
    /// Output tokens a second in the answers of stored sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u64>,
}

/// Whether a model can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    Present,
    Absent,
    NotNeeded,
}

impl ModelInfo {
    /// `PROVIDER/ID`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

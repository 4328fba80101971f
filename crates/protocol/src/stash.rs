//! Stashed prompts.

use osier_agent::Attachment;
use serde::{Deserialize, Serialize};

/// A part of a prompt, as the editor has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptPart {
    Text {
        text: String,
    },
    /// A long paste, shown by its label.
    Paste {
        label: String,
        text: String,
    },
    /// A file that goes along with the prompt.
    File {
        file: Attachment,
    },
}

/// A prompt that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stashed {
    pub id: String,
    pub text: String,
    /// What it is made of, where that is more than its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PromptPart>,
    /// Where it was written.
    pub cwd: String,
    /// When, in milliseconds since the Unix epoch.
    pub created: i64,
}

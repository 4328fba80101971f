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
    /// An attached file.
    File {
        file: Attachment,
    },
}

/// A stashed prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Stashed {
    pub id: String,
    pub text: String,
    /// The parts of the prompt, if it contains more than text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PromptPart>,
    /// The working directory in which it was stashed.
    pub cwd: String,
    /// Milliseconds since the Unix epoch.
    pub created: i64,
}

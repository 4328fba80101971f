//! Instructions, skills and templates in the context.

use serde::{Deserialize, Serialize};

/// A part of the context with its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextPart {
    pub kind: PartKind,
    pub name: String,
    pub description: String,
    pub path: String,
    /// Estimated tokens in every request; 0 for parts that are sent only when they are called.
    pub tokens: u64,
    /// Estimated tokens when it is called.
    pub call_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    File,
    Skill,
    Template,
}

/// A slash command of a skill, a template or a plugin, or of osier itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AddedCommand {
    /// The name without the slash.
    pub name: String,
    /// Other names of the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// A hint about the argument; may be empty.
    pub argument: String,
    pub description: String,
    /// The source: `skill`, `prompt`, `osier`, or the name of a plugin.
    pub origin: String,
    /// Argument values for completion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

//! Lines and keys that plugins add to the screen.

use serde::{Deserialize, Serialize};

/// A styled part of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StyledSpan {
    pub text: String,
    /// A name in the list of styles; `text` when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub style: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bold: bool,
}

pub type StyledLine = Vec<StyledSpan>;

/// A key binding of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PluginKey {
    /// As in a keymap: `alt+j t`.
    pub keys: String,
    pub description: String,
    pub plugin: String,
}

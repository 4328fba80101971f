//! The map of a project: its files and symbols.

use serde::{Deserialize, Serialize};

/// The most important files of a project, the most important one first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectMap {
    pub files: Vec<MappedFile>,
    /// Notices about files that the map omits, each as a sentence.
    pub notices: Vec<String>,
}

/// A file of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MappedFile {
    /// Relative to the working directory.
    pub path: String,
    /// The most used symbols of the file, in the order of their lines.
    pub symbols: Vec<MappedSymbol>,
    /// Symbols that are not shown.
    pub more: usize,
}

/// A symbol of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MappedSymbol {
    pub name: String,
    /// The kind of symbol, such as `function` or `class`.
    pub kind: String,
    /// From 1.
    pub line: u32,
    /// The line of code, without control characters.
    pub code: String,
}

/// A symbol of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProjectSymbol {
    pub name: String,
    /// The kind of symbol, such as `function` or `class`.
    pub kind: String,
    /// Relative to the working directory.
    pub path: String,
    /// From 1.
    pub line: u32,
}

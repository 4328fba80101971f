//! The usage of the context window, by part.

use serde::{Deserialize, Serialize};

/// The use of the context window. Tokens are estimated from the length of texts, except for `used`, which the
/// provider has counted if it reports usage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// `PROVIDER/ID`.
    pub model: String,
    pub window: u64,
    /// Tokens reserved for output.
    pub reserve: u64,
    /// Tokens in use.
    pub used: u64,
    /// In the order of the request.
    pub parts: Vec<WindowPart>,
    /// Number of messages and tokens that a compaction would replace.
    pub goes: (usize, u64),
    /// Number of messages and tokens that would stay after a compaction.
    pub stays: (usize, u64),
    /// The largest messages: the start of each text, and its tokens.
    pub largest: Vec<(String, u64)>,
    /// Number of results of tools that requests leave out because the model no longer needs them, and their tokens.
    #[serde(default)]
    pub dropped: (usize, u64),
    /// The number and tokens of results that can be left out when that saves money.
    #[serde(default)]
    pub droppable: (usize, u64),
    /// When the provider's cache of the conversation expires, in milliseconds since the Unix epoch; not set if it is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_until: Option<i64>,
    /// Whether automatic compaction is on.
    pub automatic: bool,
}

/// One kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WindowPart {
    pub kind: WindowPartKind,
    /// Number of items of this kind.
    pub count: usize,
    pub tokens: u64,
    /// Tokens of it that a compaction would replace.
    pub goes: u64,
}

/// The kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WindowPartKind {
    System,
    Tools,
    Summaries,
    Prompts,
    /// Documents and images attached to prompts.
    Files,
    Answers,
    Thinking,
    ToolCalls,
    ToolResults,
    Shell,
}

impl WindowPartKind {
    /// Every kind, in the order they are shown.
    pub const ALL: [Self; 10] = [
        Self::System,
        Self::Tools,
        Self::Summaries,
        Self::Prompts,
        Self::Files,
        Self::Answers,
        Self::Thinking,
        Self::ToolCalls,
        Self::ToolResults,
        Self::Shell,
    ];

    /// The name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system prompt",
            Self::Tools => "tools",
            Self::Summaries => "summaries",
            Self::Prompts => "prompts",
            Self::Files => "files",
            Self::Answers => "answers",
            Self::Thinking => "thinking",
            Self::ToolCalls => "tool calls",
            Self::ToolResults => "tool results",
            Self::Shell => "notes and commands",
        }
    }
}

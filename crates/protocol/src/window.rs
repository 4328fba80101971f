//! What fills the context window.

use serde::{Deserialize, Serialize};

/// The picture. Counts are guesses from letters; `used` is what the provider has counted, where it has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// `PROVIDER/ID`.
    pub model: String,
    pub window: u64,
    /// Tokens kept free.
    pub reserve: u64,
    /// Tokens in use.
    pub used: u64,
    /// From the front of the window to its end.
    pub parts: Vec<WindowPart>,
    /// Messages and tokens that a compaction would replace, and that would stay.
    pub goes: (usize, u64),
    pub stays: (usize, u64),
    /// The largest messages: how they begin, and their tokens.
    pub largest: Vec<(String, u64)>,
    /// Whether a full window is compacted without being asked.
    pub automatic: bool,
}

/// One kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WindowPart {
    pub kind: WindowPartKind,
    /// Things of this kind.
    pub count: usize,
    pub tokens: u64,
    /// Tokens of it that would go.
    pub goes: u64,
}

/// What a part of a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WindowPartKind {
    System,
    Tools,
    Summaries,
    Prompts,
    /// Documents and images given along with prompts.
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

    /// The word for people.
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
            Self::Shell => "your commands",
        }
    }
}

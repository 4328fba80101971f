//! What fills a window, and what would go and stay if it were compacted now.

use serde::{Deserialize, Serialize};

use super::estimate::{context_tokens, message_tokens, text_tokens, tool_tokens};
use super::plan::{Limits, cut};
use osier_agent::AgentMessage;
use osier_llm::{AssistantBlock, Model, ToolSpec};
use osier_store::ContextEntry;

/// Entries named as the largest.
const LARGEST: usize = 5;

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
    pub parts: Vec<ContextPart>,
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
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WindowPart")
)]
#[serde(rename_all = "camelCase")]
pub struct ContextPart {
    pub kind: PartKind,
    /// Things of this kind.
    pub count: usize,
    pub tokens: u64,
    /// Tokens of it that would go.
    pub goes: u64,
}

/// What a part of a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WindowPartKind")
)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
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

impl PartKind {
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

/// The picture of a conversation with `model`.
pub fn report(
    model: &Model,
    system_prompt: &str,
    tools: &[ToolSpec],
    entries: &[ContextEntry],
    automatic: bool,
) -> ContextReport {
    let limits = Limits::of(model);
    let mut counts = [(0, 0, 0); PartKind::ALL.len()];
    let mut add = |kind: PartKind, tokens: u64, goes: bool| {
        if tokens > 0 {
            let (count, all, going) = &mut counts[kind as usize];
            *count += 1;
            *all += tokens;
            *going += if goes { tokens } else { 0 };
        }
    };
    add(PartKind::System, text_tokens(system_prompt), false);
    for tool in tools {
        add(PartKind::Tools, tool_tokens(tool), false);
    }
    let place = cut(entries, &limits, limits.keep).unwrap_or(0);
    for (number, entry) in entries.iter().enumerate() {
        parts(&entry.message, &mut |kind, tokens| {
            add(kind, tokens, number < place);
        });
    }
    let tokens = |entries: &[ContextEntry]| {
        let sum = entries.iter().map(|entry| message_tokens(&entry.message));
        (entries.len(), sum.sum())
    };
    let overhead = counts[0].1 + counts[1].1;
    let messages: Vec<&AgentMessage> = entries.iter().map(|entry| &entry.message).collect();
    let parts = PartKind::ALL.into_iter().map(|kind| {
        let (count, tokens, goes) = counts[kind as usize];
        ContextPart {
            kind,
            count,
            tokens,
            goes,
        }
    });
    ContextReport {
        model: model.reference(),
        window: limits.window,
        reserve: limits.reserve,
        used: context_tokens(&messages, overhead),
        parts: parts.filter(|part| part.count > 0).collect(),
        goes: tokens(&entries[..place]),
        stays: tokens(&entries[place..]),
        largest: largest(entries),
        automatic,
    }
}

/// What a message is made of.
fn parts(message: &AgentMessage, add: &mut dyn FnMut(PartKind, u64)) {
    match message {
        AgentMessage::User(user) => {
            let prompt = text_tokens(&user.text);
            add(PartKind::Prompts, prompt);
            let rest = message_tokens(message).saturating_sub(prompt);
            if !user.attachments.is_empty() {
                add(PartKind::Files, rest);
            }
        }
        AgentMessage::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    AssistantBlock::Text { text, .. } => add(PartKind::Answers, text_tokens(text)),
                    AssistantBlock::Thinking { thinking, .. } => {
                        add(PartKind::Thinking, text_tokens(thinking));
                    }
                    AssistantBlock::ToolCall(call) => {
                        let arguments = call.arguments.to_string();
                        add(PartKind::ToolCalls, text_tokens(&arguments) + 4);
                    }
                }
            }
        }
        AgentMessage::ToolResult(_) => add(PartKind::ToolResults, message_tokens(message)),
        AgentMessage::CompactionSummary(_) | AgentMessage::BranchSummary(_) => {
            add(PartKind::Summaries, message_tokens(message));
        }
        _ => add(PartKind::Shell, message_tokens(message)),
    }
}

fn largest(entries: &[ContextEntry]) -> Vec<(String, u64)> {
    let mut sizes: Vec<(u64, usize)> = entries
        .iter()
        .enumerate()
        .map(|(place, entry)| (message_tokens(&entry.message), place))
        .collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let named = sizes.into_iter().take(LARGEST).map(|(tokens, place)| {
        let message = &entries[place].message;
        let text = match message {
            AgentMessage::ToolResult(result) => {
                format!("{}: {}", result.result.tool_name, message.text())
            }
            AgentMessage::Assistant(answer) if message.text().trim().is_empty() => {
                let names = answer.content.iter().filter_map(|block| match block {
                    AssistantBlock::ToolCall(call) => Some(call.name.as_str()),
                    _ => None,
                });
                format!("calls {}", names.collect::<Vec<_>>().join(", "))
            }
            message => message.text(),
        };
        (osier_base::text::head_bytes(&text, 120).to_owned(), tokens)
    });
    named.filter(|(_, tokens)| *tokens > 0).collect()
}

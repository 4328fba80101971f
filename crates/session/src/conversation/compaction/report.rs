//! The report of `/context`: the parts of the context window, and the messages that a compaction would summarise now.

use osier_base::sort;
use osier_protocol::{ContextReport, WindowPart, WindowPartKind};

use super::CompactionOptions;
use super::dropping::superseded;
use super::estimate::{context_tokens, message_tokens, text_tokens, tool_tokens};
use super::plan::{Limits, cut_at_once};
use osier_agent::AgentMessage;
use osier_llm::{AssistantBlock, Model, ToolSpec};
use osier_store::ContextEntry;

/// The number of largest entries.
const LARGEST: usize = 5;
/// Bytes of a token of text.
const TOKEN_BYTES: u64 = 4;

/// The report for a conversation with `model`.
pub(crate) fn report(
    model: &Model,
    system_prompt: &str,
    tools: &[ToolSpec],
    entries: &[ContextEntry],
    options: &CompactionOptions,
) -> ContextReport {
    let limits = Limits::of(model);
    let mut counts = [(0, 0, 0); WindowPartKind::ALL.len()];
    let mut add = |kind: WindowPartKind, tokens: u64, goes: bool| {
        if tokens > 0 {
            let (count, all, going) = &mut counts[kind as usize];
            *count += 1;
            *all += tokens;
            *going += if goes { tokens } else { 0 };
        }
    };
    add(WindowPartKind::System, text_tokens(system_prompt), false);
    for tool in tools {
        add(WindowPartKind::Tools, tool_tokens(tool), false);
    }
    let place = cut_at_once(entries, &limits).unwrap_or(0);
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
    let parts = WindowPartKind::ALL.into_iter().map(|kind| {
        let (count, tokens, goes) = counts[kind as usize];
        WindowPart {
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
        dropped: dropped(entries),
        droppable: droppable(&messages, options),
        cache_until: cache_until(&messages, model, options),
        automatic: options.automatic,
    }
}

/// The results that requests leave out already.
fn dropped(entries: &[ContextEntry]) -> (usize, u64) {
    let sizes = entries.iter().map(|entry| entry.left_out as u64);
    let sizes: Vec<u64> = sizes.filter(|size| *size > 0).collect();
    (sizes.len(), sizes.iter().sum::<u64>() / TOKEN_BYTES)
}

/// The results that requests can leave out.
fn droppable(messages: &[&AgentMessage], options: &CompactionOptions) -> (usize, u64) {
    if !options.drops_results {
        return (0, 0);
    }
    let found = superseded(messages);
    (found.len(), found.iter().map(|one| one.tokens).sum())
}

/// When the cache of the conversation expires.
fn cache_until(
    messages: &[&AgentMessage],
    model: &Model,
    options: &CompactionOptions,
) -> Option<i64> {
    let lifetime = model.cache_lifetime(options.cache_retention)?;
    let last = messages.iter().rev().find_map(|message| match message {
        AgentMessage::Assistant(answer) => Some(answer),
        _ => None,
    })?;
    let is_same = last.provider == model.provider && last.model == model.id;
    let ended = last.timestamp.saturating_add_unsigned(last.duration_ms);
    let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
    is_same.then(|| ended.saturating_add(lifetime))
}

/// The category of a message.
fn parts(message: &AgentMessage, add: &mut dyn FnMut(WindowPartKind, u64)) {
    match message {
        AgentMessage::User(user) => {
            let prompt = text_tokens(&user.text);
            add(WindowPartKind::Prompts, prompt);
            let rest = message_tokens(message).saturating_sub(prompt);
            if !user.attachments.is_empty() {
                add(WindowPartKind::Files, rest);
            }
        }
        AgentMessage::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    AssistantBlock::Text { text, .. } => {
                        add(WindowPartKind::Answers, text_tokens(text));
                    }
                    AssistantBlock::Thinking { thinking, .. } => {
                        add(WindowPartKind::Thinking, text_tokens(thinking));
                    }
                    AssistantBlock::ToolCall(call) => {
                        let arguments = call.arguments.to_string();
                        add(WindowPartKind::ToolCalls, text_tokens(&arguments) + 4);
                    }
                }
            }
        }
        AgentMessage::ToolResult(_) => add(WindowPartKind::ToolResults, message_tokens(message)),
        AgentMessage::CompactionSummary(_) | AgentMessage::BranchSummary(_) => {
            add(WindowPartKind::Summaries, message_tokens(message));
        }
        _ => add(WindowPartKind::Shell, message_tokens(message)),
    }
}

fn largest(entries: &[ContextEntry]) -> Vec<(String, u64)> {
    let mut sizes: Vec<(u64, usize)> = entries
        .iter()
        .enumerate()
        .map(|(place, entry)| (message_tokens(&entry.message), place))
        .collect();
    sort::by(&mut sizes, |one, other| other.cmp(one));
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

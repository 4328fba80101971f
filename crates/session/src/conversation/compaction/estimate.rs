//! Estimates of token counts: the counts of the provider where there are any, otherwise from the length of the text.

use std::borrow::Borrow;

use osier_agent::{AgentMessage, convert_to_llm};
use osier_llm::{AssistantBlock, ContentBlock, Context, Message, StopReason, ToolSpec};

/// Tokens of an image, whatever its size.
const IMAGE: u64 = 1_200;
/// Characters of the base64 of a recording or document that are a token.
const FILE_BYTES: u64 = 64;
/// Overhead of every message.
const ENVELOPE: u64 = 4;

/// Tokens of `text`: one for four ASCII characters, two for three others.
pub(crate) fn text_tokens(text: &str) -> u64 {
    let others = text.chars().filter(|letter| !letter.is_ascii()).count() as u64;
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    ascii.div_ceil(4) + (others * 2).div_ceil(3)
}

/// Tokens of a message as it is sent to a model; 0 if it is not sent.
pub(crate) fn message_tokens(message: &AgentMessage) -> u64 {
    let sent = convert_to_llm(std::iter::once(message));
    sent.iter().map(sent_tokens).sum()
}

fn sent_tokens(message: &Message) -> u64 {
    let content = match message {
        Message::User(message) => blocks(&message.content),
        Message::ToolResult(result) => blocks(&result.content),
        Message::Assistant(answer) => answer.content.iter().map(block).sum(),
    };
    content + ENVELOPE
}

fn blocks(content: &[ContentBlock]) -> u64 {
    let tokens = content.iter().map(|block| match block {
        ContentBlock::Text { text } => text_tokens(text),
        ContentBlock::Image { .. } => IMAGE,
        // A model gets the file or its text.
        ContentBlock::File { data, text, .. } => {
            text_tokens(text).max(data.len() as u64 / FILE_BYTES)
        }
    });
    tokens.sum()
}

fn block(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text { text, .. } => text_tokens(text),
        AssistantBlock::Thinking { thinking, .. } => text_tokens(thinking),
        AssistantBlock::ToolCall(call) => {
            text_tokens(&call.name) + text_tokens(&call.arguments.to_string())
        }
    }
}

/// Tokens of a tool's definition.
pub(super) fn tool_tokens(tool: &ToolSpec) -> u64 {
    let parameters = tool.parameters.to_string();
    text_tokens(&tool.name) + text_tokens(&tool.description) + text_tokens(&parameters)
}

/// Tokens of the input of a call.
pub fn input_tokens(context: &Context) -> u64 {
    let tools = context.tools.iter().map(tool_tokens);
    let messages = context.messages.iter().map(sent_tokens);
    text_tokens(&context.system_prompt) + tools.chain(messages).sum::<u64>()
}

/// Tokens of a conversation after `overhead` (system prompt and tools): the provider's count of the last answer plus
/// an estimate of what follows, or an estimate of everything. Counts from before a summary are ignored.
pub(crate) fn context_tokens<M: Borrow<AgentMessage>>(messages: &[M], overhead: u64) -> u64 {
    let summarized = messages.iter().find_map(|message| match message.borrow() {
        AgentMessage::CompactionSummary(summary) => Some(summary.timestamp),
        _ => None,
    });
    let counted = messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(place, message)| {
            let AgentMessage::Assistant(answer) = message.borrow() else {
                return None;
            };
            let whole = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            let fresh = summarized.is_none_or(|since| answer.timestamp > since);
            let tokens = answer.usage.total_tokens();
            (whole && fresh && tokens > 0).then_some((place, tokens))
        });
    let (start, known) = match counted {
        Some((place, tokens)) => (place + 1, tokens),
        None => (0, overhead),
    };
    let rest = messages[start..].iter();
    known
        + rest
            .map(|message| message_tokens(message.borrow()))
            .sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{Summary, UserMessage};
    use osier_llm::{AssistantMessage, Usage};

    fn answer(timestamp: i64, input: u64) -> AgentMessage {
        AgentMessage::Assistant(AssistantMessage {
            timestamp,
            stop_reason: StopReason::Stop,
            usage: Usage {
                input,
                ..Usage::default()
            },
            ..AssistantMessage::default()
        })
    }

    #[test]
    fn provider_count_is_used_unless_a_summary_follows() {
        let user = AgentMessage::User(UserMessage::new("12345678", 0));
        let messages = [user.clone(), answer(10, 5_000), user.clone()];
        assert_eq!(context_tokens(&messages, 100), 5_000 + 2 + ENVELOPE);
        let summary = AgentMessage::CompactionSummary(Summary {
            summary: String::new(),
            timestamp: 20,
            ..Summary::default()
        });
        let compacted = [summary.clone(), answer(10, 5_000), user.clone()];
        assert!(context_tokens(&compacted, 100) < 200);
        let later = [summary, answer(10, 5_000), user.clone(), answer(30, 700)];
        assert_eq!(context_tokens(&later, 100), 700);
        assert_eq!(context_tokens(&[user], 100), 100 + 2 + ENVELOPE);
    }

    #[test]
    fn other_scripts_have_more_tokens_than_ascii() {
        assert_eq!(text_tokens("abcdefgh"), 2);
        assert_eq!(text_tokens("漢字漢字漢字"), 4);
        assert_eq!(text_tokens(""), 0);
    }
}

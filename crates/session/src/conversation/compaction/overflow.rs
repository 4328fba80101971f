//! The advice after a conversation that does not fit the context window, although compaction made what room it could.

use osier_agent::AgentMessage;
use osier_base::text::single_line;
use osier_base::visible;

use super::estimate::message_tokens;

/// Says that compaction was tried, what is too large, and what to do. `messages` is the conversation that was sent, and
/// `window` the context window of the model with this name, in tokens.
pub(crate) fn advice(
    messages: &[AgentMessage],
    (name, window): (&str, u64),
    is_automatic: bool,
) -> String {
    let name = single_line(name);
    let tried = if is_automatic {
        format!("compaction was tried, and the conversation still does not fit `{name}`")
    } else {
        format!("the conversation does not fit `{name}`, and automatic compaction is off")
    };
    let size = (window > 0).then(|| format!(" ({} tokens)", grouped(window)));
    let sizes = messages
        .iter()
        .map(|message| (message_tokens(message), message));
    let total: u64 = messages.iter().map(message_tokens).sum();
    let largest = sizes.max_by_key(|(tokens, _)| *tokens);
    let (cause, way) = match largest {
        // The rest is what no compaction can shorten.
        Some((tokens, _)) if total < window / 2 && tokens < window / 4 => (
            format!(
                "the messages are only about {} tokens: the system prompt and the tools are too large",
                grouped(total)
            ),
            "offer fewer tools with `--tools`, disable MCP servers, or shorten the instructions",
        ),
        Some((tokens, message)) => (
            format!(
                "the largest part is {}, about {} tokens",
                part(message),
                grouped(tokens)
            ),
            "go back before it with `/undo` and ask for a smaller part",
        ),
        None => (
            "the system prompt and the tools are too large".to_owned(),
            "offer fewer tools with `--tools`, or shorten the instructions",
        ),
    };
    let compact = if is_automatic { "" } else { "run `/compact`, " };
    format!(
        "{tried}{}; {cause}; {compact}{way}, or select a model with a larger context window",
        size.unwrap_or_default()
    )
}

fn grouped(tokens: u64) -> String {
    visible::grouped(usize::try_from(tokens).unwrap_or(usize::MAX))
}

fn part(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(_) => "a prompt with its files".to_owned(),
        AgentMessage::Assistant(_) => "an answer".to_owned(),
        AgentMessage::ToolResult(result) => {
            format!("a result of `{}`", single_line(&result.result.tool_name))
        }
        AgentMessage::CompactionSummary(_) => "the summary".to_owned(),
        _ => "a message of osier".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::UserMessage;

    #[test]
    fn advice_names_the_largest_part_and_the_next_step() {
        let model = ("p/m", 8_000);
        let prompt = |bytes: usize| AgentMessage::User(UserMessage::new("x".repeat(bytes), 0));
        assert_eq!(
            advice(&[prompt(8), prompt(40_000)], model, true),
            "compaction was tried, and the conversation still does not fit `p/m` (8,000 tokens); the largest part is a \
             prompt with its files, about 10,004 tokens; go back before it with `/undo` and ask for a smaller part, or \
             select a model with a larger context window"
        );
        assert_eq!(
            advice(&[prompt(8)], model, false),
            "the conversation does not fit `p/m`, and automatic compaction is off (8,000 tokens); the messages are only \
             about 6 tokens: the system prompt and the tools are too large; run `/compact`, offer fewer tools with \
             `--tools`, disable MCP servers, or shorten the instructions, or select a model with a larger context window"
        );
    }
}

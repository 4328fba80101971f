//! A conversation as text, for the model that summarises it.

use osier_agent::{AgentMessage, convert_to_llm};
use osier_base::text::{head_bytes, tail_bytes};
use osier_llm::{AssistantBlock, ContentBlock, Message};

use super::estimate::text_tokens;

/// The maximum bytes of a tool's result.
const RESULT: usize = 2_000;

/// A message as text, without thinking and with shortened results; may be empty.
pub(super) fn message_text(message: &AgentMessage) -> String {
    if super::reopened::is_one(message) {
        // The summary names the files, and the model gets them again.
        return String::new();
    }
    let sent = convert_to_llm(std::iter::once(message));
    sent.iter().map(sent_text).collect::<Vec<_>>().join("\n\n")
}

fn sent_text(message: &Message) -> String {
    match message {
        Message::User(message) => format!("[User]: {}", blocks(&message.content, usize::MAX)),
        Message::ToolResult(result) => format!(
            "[Tool result{}]: {}",
            if result.is_error { ", failed" } else { "" },
            blocks(&result.content, RESULT)
        ),
        Message::Assistant(answer) => {
            let mut parts = Vec::new();
            let text = answer.text();
            if !text.trim().is_empty() {
                parts.push(format!("[Assistant]: {}", text.trim()));
            }
            for block in &answer.content {
                if let AssistantBlock::ToolCall(call) = block {
                    let arguments = call.arguments.to_string();
                    let arguments = shortened(&arguments, RESULT);
                    parts.push(format!("[Assistant calls]: {}({arguments})", call.name));
                }
            }
            parts.join("\n")
        }
    }
}

fn blocks(content: &[ContentBlock], limit: usize) -> String {
    let texts = content.iter().map(|block| match block {
        ContentBlock::Text { text } => shortened(text, limit),
        ContentBlock::Image { .. } => "[an image]".to_owned(),
        file @ ContentBlock::File { .. } => file.description().into_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The start and the end of a long text.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let half = limit / 2;
    let (head, tail) = (head_bytes(text, half), tail_bytes(text, half));
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes omitted …]\n{tail}")
}

/// The texts joined to chunks of at most `tokens`, in order. A longer text is shortened.
pub(super) fn pieces(texts: impl IntoIterator<Item = String>, tokens: u64) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut used = 0;
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        let mut text = text;
        let mut size = text_tokens(&text);
        let mut limit = text.len();
        while size > tokens && limit > 64 {
            limit = limit * 3 / 4;
            text = shortened(&text, limit);
            size = text_tokens(&text);
        }
        match pieces.last_mut() {
            Some(piece) if used + size <= tokens => {
                piece.push_str("\n\n");
                piece.push_str(&text);
                used += size + 1;
            }
            _ => {
                pieces.push(text);
                used = size;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_joined_to_chunks_and_shortened() {
        let texts = ["a".repeat(40), "b".repeat(40), "c".repeat(4_000)];
        let pieces = pieces(texts, 100);
        assert_eq!(pieces.len(), 2);
        assert_eq!(
            pieces[0],
            format!("{}\n\n{}", "a".repeat(40), "b".repeat(40))
        );
        assert!(text_tokens(&pieces[1]) <= 100, "{}", pieces[1]);
        assert!(pieces[1].contains("bytes omitted"));
        assert_eq!(super::pieces([String::new()], 10), Vec::<String>::new());
    }
}

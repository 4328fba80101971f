//! How long an answer may be: a limit that the window no longer holds is refused by many servers, and
//! no limit at all means a small one on others.

use crate::message::{AssistantBlock, ContentBlock, Message};
use crate::provider::Request;

/// Tokens asked for at least, however full the window looks.
const LEAST: u64 = 1024;
/// What an image costs, about, on the vendors that say so.
const IMAGE_TOKENS: u64 = 1600;

/// The output limit to ask for: what the caller wants, else what the model has and the window still
/// holds. The prompt is counted at three bytes a token, which overstates it.
pub(crate) fn output_limit(request: &Request) -> u64 {
    let model = &request.model;
    if let Some(limit) = request.options.max_tokens {
        return limit.min(model.max_tokens);
    }
    let room = model.context_window.saturating_sub(prompt_tokens(request));
    model.max_tokens.min(room.max(LEAST))
}

/// An upper estimate of what the model reads, in tokens.
pub(crate) fn prompt_tokens(request: &Request) -> u64 {
    let context = &request.context;
    let tools = context.tools.iter();
    let tool_bytes: usize = tools.map(|tool| tool.description.len() + 400).sum();
    let mut total = Weight {
        bytes: context.system_prompt.len() + tool_bytes,
        images: 0,
    };
    for message in &context.messages {
        total.add_message(message);
    }
    total.bytes as u64 / 3 + total.images * IMAGE_TOKENS
}

struct Weight {
    bytes: usize,
    images: u64,
}

impl Weight {
    fn add_message(&mut self, message: &Message) {
        match message {
            Message::User(user) => self.add_blocks(&user.content),
            Message::ToolResult(result) => self.add_blocks(&result.content),
            Message::Assistant(answer) => {
                for block in &answer.content {
                    self.bytes += match block {
                        AssistantBlock::Text { text, .. } => text.len(),
                        AssistantBlock::Thinking { thinking, .. } => thinking.len(),
                        AssistantBlock::ToolCall(call) => call.arguments.to_string().len(),
                    };
                }
            }
        }
    }

    fn add_blocks(&mut self, blocks: &[ContentBlock]) {
        for block in blocks {
            match block {
                ContentBlock::Text { text } => self.bytes += text.len(),
                ContentBlock::Image { .. } => self.images += 1,
            }
        }
    }
}

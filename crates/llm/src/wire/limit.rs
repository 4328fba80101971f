//! The output limit of requests: many servers reject a limit that exceeds the context window, and others have
//! a low default.

use crate::message::{AssistantBlock, ContentBlock, Message};
use crate::provider::Request;

/// Minimum output limit, also for a full context window.
const MIN_OUTPUT: u64 = 1024;
/// Approximate tokens of an image.
const IMAGE_TOKENS: u64 = 1600;

/// Number of base64 characters of a recording or document that count as one byte of text.
const FILE_BYTES: usize = 16;

/// The output limit of a request: that of the caller or the model, limited to the remaining context
/// window. The prompt is estimated at three bytes per token, so the estimate is too high rather
/// than too low.
pub(crate) fn output_limit(request: &Request) -> u64 {
    let model = &request.model;
    if let Some(limit) = request.options.max_tokens {
        return limit.min(model.max_tokens);
    }
    let room = model.context_window.saturating_sub(prompt_tokens(request));
    model.max_tokens.min(room.max(MIN_OUTPUT))
}

/// An upper estimate of the prompt in tokens.
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
                ContentBlock::File { data, text, .. } => {
                    self.bytes += text.len().max(data.len() / FILE_BYTES);
                }
            }
        }
    }
}

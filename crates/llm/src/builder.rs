//! Builds an `AssistantMessage` from the deltas of a call. The partial message is available at every moment
//! and survives an interrupt.

use super::event::{Delta, StreamEvent};
use super::message::{AssistantBlock, AssistantMessage, StopReason, ToolCall};
use super::model::Model;
use super::status::TurnStatus;

/// Builds the message of one call.
///
/// ```
/// use osier_llm::{Catalogue, Delta, MessageBuilder, StreamEvent};
///
/// let catalogue = Catalogue::default();
/// let model = catalogue.get("demo/tour").expect("the model is bundled");
/// let mut builder = MessageBuilder::new(model, 0);
/// builder.apply(&StreamEvent::Delta(Delta::TextStart { index: 0 }));
/// builder.apply(&StreamEvent::Delta(Delta::TextDelta {
///     index: 0,
///     delta: "Hello".to_owned(),
/// }));
/// assert_eq!(builder.partial().text(), "Hello");
/// ```
#[derive(Debug, Clone)]
pub struct MessageBuilder {
    message: AssistantMessage,
    /// The arguments of incomplete calls as raw text, by block index.
    open_arguments: Vec<(usize, String)>,
}

impl MessageBuilder {
    /// An empty answer of `model`; `timestamp` is in milliseconds since the Unix epoch.
    pub fn new(model: &Model, timestamp: i64) -> Self {
        let message = AssistantMessage {
            provider: model.provider.clone(),
            model: model.id.clone(),
            api: model.api.name().to_owned(),
            timestamp,
            ..AssistantMessage::default()
        };
        Self::resume(message)
    }

    /// Continues from a partial answer without incomplete calls.
    pub fn resume(message: AssistantMessage) -> Self {
        Self {
            message,
            open_arguments: Vec::new(),
        }
    }

    /// The answer so far.
    pub fn partial(&self) -> &AssistantMessage {
        &self.message
    }

    /// Applies one event; returns the call's status when it was the last.
    pub fn apply(&mut self, event: &StreamEvent) -> Option<TurnStatus> {
        match event {
            StreamEvent::Request { prefix_hash, .. } => {
                self.message.prefix_hash.clone_from(prefix_hash);
            }
            StreamEvent::Start { response_id } => self.message.response_id.clone_from(response_id),
            StreamEvent::Delta(delta) => self.apply_delta(delta),
            StreamEvent::Usage(usage) => self.message.usage = *usage,
            StreamEvent::Warning { .. } | StreamEvent::Source { .. } => {}
            StreamEvent::Done { stop_reason, usage } => {
                self.message.usage = *usage;
                self.message.stop_reason = *stop_reason;
                let has_tool_calls = self.message.tool_calls().next().is_some();
                let final_answer = !has_tool_calls && !self.message.text().trim().is_empty();
                return Some(TurnStatus::Success {
                    has_tool_calls,
                    final_answer,
                });
            }
            StreamEvent::Failed { status, usage } => {
                self.message.usage = *usage;
                self.fail(status);
                return Some(status.clone());
            }
        }
        None
    }

    /// Marks the answer as ended by `status`, which is not a success.
    pub fn fail(&mut self, status: &TurnStatus) {
        (self.message.stop_reason, self.message.error_message) = match status {
            TurnStatus::Aborted => (StopReason::Aborted, None),
            status => (StopReason::Error, Some(status.message().to_owned())),
        };
    }

    /// The message. Calls with incomplete arguments are marked.
    pub fn finish(mut self, duration_ms: u64) -> AssistantMessage {
        for (index, raw) in std::mem::take(&mut self.open_arguments) {
            if let Some(AssistantBlock::ToolCall(call)) = self.message.content.get_mut(index) {
                call.arguments_error = Some(raw);
            }
        }
        self.message.duration_ms = duration_ms;
        self.message
    }

    fn apply_delta(&mut self, delta: &Delta) {
        match delta {
            Delta::TextStart { index } => {
                self.insert(
                    *index,
                    AssistantBlock::Text {
                        text: String::new(),
                        signature: None,
                    },
                );
            }
            Delta::ThinkingStart { index } => self.insert(
                *index,
                AssistantBlock::Thinking {
                    thinking: String::new(),
                    signature: None,
                    redacted: false,
                },
            ),
            Delta::ToolcallStart { index, id, name } => {
                let call = ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    ..ToolCall::default()
                };
                self.insert(*index, AssistantBlock::ToolCall(call));
                self.open_arguments.push((*index, String::new()));
            }
            Delta::ToolcallDelta { index, delta } => {
                if let Some((_, raw)) = self.open_arguments.iter_mut().find(|(at, _)| at == index) {
                    raw.push_str(delta);
                }
            }
            _ => self.change(delta),
        }
    }

    fn change(&mut self, delta: &Delta) {
        let (Delta::TextDelta { index, .. }
        | Delta::TextEnd { index, .. }
        | Delta::ThinkingDelta { index, .. }
        | Delta::ThinkingEnd { index, .. }
        | Delta::ToolcallEnd { index, .. }) = delta
        else {
            return;
        };
        let Some(block) = self.message.content.get_mut(*index) else {
            return;
        };
        match (block, delta) {
            (AssistantBlock::Text { text, .. }, Delta::TextDelta { delta, .. })
            | (
                AssistantBlock::Thinking { thinking: text, .. },
                Delta::ThinkingDelta { delta, .. },
            ) => {
                text.push_str(delta);
            }
            (AssistantBlock::Text { signature, .. }, Delta::TextEnd { signature: end, .. }) => {
                signature.clone_from(end);
            }
            (
                AssistantBlock::Thinking {
                    signature,
                    redacted,
                    ..
                },
                Delta::ThinkingEnd {
                    signature: end,
                    redacted: hidden,
                    ..
                },
            ) => {
                signature.clone_from(end);
                *redacted = *hidden;
            }
            (
                AssistantBlock::ToolCall(call),
                Delta::ToolcallEnd {
                    index,
                    arguments,
                    arguments_error,
                    signature,
                },
            ) => {
                call.arguments.clone_from(arguments);
                call.arguments_error.clone_from(arguments_error);
                call.signature.clone_from(signature);
                self.open_arguments.retain(|(at, _)| at != index);
            }
            _ => {}
        }
    }

    /// Inserts `block` at `index`. Providers start blocks in order; a gap is filled with empty text, so that
    /// an unusual server cannot shift later blocks.
    fn insert(&mut self, index: usize, block: AssistantBlock) {
        let content = &mut self.message.content;
        while content.len() < index {
            content.push(AssistantBlock::Text {
                text: String::new(),
                signature: None,
            });
        }
        if index < content.len() {
            content[index] = block;
        } else {
            content.push(block);
        }
    }
}

//! Decodes answers of Anthropic Messages.
//!
//! Uses `data.type`, because some proxies remove the `event:` field. Unknown types of events, deltas and
//! blocks are skipped, as the vendor requires. An answer is complete after `message_stop` or a stop reason.
//! Blocks can interleave.

use serde_json::{Map, Value};

use super::frame::{Block, BlockDelta, FRAME, Frame, Start, WireUsage};
use crate::errors::Fault;
use crate::event::{Delta, StreamEvent};
use crate::message::HOSTED_STEP;
use crate::model::Model;
use crate::wire::answer::{Answer, UNKNOWN_TOOL};
use crate::wire::format::ObjectDecoder;
use crate::wire::repair;
use crate::wire::reported::Reported;
use crate::wire::vocabulary::{End, PartRow, ReasonRow, Use, find};

pub(super) const REASONS: &[ReasonRow] = &[
    ("end_turn", End::Done),
    ("stop_sequence", End::Done),
    ("tool_use", End::Calls),
    ("max_tokens", End::Cut),
    ("refusal", End::Refused),
    ("model_context_window_exceeded", End::Full),
    ("pause_turn", End::Paused),
    ("compaction", End::Paused),
];

pub(super) const PARTS: &[PartRow] = &[
    ("text", Use::Text),
    ("thinking", Use::Thinking),
    ("redacted_thinking", Use::Thinking),
    ("tool_use", Use::Call),
    ("server_tool_use", Use::Hosted),
    ("web_search_tool_result", Use::Source),
    ("web_fetch_tool_result", Use::Hosted),
    ("code_execution_tool_result", Use::Hosted),
    ("bash_code_execution_tool_result", Use::Hosted),
    ("text_editor_code_execution_tool_result", Use::Hosted),
    ("tool_search_tool_result", Use::Hosted),
    ("advisor_tool_result", Use::Hosted),
    ("mcp_tool_use", Use::Hosted),
    ("mcp_tool_result", Use::Hosted),
    ("mcp_tool_listing", Use::Hosted),
    ("container_upload", Use::Hosted),
    ("compaction", Use::Hosted),
    ("fallback", Use::Fallback),
];

#[derive(Debug)]
pub(super) struct AnthropicDecoder {
    answer: Answer,
    open: Vec<OpenBlock>,
    stop_reason: Option<String>,
}

/// An open block.
#[derive(Debug)]
struct OpenBlock {
    /// The index on the server.
    remote: Option<u64>,
    /// The index in the answer, which does not count skipped blocks.
    index: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text,
    Thinking {
        signature: String,
    },
    Call {
        raw: String,
        /// Complete arguments in the start of the block.
        complete: Option<Value>,
    },
    /// A step of the provider: the complete block is sent back.
    Hosted {
        block: Map<String, Value>,
        /// The input of the step, as it streams.
        raw: String,
    },
    /// A block that is not a part of the answer.
    Skipped,
}

impl Kind {
    fn hosted(block: Block) -> Self {
        Self::Hosted {
            block: block.hosted(),
            raw: String::new(),
        }
    }

    /// Whether `delta` continues a block of this kind.
    fn accepts(&self, delta: &BlockDelta) -> bool {
        match self {
            Self::Text => delta.text.is_some(),
            Self::Thinking { .. } => delta.thinking.is_some() || delta.signature.is_some(),
            Self::Call { .. } => delta.partial_json.is_some(),
            Self::Hosted { .. } => delta.partial_json.is_some() || delta.content.is_some(),
            Self::Skipped => false,
        }
    }
}

impl AnthropicDecoder {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            answer: Answer::new(model),
            open: Vec::new(),
            stop_reason: None,
        }
    }

    fn decode(&mut self, name: &str, frame: Frame, data: &str, out: &mut Vec<StreamEvent>) {
        match name {
            "message_start" => self.begin(frame.message, out),
            "message" => self.decode_complete(frame, out),
            "content_block_start" => {
                if let Some(block) = frame.content_block {
                    self.answer.start(None, out);
                    // A new block replaces a skipped one with the same index.
                    self.open.retain(|open| {
                        open.remote != frame.index || !matches!(open.kind, Kind::Skipped)
                    });
                    self.open_block(frame.index, block, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = frame.delta {
                    self.grow_block(frame.index, delta, out);
                }
            }
            "content_block_stop" => {
                if let Some(at) = self
                    .open
                    .iter()
                    .rposition(|open| open.remote == frame.index)
                {
                    let block = self.open.remove(at);
                    self.close_block(block, out);
                }
            }
            "message_delta" => {
                self.count(frame.usage, out);
                let delta = frame.delta.unwrap_or_default();
                self.explain(&delta.stop_details);
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
            }
            "message_stop" => self.end(out),
            "error" => self.fail_from(data, out),
            // Events of new types contain no part of an answer.
            name if frame.kind().is_some() => self.answer.leave_out(format!("the event `{name}`")),
            _ => {}
        }
    }

    /// Stores the vendor's explanation of a refusal: the reason, its category, and the model to use
    /// instead.
    fn explain(&mut self, details: &Value) {
        let text = |name: &str| details.get(name).and_then(Value::as_str);
        let category = text("category").map(|category| format!("(category: {category})"));
        let model = text("recommended_model");
        let model = model.map(|model| format!("(recommended model: {model})"));
        let explanation = text("explanation").map(str::to_owned);
        let parts = [explanation, category, model].into_iter().flatten();
        self.answer
            .explain(Some(&parts.collect::<Vec<_>>().join(" ")));
    }

    /// Handles a complete message instead of a stream.
    fn decode_complete(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) {
        self.answer.start(frame.id, out);
        self.count(frame.usage, out);
        for (remote, block) in (0..).zip(frame.content) {
            self.open_block(Some(remote), block, out);
        }
        self.explain(&frame.stop_details);
        self.stop_reason = frame.stop_reason;
        self.end(out);
    }

    fn begin(&mut self, message: Option<Start>, out: &mut Vec<StreamEvent>) {
        let Start { id, usage } = message.unwrap_or_default();
        self.answer.start(id, out);
        self.count(usage, out);
    }

    fn open_block(&mut self, remote: Option<u64>, block: Block, out: &mut Vec<StreamEvent>) {
        let answer = &mut self.answer;
        let (index, kind) = match block.kind() {
            name if matches!(find(PARTS, name), Some(Use::Hosted | Use::Source)) => {
                let results = block.rest.get("content").and_then(Value::as_array);
                for result in results.into_iter().flatten() {
                    Answer::source(result, "url", out);
                }
                (0, Kind::hosted(block))
            }
            "fallback" => {
                let model = |name: &str| {
                    let name = block.rest.get(name).and_then(|model| model.get("model"));
                    name.and_then(Value::as_str).unwrap_or("?").to_owned()
                };
                let (from, to) = (model("from"), model("to"));
                let text = format!(
                    "answers with `{to}`, because `{from}` declined; the cost is that of the requested model"
                );
                answer.warn(&text, out);
                (0, Kind::hosted(block))
            }
            "text" => {
                let index = answer.open_text(out);
                answer.text(index, block.text.unwrap_or_default(), out);
                (index, Kind::Text)
            }
            "thinking" => {
                let index = answer.open_thinking(out);
                if let Some(delta) = block.thinking.filter(|text| !text.is_empty()) {
                    out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
                }
                let signature = block.signature.unwrap_or_default();
                (index, Kind::Thinking { signature })
            }
            "redacted_thinking" => {
                answer.hidden_thinking(block.data.unwrap_or_default(), out);
                (0, Kind::Skipped)
            }
            "tool_use" => {
                let complete = block
                    .input
                    .filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                let name = block.name.filter(|name| !name.is_empty());
                if name.is_none() && complete.is_none() {
                    // If there are deltas of its arguments, they start the call.
                    return answer.leave_out("a call without a name".to_owned());
                }
                let id = block
                    .id
                    .filter(|id| !id.is_empty())
                    .unwrap_or_else(|| osier_base::ids::prefixed("call"));
                let name = name.unwrap_or_else(|| UNKNOWN_TOOL.to_owned());
                let index = answer.open_call(id, name, out);
                let raw = String::new();
                (index, Kind::Call { raw, complete })
            }
            // If there are deltas of the block, they start it.
            "" => return,
            // If the block has a text, a warning names it.
            _ => (0, Kind::Skipped),
        };
        self.open.push(OpenBlock {
            remote,
            index,
            kind,
        });
    }

    /// The block that `delta` continues. If the delta or the block has no valid index, it is the
    /// newest block of its kind.
    fn find(&self, remote: Option<u64>, delta: &BlockDelta) -> Option<usize> {
        let newest = |fits: &dyn Fn(Option<u64>) -> bool| {
            let mut open = self.open.iter();
            open.rposition(|open| fits(open.remote) && open.kind.accepts(delta))
        };
        newest(&|open| remote.is_none() || open == remote)
            .or_else(|| newest(&|open| open.is_none()))
    }

    fn grow_block(&mut self, remote: Option<u64>, delta: BlockDelta, out: &mut Vec<StreamEvent>) {
        let is_skipped = |open: &OpenBlock| {
            remote.is_some() && open.remote == remote && matches!(open.kind, Kind::Skipped)
        };
        if self.find(remote, &delta).is_none() {
            if self.open.iter().any(is_skipped) {
                if delta.text.is_some() || delta.thinking.is_some() {
                    self.answer
                        .leave_out("the text of a block of an unknown type".to_owned());
                }
                return;
            }
            // The start of the block was lost.
            let block = match (&delta.text, &delta.thinking, delta.partial_json.as_deref()) {
                (Some(_), ..) => Block::of("text"),
                (None, Some(_), _) => Block::of("thinking"),
                (None, None, Some(json)) if !json.is_empty() => Block {
                    name: Some(UNKNOWN_TOOL.to_owned()),
                    ..Block::of("tool_use")
                },
                _ => return,
            };
            self.answer.start(None, out);
            self.open_block(remote, block, out);
        }
        let Some(block) = self
            .find(remote, &delta)
            .and_then(|at| self.open.get_mut(at))
        else {
            return;
        };
        let index = block.index;
        match &mut block.kind {
            Kind::Text => self.answer.text(index, delta.text.unwrap_or_default(), out),
            Kind::Thinking { signature } => {
                if let Some(delta) = delta.thinking.filter(|text| !text.is_empty()) {
                    out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
                }
                signature.push_str(&delta.signature.unwrap_or_default());
            }
            Kind::Call { raw, .. } => {
                if let Some(delta) = delta.partial_json.filter(|text| !text.is_empty()) {
                    raw.push_str(&delta);
                    out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
                }
            }
            Kind::Hosted { block, raw } => {
                raw.push_str(&delta.partial_json.unwrap_or_default());
                let content = delta.content.map(|content| ("content".to_owned(), content));
                block.extend(content);
            }
            Kind::Skipped => {}
        }
    }

    /// Updates the usage. Counts are cumulative; absent ones are unchanged.
    fn count(&mut self, reported: Reported<WireUsage>, out: &mut Vec<StreamEvent>) {
        let Some(wire) = self.answer.counts(reported) else {
            return;
        };
        let usage = &mut self.answer.usage;
        let details = wire.output_tokens_details.unwrap_or_default();
        for (count, reported) in [
            (&mut usage.input, wire.input_tokens),
            (&mut usage.output, wire.output_tokens),
            (&mut usage.cache_write, wire.cache_creation_input_tokens),
            (&mut usage.cache_read, wire.cache_read_input_tokens),
            (&mut usage.reasoning, details.thinking_tokens),
        ] {
            *count = reported.0.unwrap_or(*count);
        }
        self.answer.emit_usage(out);
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        for block in std::mem::take(&mut self.open) {
            self.close_block(block, out);
        }
        let reason = match self.stop_reason.as_deref().unwrap_or_default() {
            // The text is the answer that follows the compaction.
            "compaction" if !self.answer.is_silent() => "end_turn",
            reason => reason,
        };
        self.answer.end(reason, REASONS, out);
    }

    fn close_block(&mut self, block: OpenBlock, out: &mut Vec<StreamEvent>) {
        let index = block.index;
        match block.kind {
            Kind::Skipped => {}
            Kind::Hosted { mut block, raw } => {
                if let Ok(input) = serde_json::from_str(&raw) {
                    block.insert("input".to_owned(), input);
                }
                let block = format!("{HOSTED_STEP}{}", Value::Object(block));
                self.answer.hidden_thinking(block, out);
            }
            Kind::Text => out.push(StreamEvent::Delta(Delta::TextEnd {
                index,
                signature: None,
            })),
            Kind::Thinking { signature } => out.push(StreamEvent::Delta(Delta::ThinkingEnd {
                index,
                signature: (!signature.is_empty()).then_some(signature),
                redacted: false,
            })),
            Kind::Call { raw, complete } => {
                let raw = match complete {
                    Some(complete) if raw.trim().is_empty() => complete.to_string(),
                    _ => raw,
                };
                Answer::close_call(index, raw, None, out);
            }
        }
    }

    fn fail_from(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        self.answer.fail_with(&Fault::from_text(data), out);
    }
}

impl ObjectDecoder for AnthropicDecoder {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn object(&mut self, name: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool {
        let Some(frame) = repair::read::<Frame>(data, FRAME, &mut self.answer) else {
            return false;
        };
        // Proxies omit the type or the name.
        let name = frame.r#type.clone().or_else(|| name.map(str::to_owned));
        let name = name.or_else(|| frame.kind().map(str::to_owned));
        if let Some(name) = name {
            self.decode(&name, frame, data, out);
            return true;
        }
        let body = serde_json::from_str::<Value>(data).unwrap_or_default();
        if Fault::from_body(&body).is_some() {
            self.fail_from(data, out);
        } else if !frame.content.is_empty() && !self.answer.has_started() {
            self.decode_complete(frame, out);
        }
        true
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if self.stop_reason.is_some() {
            self.end(out);
        } else {
            self.answer.cut_off(out);
        }
    }
}

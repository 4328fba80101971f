//! Decodes answers of Chat Completions.
//!
//! An answer is complete after a finish reason or `[DONE]`. Usage follows the finish reason, so the end is
//! emitted with `[DONE]` or the end of the body.

use serde_json::Value;

use super::calls::Calls;
use super::frame::{self, CallFragment, Choice, Content, FRAME, Frame, MessageDelta, WireUsage};
use crate::errors::{Fault, is_error};
use crate::event::{Delta, StreamEvent};
use crate::model::Model;
use crate::wire::answer::Answer;
use crate::wire::format::ObjectDecoder;
use crate::wire::repair;
use crate::wire::reported::Reported;
use crate::wire::think_tags::{Part, ThinkTags};
use crate::wire::vocabulary::{End, PartRow, ReasonRow, Use, find};

/// The reasons; the vendors of this format have several words for the same reason.
pub(super) const REASONS: &[ReasonRow] = &[
    ("stop", End::Done),
    ("end_turn", End::Done),
    ("stop_sequence", End::Done),
    ("eos", End::Done),
    ("eos_token", End::Done),
    ("complete", End::Done),
    ("COMPLETE", End::Done),
    ("STOP", End::Done),
    ("tool_calls", End::Calls),
    ("function_call", End::Calls),
    ("tool_use", End::Calls),
    ("length", End::Cut),
    ("max_tokens", End::Cut),
    ("MAX_TOKENS", End::Cut),
    ("content_filter", End::Refused),
    ("refusal", End::Refused),
    ("sensitive", End::Refused),
    ("SAFETY", End::Refused),
    ("model_context_window_exceeded", End::Full),
    ("model_length", End::Full),
    ("error", End::Unusable),
    ("network_error", End::Lost),
];

/// The fields of a delta, and the kinds of Mistral's parts of a content.
pub(super) const PARTS: &[PartRow] = &[
    ("content", Use::Text),
    ("refusal", Use::Text),
    ("text", Use::Text),
    ("thinking", Use::Thinking),
    ("reasoning_content", Use::Thinking),
    ("reasoning", Use::Thinking),
    ("reasoning_text", Use::Thinking),
    ("reasoning_details", Use::Thinking),
    ("tool_calls", Use::Call),
    ("function_call", Use::Call),
    ("annotations", Use::Source),
    ("tool_reference", Use::Source),
    ("reference", Use::Detail),
    ("role", Use::Detail),
    ("images", Use::LeftOut),
    ("audio", Use::LeftOut),
    ("image_url", Use::LeftOut),
    ("document_url", Use::LeftOut),
    ("file", Use::LeftOut),
    ("tool_file", Use::LeftOut),
    ("input_audio", Use::LeftOut),
];

#[derive(Debug)]
pub(super) struct ChatDecoder {
    answer: Answer,
    open: Open,
    calls: Calls,
    /// OpenRouter's merged reasoning blocks, which must be sent back.
    details: Vec<Value>,
    /// Mistral's signature of the open thinking block.
    signature: Option<String>,
    finish_reason: Option<String>,
    tags: ThinkTags,
    /// Whether a part of the answer was received, so that `[DONE]` completes it.
    has_content: bool,
    refused: bool,
}

/// The open text or thinking block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Text(usize),
    Thinking(usize),
}

impl ChatDecoder {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            answer: Answer::new(model),
            open: Open::Nothing,
            calls: Calls::default(),
            details: Vec::new(),
            signature: None,
            finish_reason: None,
            tags: ThinkTags::default(),
            has_content: false,
            refused: false,
        }
    }

    fn decode(&mut self, frame: Frame, data: &str, out: &mut Vec<StreamEvent>) {
        let error = frame.error.filter(is_error);
        let groq_error = frame.x_groq.as_ref().and_then(|groq| groq.error.clone());
        let groq_error = groq_error.filter(is_error);
        if let Some(error) = error.or(groq_error) {
            let body = serde_json::json!({ "error": error });
            let fault = Fault::from_body(&body).unwrap_or_else(|| Fault {
                message: data.to_owned(),
                ..Fault::default()
            });
            return self.answer.fail_with(&fault, out);
        }
        self.answer.start(frame.id, out);
        let of_groq = frame.x_groq.map(|groq| groq.usage);
        let mut usage = frame.usage.or(of_groq.unwrap_or_default());
        for choice in frame.choices {
            if self.answer.is_chosen(choice.index, choice.has_content()) {
                usage = self.decode_choice(choice, out).or(usage);
            }
        }
        if let Some(usage) = self.answer.counts(usage) {
            self.answer.usage = usage.disjoint();
            self.answer.set_vendor_cost(usage.cost);
            self.answer.emit_usage(out);
        }
    }

    fn decode_choice(&mut self, choice: Choice, out: &mut Vec<StreamEvent>) -> Reported<WireUsage> {
        self.grow(choice.delta, out);
        self.grow(choice.message, out);
        self.write(&choice.text.unwrap_or_default(), out);
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.has_content = true;
            self.finish_reason = Some(reason);
        }
        choice.usage
    }

    fn grow(&mut self, fragment: MessageDelta, out: &mut Vec<StreamEvent>) {
        merge_details(&mut self.details, fragment.reasoning_details);
        let thinking = [
            fragment.reasoning_content,
            fragment.reasoning,
            fragment.reasoning_text,
        ];
        // Some servers send the same text in two fields.
        if let Some(thinking) = thinking.into_iter().flatten().find(|text| !text.is_empty()) {
            self.think(thinking, out);
        }
        match fragment.content {
            Some(Content::Text(text)) => self.write(&text, out),
            Some(Content::Parts(parts)) => {
                for part in parts {
                    self.note(&part, out);
                    if let Some(thinking) = part.thinking {
                        self.think(thinking.text(), out);
                        self.signature = part.signature.or(self.signature.take());
                    }
                    self.write(&part.text.unwrap_or_default(), out);
                }
            }
            None => {}
        }
        let refusal = fragment.refusal.unwrap_or_default();
        self.refused |= !refusal.is_empty();
        self.say(refusal, out);
        for annotation in &fragment.annotations {
            Answer::source(&annotation["url_citation"], "url", out);
        }
        for (kind, part) in [("images", fragment.images), ("audio", fragment.audio)] {
            let others = part.map(|part| (kind.to_owned(), part));
            self.answer.note_parts(&others.into_iter().collect(), PARTS);
        }
        let old = fragment.function_call.map(|function| CallFragment {
            index: Some(0),
            function,
            ..CallFragment::default()
        });
        for call in fragment.tool_calls.into_iter().chain(old) {
            let call = call.nested();
            if call.is_empty() {
                continue;
            }
            self.has_content = true;
            self.write_rest(out);
            self.close(out);
            self.calls.push(call, &mut self.answer, out);
        }
    }

    /// Reports the page of a part, or warns about a part without text.
    fn note(&mut self, part: &frame::Part, out: &mut Vec<StreamEvent>) {
        let Some(kind) = part.r#type.as_deref() else {
            return;
        };
        if find(PARTS, kind) == Some(Use::Source) {
            Answer::source(&Value::Object(part.others.clone()), "url", out);
        } else if part.text.is_none() && part.thinking.is_none() {
            self.answer.note_part(kind, PARTS);
        }
    }

    /// Adds text that can contain thinking.
    fn write(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        // Text that is held back counts, too.
        self.has_content |= !text.is_empty();
        for part in self.tags.push(text) {
            self.add(part, out);
        }
    }

    /// Adds the text that was held back.
    fn write_rest(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(part) = self.tags.finish() {
            self.add(part, out);
        }
    }

    fn add(&mut self, part: Part, out: &mut Vec<StreamEvent>) {
        match part {
            Part::Text(text) => self.say(text, out),
            Part::Thinking(text) => self.think(text, out),
            Part::WasThinking => {
                if let Open::Text(index) = self.open
                    && self.answer.text_was_thinking(index, out)
                {
                    self.open = Open::Thinking(index);
                }
            }
        }
    }

    fn say(&mut self, delta: String, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        self.has_content = true;
        let index = if let Open::Text(index) = self.open {
            index
        } else {
            self.close(out);
            self.answer.open_text(out)
        };
        self.open = Open::Text(index);
        self.answer.text(index, delta, out);
    }

    fn think(&mut self, delta: String, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        self.has_content = true;
        let index = if let Open::Thinking(index) = self.open {
            index
        } else {
            self.close(out);
            self.answer.open_thinking(out)
        };
        self.open = Open::Thinking(index);
        out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
    }

    /// Ends the open block.
    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let end = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => return,
            Open::Text(index) => Delta::TextEnd {
                index,
                signature: None,
            },
            Open::Thinking(index) => Delta::ThinkingEnd {
                index,
                signature: self.signature.take().or(self.finish_details()),
                redacted: false,
            },
        };
        out.push(StreamEvent::Delta(end));
    }

    fn finish_details(&mut self) -> Option<String> {
        let details = std::mem::take(&mut self.details);
        (!details.is_empty()).then(|| Value::Array(details).to_string())
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.write_rest(out);
        self.close(out);
        if let Some(details) = self.finish_details() {
            self.answer.hidden_thinking(details, out);
        }
        self.calls.finish(&mut self.answer, out);
        let reason = match self.finish_reason.as_deref().unwrap_or("stop") {
            reason if self.refused && find(REASONS, reason) == Some(End::Done) => "refusal",
            reason => reason,
        };
        self.answer.end(reason, REASONS, out);
    }
}

impl ObjectDecoder for ChatDecoder {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn object(&mut self, _name: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool {
        let Some(frame) = repair::read::<Frame>(data, FRAME, &mut self.answer) else {
            return false;
        };
        if is_chunk(&frame) {
            self.decode(frame, data, out);
            return true;
        }
        // A chunk without choices contains results of filters, is of an unknown kind, or is an
        // error.
        let body = serde_json::from_str::<Value>(data).unwrap_or_default();
        if let Some(fault) = Fault::from_body(&body) {
            self.answer.fail_with(&fault, out);
        }
        true
    }

    fn end_mark(&mut self, out: &mut Vec<StreamEvent>) {
        if self.has_content {
            self.end(out);
        } else {
            self.answer.cut_off(out);
        }
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if self.finish_reason.is_some() {
            self.end(out);
        } else {
            self.answer.cut_off(out);
        }
    }
}

/// Whether the frame has any field of this format.
fn is_chunk(frame: &Frame) -> bool {
    !frame.choices.is_empty()
        || frame.usage.is_some()
        || frame.x_groq.is_some()
        || frame.error.as_ref().is_some_and(is_error)
}

/// Joins the fragments of reasoning blocks with the same type and index: texts are appended, other fields
/// replaced.
fn merge_details(details: &mut Vec<Value>, fragments: Vec<Value>) {
    for fragment in fragments {
        let same = details.last().is_some_and(|last| {
            last["type"] == fragment["type"]
                && last["index"] == fragment["index"]
                && fragment["type"] != "reasoning.encrypted"
        });
        match (details.last_mut(), fragment) {
            (Some(Value::Object(last)), Value::Object(fragment)) if same => {
                for (key, value) in fragment {
                    match (last.get_mut(&key), value) {
                        (Some(Value::String(text)), Value::String(more))
                            if matches!(key.as_str(), "text" | "summary") =>
                        {
                            text.push_str(&more);
                        }
                        (_, Value::Null) => {}
                        (_, value) => {
                            last.insert(key, value);
                        }
                    }
                }
            }
            (_, fragment) => details.push(fragment),
        }
    }
}

//! Decodes answers of Gemini.
//!
//! There is no end event: an answer is complete after a finish reason and the end of the body. Parts of the
//! same kind form one block, whose signed ranges are recorded. Tool calls arrive complete.

use serde_json::Value;

use super::frame::{self, Candidate, FRAME, Feedback, Frame, FunctionCall};
use super::signed::{GENERATED_ID, SignedRange, SignedRanges};
use crate::errors::Fault;
use crate::event::{Delta, StreamEvent};
use crate::model::Model;
use crate::status::TurnStatus;
use crate::wire::answer::Answer;
use crate::wire::format::ObjectDecoder;
use crate::wire::repair;
use crate::wire::vocabulary::{End, PartRow, ReasonRow, Use};
use osier_base::ids;

pub(super) const REASONS: &[ReasonRow] = &[
    ("STOP", End::Done),
    ("FINISH_REASON_UNSPECIFIED", End::Done),
    ("MAX_TOKENS", End::Cut),
    ("CONTINUATION", End::Cut),
    ("SAFETY", End::Refused),
    ("RECITATION", End::Refused),
    ("LANGUAGE", End::Refused),
    ("BLOCKLIST", End::Refused),
    ("PROHIBITED_CONTENT", End::Refused),
    ("SPII", End::Refused),
    ("IMAGE_SAFETY", End::Refused),
    ("IMAGE_PROHIBITED_CONTENT", End::Refused),
    ("IMAGE_RECITATION", End::Refused),
    ("MODEL_ARMOR", End::Refused),
    ("ESCALATION", End::Refused),
    ("PUP_LIMITED_DISABLED", End::Disabled),
    ("MALFORMED_FUNCTION_CALL", End::Unusable),
    ("MALFORMED_RESPONSE", End::Unusable),
    ("UNEXPECTED_TOOL_CALL", End::Unusable),
    ("TOO_MANY_TOOL_CALLS", End::Unusable),
    ("MISSING_THOUGHT_SIGNATURE", End::Unusable),
    ("NO_IMAGE", End::Unusable),
    ("IMAGE_OTHER", End::Unusable),
    ("OTHER", End::Unusable),
];

pub(super) const PARTS: &[PartRow] = &[
    ("text", Use::Text),
    ("thought", Use::Thinking),
    ("thoughtSignature", Use::Thinking),
    ("functionCall", Use::Call),
    ("toolCall", Use::Hosted),
    ("toolResponse", Use::Hosted),
    ("executableCode", Use::Hosted),
    ("codeExecutionResult", Use::Hosted),
    ("videoMetadata", Use::Detail),
    ("speechMetadata", Use::Detail),
    ("documentMetadata", Use::Detail),
    ("partMetadata", Use::Detail),
    ("mediaResolution", Use::Detail),
    ("mediaProcessing", Use::Detail),
    ("inlineData", Use::LeftOut),
    ("fileData", Use::LeftOut),
    ("functionResponse", Use::LeftOut),
    ("audioTranscription", Use::LeftOut),
];

#[derive(Debug)]
pub(super) struct GoogleDecoder {
    answer: Answer,
    open: Option<Open>,
    finish: Option<String>,
}

/// The open block.
#[derive(Debug)]
struct Open {
    index: usize,
    thought: bool,
    /// Length in bytes.
    length: usize,
    signed: SignedRanges,
}

impl GoogleDecoder {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            answer: Answer::new(model),
            open: None,
            finish: None,
        }
    }

    fn decode(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) {
        self.answer.start(frame.response_id, out);
        if let Some(usage) = self.answer.counts(frame.usage_metadata) {
            self.answer.usage = usage.disjoint();
            self.answer.emit_usage(out);
        }
        for candidate in frame.candidates {
            let has_content =
                !candidate.content.parts.is_empty() || candidate.finish_reason.is_some();
            if self.answer.is_chosen(candidate.index, has_content) {
                self.decode_candidate(candidate, out);
            }
        }
        if let Some(feedback) = frame.prompt_feedback {
            self.decode_feedback(feedback, out);
        }
    }

    fn decode_candidate(&mut self, candidate: Candidate, out: &mut Vec<StreamEvent>) {
        for part in candidate.content.parts {
            self.decode_part(part, out);
        }
        for chunk in candidate.grounding_metadata.grounding_chunks {
            Answer::source(&chunk.web, "uri", out);
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            self.answer.explain(candidate.finish_message.as_deref());
            self.finish = Some(reason);
        }
    }

    fn decode_part(&mut self, part: frame::Part, out: &mut Vec<StreamEvent>) {
        self.answer.note_parts(&part.others, PARTS);
        if let Some(call) = part.function_call {
            if call.name.as_ref().is_none_or(String::is_empty) && call.args.is_none() {
                return self.answer.leave_out("a call without a name".to_owned());
            }
            self.close(out);
            self.call(call, part.thought_signature, out);
            return;
        }
        let text = part.text.unwrap_or_default();
        let signature = part.thought_signature.filter(|text| !text.is_empty());
        if text.is_empty() && signature.is_none() {
            return;
        }
        // A signature without text belongs to the open block.
        let same = |open: &Open| open.thought == part.thought || text.is_empty();
        if !self.open.as_ref().is_some_and(same) {
            self.close(out);
            self.open_block(part.thought, out);
        }
        if let Some(open) = &mut self.open {
            if let Some(signature) = signature {
                open.signed.add(SignedRange {
                    start: open.length,
                    length: text.len(),
                    signature,
                });
            }
            open.length += text.len();
            let index = open.index;
            if open.thought && !text.is_empty() {
                let delta = text;
                out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
            } else {
                self.answer.text(index, text, out);
            }
        }
    }

    fn open_block(&mut self, thought: bool, out: &mut Vec<StreamEvent>) {
        let index = if thought {
            self.answer.open_thinking(out)
        } else {
            self.answer.open_text(out)
        };
        self.open = Some(Open {
            index,
            thought,
            length: 0,
            signed: SignedRanges::default(),
        });
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(open) = self.open.take() else {
            return;
        };
        let (index, signature) = (open.index, open.signed.write());
        let end = if open.thought {
            Delta::ThinkingEnd {
                index,
                signature,
                redacted: false,
            }
        } else {
            Delta::TextEnd { index, signature }
        };
        out.push(StreamEvent::Delta(end));
    }

    fn call(&mut self, call: FunctionCall, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        let id = call.id.filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| ids::prefixed(GENERATED_ID));
        let name = call.name.unwrap_or_default();
        let index = self.answer.open_call(id, name, out);
        let raw = match call.args {
            None | Some(Value::Null) => "{}".to_owned(),
            // Some gateways send the object as text.
            Some(Value::String(text)) => text,
            Some(args) => args.to_string(),
        };
        out.push(StreamEvent::Delta(Delta::ToolcallDelta {
            index,
            delta: raw.clone(),
        }));
        Answer::close_call(index, raw, signature, out);
    }

    /// Handles a prompt that was blocked before an answer started.
    fn decode_feedback(&mut self, feedback: Feedback, out: &mut Vec<StreamEvent>) {
        if let Some(reason) = feedback.block_reason {
            let detail = feedback.block_reason_message;
            let detail = detail.map_or_else(String::new, |text| format!(": {text}"));
            let message = format!("the prompt was blocked ({reason}){detail}");
            let retryable = false;
            self.answer
                .fail(TurnStatus::ModelError { message, retryable }, out);
        }
    }

    fn end(&mut self, reason: &str, out: &mut Vec<StreamEvent>) {
        self.close(out);
        self.answer.end(reason, REASONS, out);
    }
}

impl ObjectDecoder for GoogleDecoder {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn object(&mut self, _name: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool {
        let frame = repair::read::<Frame>(data, FRAME, &mut self.answer);
        if frame.as_ref().is_none_or(Frame::can_be_error) {
            let body = serde_json::from_str::<Value>(data).unwrap_or_default();
            if let Some(fault) = Fault::from_body(&body) {
                self.answer.fail_with(&fault, out);
                return true;
            }
        }
        let Some(frame) = frame else { return false };
        self.decode(frame, out);
        true
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        match self.finish.take() {
            Some(finish) => self.end(&finish, out),
            None => self.answer.cut_off(out),
        }
    }
}

//! Decodes answers of Ollama.
//!
//! Every line contains the new parts; the line with `done` is the last one and contains the usage. Tool calls
//! arrive complete, with the arguments as an object and usually without an id.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::errors::{Fault, is_error};
use crate::event::{Delta, StreamEvent};
use crate::model::Model;
use crate::wire::answer::Answer;
use crate::wire::format::{ObjectDecoder, or_default};
use crate::wire::repair::{self, Shape};
use crate::wire::reported::{Count, Reported};
use crate::wire::think_tags::{Part, ThinkTags};
use crate::wire::vocabulary::{End, PartRow, ReasonRow, Use};
use osier_base::ids;

/// `load` and `unload` answer prompts that are empty.
pub(super) const REASONS: &[ReasonRow] = &[
    ("stop", End::Done),
    ("length", End::Cut),
    ("load", End::Done),
    ("unload", End::Done),
];

pub(super) const PARTS: &[PartRow] = &[
    ("content", Use::Text),
    ("thinking", Use::Thinking),
    ("tool_calls", Use::Call),
    ("role", Use::Detail),
    ("tool_name", Use::Detail),
    ("images", Use::LeftOut),
];

#[derive(Debug)]
pub(super) struct OllamaDecoder {
    answer: Answer,
    open: Option<Open>,
    tags: ThinkTags,
}

/// The open block.
#[derive(Debug, Clone, Copy)]
struct Open {
    index: usize,
    thought: bool,
}

/// The fields of a line.
const FRAME: Shape = Shape::Object(&[
    (
        "message",
        Shape::Carrier(
            "content",
            &[
                ("content", Shape::Text),
                ("thinking", Shape::Text),
                (
                    "tool_calls",
                    Shape::List(&Shape::Object(&[
                        ("id", Shape::Word),
                        ("function", Shape::Object(&[("name", Shape::Word)])),
                    ])),
                ),
            ],
        ),
    ),
    ("done", Shape::Flag),
    ("done_reason", Shape::Reason),
]);

#[derive(Debug, Deserialize)]
struct Frame {
    #[serde(default, deserialize_with = "or_default")]
    message: Piece,
    #[serde(default, deserialize_with = "or_default")]
    done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Reported<Count>,
    #[serde(default)]
    eval_count: Reported<Count>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct Piece {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    tool_calls: Vec<Call>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Call {
    #[serde(default)]
    id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    function: Function,
}

#[derive(Debug, Default, Deserialize)]
struct Function {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl OllamaDecoder {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            answer: Answer::new(model),
            open: None,
            tags: ThinkTags::default(),
        }
    }

    fn decode(&mut self, frame: Frame, out: &mut Vec<StreamEvent>) {
        self.answer.start(None, out);
        self.answer.note_parts(&frame.message.others, PARTS);
        self.grow(frame.message.thinking, true, out);
        for part in self.tags.push(&frame.message.content.unwrap_or_default()) {
            self.add(part, out);
        }
        for call in frame.message.tool_calls {
            if call.function.name.is_empty() && call.function.arguments.is_null() {
                self.answer.leave_out("a call without a name".to_owned());
                continue;
            }
            self.add_rest(out);
            self.close(out);
            self.call(call, out);
        }
        if frame.done {
            let input = self.answer.counts(frame.prompt_eval_count);
            let output = self.answer.counts(frame.eval_count);
            self.answer.usage.input = input.map_or(0, Count::or_zero);
            self.answer.usage.output = output.map_or(0, Count::or_zero);
            self.add_rest(out);
            self.close(out);
            let reason = frame.done_reason.unwrap_or_default();
            self.answer.end(&reason, REASONS, out);
        }
    }

    fn add(&mut self, part: Part, out: &mut Vec<StreamEvent>) {
        match part {
            Part::Text(text) => self.grow(Some(text), false, out),
            Part::Thinking(text) => self.grow(Some(text), true, out),
            Part::WasThinking => {
                if let Some(open) = self.open.as_mut().filter(|open| !open.thought) {
                    open.thought = self.answer.text_was_thinking(open.index, out);
                }
            }
        }
    }

    /// Adds the text that was held back.
    fn add_rest(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(part) = self.tags.finish() {
            self.add(part, out);
        }
    }

    fn grow(&mut self, text: Option<String>, thought: bool, out: &mut Vec<StreamEvent>) {
        let Some(delta) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let open = match self.open {
            Some(open) if open.thought == thought => open,
            _ => {
                self.close(out);
                let index = if thought {
                    self.answer.open_thinking(out)
                } else {
                    self.answer.open_text(out)
                };
                Open { index, thought }
            }
        };
        self.open = Some(open);
        let index = open.index;
        if thought {
            out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
        } else {
            self.answer.text(index, delta, out);
        }
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(Open { index, thought }) = self.open.take() else {
            return;
        };
        let signature = None;
        out.push(StreamEvent::Delta(if thought {
            Delta::ThinkingEnd {
                index,
                signature,
                redacted: false,
            }
        } else {
            Delta::TextEnd { index, signature }
        }));
    }

    fn call(&mut self, call: Call, out: &mut Vec<StreamEvent>) {
        let id = call.id.filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| ids::prefixed("call"));
        let index = self.answer.open_call(id, call.function.name, out);
        let raw = match call.function.arguments {
            Value::Null => "{}".to_owned(),
            // Some versions and proxies send the object as text.
            Value::String(text) => text,
            value => value.to_string(),
        };
        let delta = raw.clone();
        out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
        Answer::close_call(index, raw, None, out);
    }
}

impl ObjectDecoder for OllamaDecoder {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn object(&mut self, _name: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool {
        let Some(frame) = repair::read::<Frame>(data, FRAME, &mut self.answer) else {
            return false;
        };
        if !frame.error.as_ref().is_some_and(is_error) {
            self.decode(frame, out);
            return true;
        }
        let body = serde_json::from_str::<Value>(data).unwrap_or_default();
        match Fault::from_body(&body) {
            Some(fault) => self.answer.fail_with(&fault, out),
            None => self.answer.garbled(data, out),
        }
        true
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        self.answer.cut_off(out);
    }
}

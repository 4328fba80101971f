//! Decodes answers of Converse.
//!
//! The type of an event is its name, not part of its data. Only tool calls have a start event; text and
//! thinking start with their first delta. An answer is complete after `messageStop`, which is followed by
//! `metadata`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::errors::Fault;
use crate::event::{Delta, StreamEvent};
use crate::model::Model;
use crate::wire::answer::{Answer, UNKNOWN_TOOL};
use crate::wire::format::{ObjectDecoder, or_default};
use crate::wire::repair::{self, Shape};
use crate::wire::reported::{Count, Reported};
use crate::wire::vocabulary::{End, PartRow, ReasonRow, Use};
use osier_base::ids;

pub(super) const REASONS: &[ReasonRow] = &[
    ("end_turn", End::Done),
    ("stop_sequence", End::Done),
    ("tool_use", End::Calls),
    ("max_tokens", End::Cut),
    ("guardrail_intervened", End::Refused),
    ("content_filtered", End::Refused),
    ("model_context_window_exceeded", End::Full),
    ("malformed_model_output", End::Unusable),
    ("malformed_tool_use", End::Unusable),
];

/// The starts and deltas of blocks. A call of type `server_tool_use` is a step of the provider.
pub(super) const PARTS: &[PartRow] = &[
    ("text", Use::Text),
    ("reasoningContent", Use::Thinking),
    ("toolUse", Use::Call),
    ("toolResult", Use::Hosted),
    ("citation", Use::Detail),
    ("citationsContent", Use::Detail),
    ("image", Use::LeftOut),
    ("audio", Use::LeftOut),
];

/// HTTP statuses equivalent to the exceptions inside a stream.
const EXCEPTIONS: &[(&str, u16)] = &[
    ("accessDeniedException", 403),
    ("internalServerException", 500),
    ("modelStreamErrorException", 500),
    ("modelTimeoutException", 408),
    ("resourceNotFoundException", 404),
    ("serviceUnavailableException", 503),
    ("throttlingException", 429),
    ("validationException", 400),
];

#[derive(Debug)]
pub(super) struct BedrockDecoder {
    answer: Answer,
    open: Vec<Open>,
    stop_reason: Option<String>,
}

/// An open block.
#[derive(Debug)]
struct Open {
    /// The index on the server.
    remote: Option<u64>,
    index: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text,
    Thinking {
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call {
        raw: String,
    },
    /// A call of a tool of the server.
    Skipped,
}

impl Kind {
    /// Whether `delta` continues a block of this kind.
    fn accepts(&self, delta: &BlockDelta) -> bool {
        match self {
            Self::Text => delta.text.is_some(),
            Self::Thinking { .. } | Self::Redacted { .. } => delta.reasoning_content.is_some(),
            Self::Call { .. } => delta.tool_use.is_some(),
            Self::Skipped => false,
        }
    }
}

const TOOL_USE: Shape = Shape::Object(&[
    ("toolUseId", Shape::Word),
    ("name", Shape::Word),
    ("type", Shape::Word),
    ("input", Shape::Json),
]);

const REASONING: Shape = Shape::Carrier(
    "text",
    &[
        ("text", Shape::Text),
        ("signature", Shape::Word),
        ("redactedContent", Shape::Word),
    ],
);

/// The fields of an event.
const FRAME: Shape = Shape::Object(&[
    ("contentBlockIndex", Shape::Index),
    ("start", Shape::Object(&[("toolUse", TOOL_USE)])),
    (
        "delta",
        Shape::Carrier(
            "text",
            &[
                ("text", Shape::Text),
                ("toolUse", TOOL_USE),
                ("reasoningContent", REASONING),
            ],
        ),
    ),
    ("stopReason", Shape::Reason),
]);

/// All events as one type: fields of other events are absent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    #[serde(default)]
    content_block_index: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    start: Start,
    #[serde(default, deserialize_with = "or_default")]
    delta: BlockDelta,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Reported<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    #[serde(default)]
    tool_use: Option<ToolUse>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse {
    #[serde(rename = "toolUseId", default, deserialize_with = "or_default")]
    id: String,
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    r#type: String,
}

impl ToolUse {
    /// Whether the server runs the tool itself.
    fn is_of_server(&self) -> bool {
        self.r#type == "server_tool_use"
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockDelta {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    tool_use: Option<Input>,
    #[serde(default)]
    reasoning_content: Option<Reasoning>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Input {
    #[serde(default, deserialize_with = "or_default")]
    input: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reasoning {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    redacted_content: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_field_names, reason = "the names on the wire")]
struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_write_input_tokens: Count,
}

impl BedrockDecoder {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            answer: Answer::new(model),
            open: Vec::new(),
            stop_reason: None,
        }
    }

    fn decode(&mut self, name: &str, frame: Frame, out: &mut Vec<StreamEvent>) {
        self.answer.start(None, out);
        let remote = frame.content_block_index;
        self.answer.note_parts(&frame.start.others, PARTS);
        self.answer.note_parts(&frame.delta.others, PARTS);
        match name {
            "contentBlockStart" => {
                // A new block replaces a skipped one with the same index.
                self.open
                    .retain(|open| open.remote != remote || !matches!(open.kind, Kind::Skipped));
                let tool = frame.start.tool_use;
                if tool.as_ref().is_some_and(ToolUse::is_of_server) {
                    let (index, kind) = (0, Kind::Skipped);
                    self.open.push(Open {
                        remote,
                        index,
                        kind,
                    });
                } else if let Some(tool) = tool.filter(|tool| !tool.name.is_empty()) {
                    let id = Some(tool.id).filter(|id| !id.is_empty());
                    let id = id.unwrap_or_else(|| ids::prefixed("call"));
                    let index = self.answer.open_call(id, tool.name, out);
                    let raw = String::new();
                    let kind = Kind::Call { raw };
                    self.open.push(Open {
                        remote,
                        index,
                        kind,
                    });
                }
            }
            "contentBlockDelta" => self.grow(remote, frame.delta, out),
            "contentBlockStop" => {
                if let Some(at) = self.open.iter().rposition(|open| open.remote == remote) {
                    close(self.open.remove(at), out);
                }
            }
            "messageStop" => self.stop_reason = frame.stop_reason.or(Some(String::new())),
            "metadata" => {
                if let Some(usage) = self.answer.counts(frame.usage) {
                    self.count(&usage, out);
                }
            }
            _ => {}
        }
    }

    fn grow(&mut self, remote: Option<u64>, delta: BlockDelta, out: &mut Vec<StreamEvent>) {
        let Self { answer, open, .. } = self;
        let is_skipped = |open: &Open| {
            remote.is_some() && open.remote == remote && matches!(open.kind, Kind::Skipped)
        };
        // Without a valid index, the delta continues the newest block of its kind.
        let continues =
            |open: &Open| (remote.is_none() || open.remote == remote) && open.kind.accepts(&delta);
        let at = open.iter().rposition(continues);
        if at.is_none() && open.iter().any(is_skipped) {
            return;
        }
        let at = at.or_else(|| {
            let (index, kind) = begin(&delta, answer, out)?;
            open.push(Open {
                remote,
                index,
                kind,
            });
            Some(open.len() - 1)
        });
        let Some(block) = at.and_then(|at| open.get_mut(at)) else {
            return;
        };
        let index = block.index;
        let reasoning = delta.reasoning_content;
        match &mut block.kind {
            Kind::Text => answer.text(index, delta.text.unwrap_or_default(), out),
            Kind::Thinking { signature } => {
                let Some(reasoning) = reasoning else { return };
                if let Some(delta) = reasoning.text.filter(|text| !text.is_empty()) {
                    out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
                }
                signature.push_str(&reasoning.signature.unwrap_or_default());
            }
            Kind::Redacted { data } => {
                let more = reasoning.and_then(|reasoning| reasoning.redacted_content);
                data.push_str(&more.unwrap_or_default());
            }
            Kind::Skipped => {}
            Kind::Call { raw } => {
                let delta = delta.tool_use.map(|tool| tool.input).unwrap_or_default();
                if !delta.is_empty() {
                    raw.push_str(&delta);
                    out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
                }
            }
        }
    }

    /// Updates the usage. The counts in the stream are disjoint, as in [`Usage`].
    fn count(&mut self, wire: &WireUsage, out: &mut Vec<StreamEvent>) {
        let usage = &mut self.answer.usage;
        usage.input = wire.input_tokens.or_zero();
        usage.output = wire.output_tokens.or_zero();
        usage.cache_read = wire.cache_read_input_tokens.or_zero();
        usage.cache_write = wire.cache_write_input_tokens.or_zero();
        self.answer.emit_usage(out);
    }

    fn end(&mut self, reason: &str, out: &mut Vec<StreamEvent>) {
        for block in std::mem::take(&mut self.open) {
            close(block, out);
        }
        self.answer.end(reason, REASONS, out);
    }

    /// Handles a complete response instead of a stream, as the events of one.
    fn decode_complete(&mut self, body: &Value, out: &mut Vec<StreamEvent>) {
        let blocks = body
            .pointer("/output/message/content")
            .and_then(Value::as_array);
        for (index, block) in blocks.into_iter().flatten().enumerate() {
            let delta = match (
                block.get("toolUse"),
                block.pointer("/reasoningContent/reasoningText"),
            ) {
                (Some(tool), _) => {
                    let start = json!({"contentBlockIndex": index, "start": {"toolUse": tool}});
                    self.decode_value("contentBlockStart", &start, out);
                    json!({"toolUse": {"input": tool["input"].to_string()}})
                }
                (None, Some(reasoning)) => json!({ "reasoningContent": reasoning }),
                (None, None) => block.clone(),
            };
            let delta = json!({"contentBlockIndex": index, "delta": delta});
            self.decode_value("contentBlockDelta", &delta, out);
        }
        self.decode_value(
            "messageStop",
            &json!({"stopReason": body["stopReason"]}),
            out,
        );
        self.decode_value("metadata", &json!({"usage": body["usage"]}), out);
    }

    fn decode_value(&mut self, name: &str, value: &Value, out: &mut Vec<StreamEvent>) {
        let frame = repair::read::<Frame>(&value.to_string(), FRAME, &mut self.answer);
        if let Some(frame) = frame {
            self.decode(name, frame, out);
        }
    }

    fn fail_from(&mut self, name: &str, data: &str, out: &mut Vec<StreamEvent>) {
        let fault = Fault::from_text(data);
        let known = EXCEPTIONS.iter().find(|(known, _)| *known == name);
        let fault = Fault {
            status: known.map(|(_, status)| *status).or(fault.status),
            code: name.to_owned(),
            ..fault
        };
        self.answer.fail_with(&fault, out);
    }
}

impl ObjectDecoder for BedrockDecoder {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn object(&mut self, name: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool {
        let name = name.unwrap_or_default();
        if name.ends_with("Exception") || name.ends_with("Error") {
            self.fail_from(name, data, out);
            return true;
        }
        if name.is_empty() {
            let body = serde_json::from_str::<Value>(data).unwrap_or_default();
            if body.get("output").is_some() {
                self.decode_complete(&body, out);
                return true;
            }
            if let Some(fault) = Fault::from_body(&body) {
                self.answer.fail_with(&fault, out);
                return true;
            }
        }
        let Some(frame) = repair::read::<Frame>(data, FRAME, &mut self.answer) else {
            return false;
        };
        self.decode(name, frame, out);
        true
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        match self.stop_reason.take() {
            Some(reason) => self.end(&reason, out),
            None => self.answer.cut_off(out),
        }
    }
}

/// Opens the block of a first delta.
fn begin(
    delta: &BlockDelta,
    answer: &mut Answer,
    out: &mut Vec<StreamEvent>,
) -> Option<(usize, Kind)> {
    if delta.text.is_some() {
        return Some((answer.open_text(out), Kind::Text));
    }
    if delta
        .tool_use
        .as_ref()
        .is_some_and(|tool| !tool.input.is_empty())
    {
        let index = answer.open_call(ids::prefixed("call"), UNKNOWN_TOOL.to_owned(), out);
        let raw = String::new();
        return Some((index, Kind::Call { raw }));
    }
    let reasoning = delta.reasoning_content.as_ref()?;
    let index = answer.open_thinking(out);
    let kind = if reasoning.redacted_content.is_some() {
        let data = String::new();
        Kind::Redacted { data }
    } else {
        let signature = String::new();
        Kind::Thinking { signature }
    };
    Some((index, kind))
}

fn close(block: Open, out: &mut Vec<StreamEvent>) {
    let index = block.index;
    let thought = |signature: String, redacted| Delta::ThinkingEnd {
        index,
        signature: (!signature.is_empty()).then_some(signature),
        redacted,
    };
    let end = match block.kind {
        Kind::Call { raw } => return Answer::close_call(index, raw, None, out),
        Kind::Skipped => return,
        Kind::Text => Delta::TextEnd {
            index,
            signature: None,
        },
        Kind::Thinking { signature } => thought(signature, false),
        Kind::Redacted { data } => thought(data, true),
    };
    out.push(StreamEvent::Delta(end));
}

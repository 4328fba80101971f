//! The output items of an answer, by the index in events.
//!
//! Usually every event has an `output_index`. llama.cpp omits it and sends the item's id, which changes from
//! event to event on other servers. So the index has precedence over the id, and an event with neither
//! belongs to the newest item of its kind. Ended items are remembered, so that the last event, which repeats
//! all items, adds nothing twice.

use serde_json::{Map, Value, json};

use super::frame::{Frame, ItemFields};
use crate::event::{Delta, StreamEvent};
use crate::wire::answer::{Answer, UNKNOWN_TOOL};

/// The fields of a reasoning item that are sent back.
const REPLAYED_FIELDS: &[&str] = &["type", "id", "summary", "content", "encrypted_content"];

#[derive(Debug)]
pub(super) struct OpenItem {
    output_index: Option<u64>,
    id: Option<String>,
    /// The type on the wire.
    name: String,
    pub kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Message {
        /// Set when the block has started.
        index: Option<usize>,
    },
    Reasoning {
        index: usize,
        /// The open part: whether it belongs to the summary, and its index.
        part: Option<(bool, u64)>,
    },
    Call {
        index: usize,
        raw: String,
        /// Whether the call has a text instead of arguments.
        is_freeform: bool,
    },
    /// An item that has ended, or is of an unknown kind.
    Closed,
}

impl OpenItem {
    fn is_named(&self, output_index: Option<u64>, id: Option<&str>) -> bool {
        match (output_index, self.output_index) {
            (Some(named), Some(own)) => named == own,
            _ => id.is_some() && self.id.as_deref() == id,
        }
    }

    /// Starts an item. The block of a message starts with its first text.
    fn new(
        output_index: Option<u64>,
        fields: &ItemFields,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) -> Self {
        let kind = match fields.r#type.as_str() {
            "message" => Kind::Message { index: None },
            "reasoning" => Kind::Reasoning {
                index: answer.open_thinking(out),
                part: None,
            },
            "function_call" | "custom_tool_call" => Kind::call(fields, answer, out),
            _ => Kind::Closed,
        };
        Self {
            output_index,
            id: fields.id.clone(),
            name: fields.r#type.clone(),
            kind,
        }
    }

    /// Ends a complete item. Reasoning stays open while it lacks the data to send it back.
    fn settle(
        &mut self,
        fields: &ItemFields,
        raw: &Value,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) {
        match &mut self.kind {
            Kind::Message { index } => {
                if index.is_none() {
                    self.kind.say(fields.text(), answer, out);
                }
                self.kind.close(fields.phase.as_deref().map(phase), out);
            }
            Kind::Reasoning { index, part } => {
                if part.is_none() {
                    *part = Some((true, 0));
                    think(*index, fields.visible_reasoning(), out);
                }
                if fields.is_replayable() {
                    self.kind.close(Some(replayed(raw)), out);
                }
            }
            Kind::Call {
                index,
                raw,
                is_freeform,
            } => {
                let arguments = fields.arguments.as_ref().or(fields.input.as_ref());
                if let Some(arguments) = arguments.filter(|arguments| !arguments.is_empty()) {
                    complete(*index, raw, arguments, *is_freeform, out);
                }
                self.kind.close(None, out);
            }
            Kind::Closed => {}
        }
    }
}

impl Kind {
    fn is(&self, name: &str) -> bool {
        match self {
            Self::Message { .. } => name == "message",
            Self::Reasoning { .. } => name == "reasoning",
            Self::Call { .. } => name == "function_call",
            Self::Closed => false,
        }
    }

    fn call(fields: &ItemFields, answer: &mut Answer, out: &mut Vec<StreamEvent>) -> Self {
        let id = fields.call_id.clone().or_else(|| fields.id.clone());
        let id = id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| osier_base::ids::prefixed("call"));
        let name = fields.name.clone().filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| UNKNOWN_TOOL.to_owned());
        let index = answer.open_call(id, name, out);
        let is_freeform = fields.r#type == "custom_tool_call";
        if is_freeform {
            send(index, FREEFORM_START.to_owned(), out);
        }
        Self::Call {
            index,
            raw: String::new(),
            is_freeform,
        }
    }

    pub(super) fn say(&mut self, delta: String, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        if let Self::Message { index } = self
            && !delta.is_empty()
        {
            let index = *index.get_or_insert_with(|| answer.open_text(out));
            answer.text(index, delta, out);
        }
    }

    /// Adds text to the reasoning; its parts are separated by a blank line.
    pub(super) fn think(&mut self, frame: &Frame, delta: String, out: &mut Vec<StreamEvent>) {
        let Self::Reasoning { index, part } = self else {
            return;
        };
        let part_index = frame.summary_index.or(frame.content_index).unwrap_or(0);
        let new = (frame.r#type.contains("summary"), part_index);
        if part.replace(new).is_some_and(|old| old != new) {
            think(*index, "\n\n".to_owned(), out);
        }
        think(*index, delta, out);
    }

    pub(super) fn argue(&mut self, delta: &str, out: &mut Vec<StreamEvent>) {
        if let Self::Call {
            index,
            raw,
            is_freeform,
        } = self
            && !delta.is_empty()
        {
            raw.push_str(delta);
            send_part(*index, delta, *is_freeform, out);
        }
    }

    /// Sets the complete arguments, which have precedence over their deltas.
    pub(super) fn set_arguments(&mut self, arguments: &str, out: &mut Vec<StreamEvent>) {
        if let Self::Call {
            index,
            raw,
            is_freeform,
        } = self
            && !arguments.is_empty()
        {
            complete(*index, raw, arguments, *is_freeform, out);
        }
    }

    pub(super) fn close(&mut self, signature: Option<String>, out: &mut Vec<StreamEvent>) {
        let end = match std::mem::replace(self, Self::Closed) {
            Self::Message { index: Some(index) } => Delta::TextEnd { index, signature },
            Self::Reasoning { index, .. } => Delta::ThinkingEnd {
                index,
                signature,
                redacted: false,
            },
            Self::Call {
                index,
                raw,
                is_freeform: false,
            } => return Answer::close_call(index, raw, None, out),
            Self::Call { index, raw, .. } => {
                send(index, FREEFORM_END.to_owned(), out);
                let arguments = json!({ FREEFORM_ARGUMENT: raw }).to_string();
                return Answer::close_call(index, arguments, None, out);
            }
            Self::Message { index: None } | Self::Closed => return,
        };
        out.push(StreamEvent::Delta(end));
    }
}

fn think(index: usize, delta: String, out: &mut Vec<StreamEvent>) {
    if !delta.is_empty() {
        out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
    }
}

/// Sets the complete arguments, and emits the part that was not emitted.
fn complete(
    index: usize,
    raw: &mut String,
    arguments: &str,
    is_freeform: bool,
    out: &mut Vec<StreamEvent>,
) {
    if let Some(rest) = arguments
        .strip_prefix(raw.as_str())
        .filter(|rest| !rest.is_empty())
    {
        send_part(index, rest, is_freeform, out);
    }
    arguments.clone_into(raw);
}

/// The argument of a freeform call. The deltas are deltas of the JSON object that the call becomes.
const FREEFORM_ARGUMENT: &str = "input";
const FREEFORM_START: &str = "{\"input\":\"";
const FREEFORM_END: &str = "\"}";

fn send_part(index: usize, part: &str, is_freeform: bool, out: &mut Vec<StreamEvent>) {
    let delta = if is_freeform {
        let quoted = Value::from(part).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    } else {
        part.to_owned()
    };
    send(index, delta, out);
}

fn send(index: usize, delta: String, out: &mut Vec<StreamEvent>) {
    out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
}

/// The phase of a message, stored as the signature of its text.
fn phase(phase: &str) -> String {
    json!({ "phase": phase }).to_string()
}

/// The reasoning item to send back, stored as the signature of its thinking.
fn replayed(raw: &Value) -> String {
    let fields: Map<String, Value> = REPLAYED_FIELDS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), raw.get(key)?.clone())))
        .filter(|(_, value)| !value.is_null())
        .collect();
    Value::Object(fields).to_string()
}

/// The items of an answer, in the order of their start.
#[derive(Debug, Default)]
pub(super) struct Items {
    items: Vec<OpenItem>,
}

impl Items {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item of `frame`; an unknown one is started with type `kind`.
    pub(super) fn of(
        &mut self,
        frame: &Frame,
        kind: &str,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) -> &mut Kind {
        let at = self.find(frame, kind).unwrap_or_else(|| {
            let fields = ItemFields {
                r#type: kind.to_owned(),
                id: frame.item_id.clone(),
                ..ItemFields::default()
            };
            self.open(frame.output_index, &fields, answer, out)
        });
        &mut self.items[at].kind
    }

    /// The call of `frame`. A call without a name cannot start.
    pub(super) fn call(&mut self, frame: &Frame) -> Option<&mut Kind> {
        let at = self.find(frame, "function_call")?;
        Some(&mut self.items[at].kind)
    }

    fn find(&self, frame: &Frame, kind: &str) -> Option<usize> {
        let id = frame.item_id.as_deref();
        self.items
            .iter()
            .rposition(|item| match (frame.output_index, id) {
                (None, None) => item.kind.is(kind),
                (index, id) => item.is_named(index, id) && item.kind.is(kind),
            })
    }

    pub(super) fn open(
        &mut self,
        output_index: Option<u64>,
        fields: &ItemFields,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) -> usize {
        self.items
            .push(OpenItem::new(output_index, fields, answer, out));
        self.items.len() - 1
    }

    /// Adds a complete item; an unknown one is started if `new` allows it.
    pub(super) fn settle(
        &mut self,
        output_index: Option<u64>,
        item: &super::frame::Item,
        new: bool,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) {
        let id = item.fields.id.as_deref();
        // If the item at the index has another type, the index is wrong.
        let named =
            |have: &OpenItem| have.is_named(output_index, id) && have.name == item.fields.r#type;
        let at = match self.items.iter().rposition(named) {
            Some(at) => at,
            None if new && item.fields.is_empty_call() => {
                return answer.leave_out("a call without a name".to_owned());
            }
            None if new => self.open(output_index, &item.fields, answer, out),
            None => return,
        };
        self.items[at].settle(&item.fields, &item.raw, answer, out);
    }

    /// Ends the open items.
    pub(super) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            item.kind.close(None, out);
        }
    }
}

//! The output items of one answer, by the place that events name them with.
//!
//! The norm: every event has an `output_index`. llama.cpp leaves it out and names the item's id, which on
//! other servers changes from event to event: the place counts first, then the id, and an event that has
//! neither belongs to the newest item of its kind. An item that has ended stays known, so that the last
//! event, which repeats all of them, adds nothing twice.

use serde_json::{Map, Value, json};

use super::frame::{Frame, ItemFields};
use crate::event::{Delta, StreamEvent};
use crate::wire::answer::Answer;

/// What of a reasoning item is sent back.
const REPLAYED: &[&str] = &["type", "id", "summary", "content", "encrypted_content"];

#[derive(Debug)]
pub(super) struct OpenItem {
    output_index: Option<u64>,
    id: Option<String>,
    pub kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Message {
        /// Once it said something.
        index: Option<usize>,
    },
    Reasoning {
        index: usize,
        /// The part that grows: of the summary or not, and which.
        part: Option<(bool, u64)>,
    },
    Call {
        index: usize,
        raw: String,
    },
    /// Ended, or of a kind that is not read.
    Closed,
}

impl OpenItem {
    fn is_named(&self, output_index: Option<u64>, id: Option<&str>) -> bool {
        match (output_index, self.output_index) {
            (Some(named), Some(own)) => named == own,
            _ => id.is_some() && self.id.as_deref() == id,
        }
    }

    /// The item begins. Messages open their block with their first word.
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
            kind,
        }
    }

    /// The item is whole. Reasoning that lacks what it must be sent back with stays open.
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
                    self.kind.say(fields.said(), answer, out);
                }
                self.kind.close(fields.phase.as_deref().map(phase), out);
            }
            Kind::Reasoning { index, part } => {
                if part.is_none() {
                    *part = Some((true, 0));
                    think(*index, fields.thought(), out);
                }
                if fields.is_replayable() {
                    self.kind.close(Some(replayed(raw)), out);
                }
            }
            Kind::Call { index, raw } => {
                let whole = fields.arguments.as_ref().or(fields.input.as_ref());
                if let Some(whole) = whole.filter(|whole| !whole.is_empty()) {
                    complete(*index, raw, whole, out);
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
        let name = fields.name.clone().unwrap_or_default();
        let index = answer.open_call(id, name, out);
        let raw = String::new();
        Self::Call { index, raw }
    }

    pub(super) fn say(&mut self, delta: String, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        if let Self::Message { index } = self
            && !delta.is_empty()
        {
            let index = *index.get_or_insert_with(|| answer.open_text(out));
            answer.text(index, delta, out);
        }
    }

    /// Adds to the reasoning; its parts are apart by a blank line.
    pub(super) fn think(&mut self, frame: &Frame, delta: String, out: &mut Vec<StreamEvent>) {
        let Self::Reasoning { index, part } = self else {
            return;
        };
        let place = frame.summary_index.or(frame.content_index).unwrap_or(0);
        let new = (frame.r#type.contains("summary"), place);
        if part.replace(new).is_some_and(|old| old != new) {
            think(*index, "\n\n".to_owned(), out);
        }
        think(*index, delta, out);
    }

    pub(super) fn argue(&mut self, delta: String, out: &mut Vec<StreamEvent>) {
        if let Self::Call { index, raw } = self
            && !delta.is_empty()
        {
            raw.push_str(&delta);
            let index = *index;
            out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
        }
    }

    /// The arguments as a whole, which count more than their pieces.
    pub(super) fn argued(&mut self, whole: &str, out: &mut Vec<StreamEvent>) {
        if let Self::Call { index, raw } = self
            && !whole.is_empty()
        {
            complete(*index, raw, whole, out);
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
            Self::Call { index, raw } => {
                return Answer::close_call(index, raw, None, out);
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

/// Takes over the whole arguments, and tells what of them was not told.
fn complete(index: usize, raw: &mut String, whole: &str, out: &mut Vec<StreamEvent>) {
    if let Some(rest) = whole
        .strip_prefix(raw.as_str())
        .filter(|rest| !rest.is_empty())
    {
        let delta = rest.to_owned();
        out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
    }
    whole.clone_into(raw);
}

/// What a message is sent back with, as the signature of its text.
fn phase(phase: &str) -> String {
    json!({ "phase": phase }).to_string()
}

/// What a reasoning item is sent back as, as the signature of its thinking.
fn replayed(raw: &Value) -> String {
    let fields: Map<String, Value> = REPLAYED
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), raw.get(key)?.clone())))
        .filter(|(_, value)| !value.is_null())
        .collect();
    Value::Object(fields).to_string()
}

/// Every item of an answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Items {
    items: Vec<OpenItem>,
}

impl Items {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item that `frame` belongs to, begun as one of type `kind` when it is not known.
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

    /// The call that `frame` belongs to. One whose name is not known cannot begin.
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
                (place, id) => item.is_named(place, id),
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

    /// An item is told as a whole; one that did not begin does so now, where `new` allows it.
    pub(super) fn settle(
        &mut self,
        output_index: Option<u64>,
        item: &super::frame::Item,
        new: bool,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) {
        let id = item.fields.id.as_deref();
        let named = |have: &OpenItem| have.is_named(output_index, id);
        let at = match self.items.iter().rposition(named) {
            Some(at) => at,
            None if new => self.open(output_index, &item.fields, answer, out),
            None => return,
        };
        self.items[at].settle(&item.fields, &item.raw, answer, out);
    }

    /// Ends what has not ended.
    pub(super) fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        for item in &mut self.items {
            item.kind.close(None, out);
        }
    }
}

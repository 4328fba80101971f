//! Puts the fragments of tool calls together.
//!
//! The norm: a call's fragments share an `index`, and the first has id and name. Servers also leave the
//! index out, repeat the id, give every call index 0, or send calls whole. What stays true: a fragment
//! belongs to the newest call that its index and id allow, and a new id is a new call.

use serde_json::Value;

use super::frame::CallPiece;
use crate::event::{Delta, StreamEvent};
use crate::wire::answer::Answer;
use osier_base::ids;

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    remote: Option<u64>,
    id: Option<String>,
    name: String,
    raw: String,
    signature: Option<String>,
    /// Our index, once the name is known.
    index: Option<usize>,
}

impl Calls {
    /// Takes one fragment.
    pub(super) fn push(
        &mut self,
        mut piece: CallPiece,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) {
        piece.id = piece.id.filter(|id| !id.is_empty());
        let at = self.find(&piece).unwrap_or_else(|| {
            self.calls.push(Call {
                remote: piece.index,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        self.calls[at].grow(piece, answer, out);
    }

    /// Ends every call.
    pub(super) fn finish(&mut self, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        for mut call in std::mem::take(&mut self.calls) {
            let index = call.open("unknown", answer, out);
            Answer::close_call(index, call.raw, call.signature, out);
        }
    }

    fn find(&self, piece: &CallPiece) -> Option<usize> {
        let newest = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        let at = match (piece.index, &piece.id) {
            (Some(index), _) => newest(&|call| call.remote == Some(index)),
            (None, Some(id)) => newest(&|call| call.id.as_ref() == Some(id)),
            (None, None) => self.calls.len().checked_sub(1),
        }?;
        (!self.calls[at].is_followed_by(piece)).then_some(at)
    }
}

impl Call {
    /// Whether `piece`, though it has this call's index, begins the next call.
    fn is_followed_by(&self, piece: &CallPiece) -> bool {
        match (&self.id, &piece.id) {
            (Some(own), Some(id)) => own != id,
            (_, None) => {
                let named = piece
                    .function
                    .name
                    .as_deref()
                    .is_some_and(|name| !name.is_empty());
                let more = arguments(piece.function.arguments.as_ref());
                named && !more.is_empty() && is_object(&self.raw)
            }
            (None, Some(_)) => is_object(&self.raw),
        }
    }

    fn grow(&mut self, piece: CallPiece, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        self.id = piece.id.or(self.id.take());
        if let Some(extra) = piece.extra_content {
            self.signature = Some(extra.to_string());
        }
        if self.name.is_empty() {
            self.name = piece.function.name.unwrap_or_default();
        }
        let delta = arguments(piece.function.arguments.as_ref());
        self.raw.push_str(&delta);
        if self.name.is_empty() {
            return;
        }
        // Fragments that came before the name are told with it.
        let delta = if self.index.is_none() {
            self.raw.clone()
        } else {
            delta
        };
        let index = self.open("", answer, out);
        if !delta.is_empty() {
            out.push(StreamEvent::Delta(Delta::ToolcallDelta { index, delta }));
        }
    }

    /// The call's index; tells its start when that was not done, with `name` if it has none.
    fn open(&mut self, name: &str, answer: &mut Answer, out: &mut Vec<StreamEvent>) -> usize {
        if let Some(index) = self.index {
            return index;
        }
        let id = self.id.get_or_insert_with(|| ids::prefixed("call")).clone();
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        }
        let index = answer.open_call(id, self.name.clone(), out);
        self.index = Some(index);
        index
    }
}

fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(whole) => whole.to_string(),
    }
}

fn is_object(raw: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(raw).is_ok()
}

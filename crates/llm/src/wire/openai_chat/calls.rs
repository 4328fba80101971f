//! Joins the fragments of tool calls.
//!
//! Usually the fragments of a call share an `index`, and the first one has id and name. Some servers omit the
//! index, repeat the id, use index 0 for every call, or send complete calls. In all cases, a fragment belongs
//! to the newest call that its index and id allow, and a new id is a new call.

use serde_json::Value;

use super::frame::CallFragment;
use crate::event::{Delta, StreamEvent};
use crate::wire::answer::{Answer, UNKNOWN_TOOL};
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
    /// The index in the answer, once the name is known.
    index: Option<usize>,
}

impl Calls {
    /// Adds a fragment.
    pub(super) fn push(
        &mut self,
        mut fragment: CallFragment,
        answer: &mut Answer,
        out: &mut Vec<StreamEvent>,
    ) {
        fragment.id = fragment.id.filter(|id| !id.is_empty());
        let at = self.find(&fragment).unwrap_or_else(|| {
            self.calls.push(Call {
                remote: fragment.index,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        self.calls[at].grow(fragment, answer, out);
    }

    /// Ends every call.
    pub(super) fn finish(&mut self, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        for mut call in std::mem::take(&mut self.calls) {
            if call.name.is_empty() && call.raw.is_empty() {
                answer.leave_out("a call without a name".to_owned());
                continue;
            }
            let index = call.open(UNKNOWN_TOOL, answer, out);
            Answer::close_call(index, call.raw, call.signature, out);
        }
    }

    fn find(&self, fragment: &CallFragment) -> Option<usize> {
        let newest = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        let at = match (fragment.index, &fragment.id) {
            // The start of a call can lack a valid index.
            (Some(index), _) => newest(&|call| call.remote == Some(index))
                .or_else(|| newest(&|call| call.remote.is_none())),
            (None, Some(id)) => newest(&|call| call.id.as_ref() == Some(id)),
            (None, None) => self.calls.len().checked_sub(1),
        }?;
        (!self.calls[at].is_followed_by(fragment)).then_some(at)
    }
}

impl Call {
    /// Whether the fragment starts the next call although it has the index of the current call.
    fn is_followed_by(&self, fragment: &CallFragment) -> bool {
        match (&self.id, &fragment.id) {
            (Some(own), Some(id)) => own != id,
            (_, None) => {
                let named = fragment
                    .function
                    .name
                    .as_deref()
                    .is_some_and(|name| !name.is_empty());
                let more = arguments(fragment.function.arguments.as_ref());
                named && !more.is_empty() && is_object(&self.raw)
            }
            (None, Some(_)) => is_object(&self.raw),
        }
    }

    fn grow(&mut self, fragment: CallFragment, answer: &mut Answer, out: &mut Vec<StreamEvent>) {
        self.id = fragment.id.or(self.id.take());
        if let Some(extra) = fragment.extra_content {
            self.signature = Some(extra.to_string());
        }
        if self.name.is_empty() {
            self.name = fragment.function.name.unwrap_or_default();
        }
        let delta = arguments(fragment.function.arguments.as_ref());
        self.raw.push_str(&delta);
        if self.name.is_empty() {
            return;
        }
        // Fragments before the name are emitted with it.
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

    /// The index of the call. Emits its start if necessary, with `name` if it has none.
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
        Some(value) => value.to_string(),
    }
}

fn is_object(raw: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(raw).is_ok()
}

//! Shared code of the wire formats: the description of a format, the interface of its decoder, and helpers for request
//! bodies.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::answer::Answer;
use super::values;
#[cfg(test)]
use super::vocabulary::{PartRow, ReasonRow};
use crate::event::StreamEvent;
use crate::frames::Framing;
use crate::model::{Api, KeyHeader, Model};
use crate::provider::Request;
use crate::sse::SseEvent;
use crate::status::TurnStatus;
use osier_base::percent;

/// Maximum length of `prompt_cache_key`.
const CACHE_KEY_LENGTH: usize = 64;

/// A wire format.
pub(crate) struct Wire {
    pub api: Api,
    /// The path, which is appended to the base URL of the model; `{model}` is replaced by the id of
    /// the model.
    pub path: &'static str,
    pub framing: Framing,
    /// The header of the key, unless `Compat` sets another.
    pub key_header: KeyHeader,
    pub own_headers: fn(&Request) -> Vec<(&'static str, String)>,
    pub body: fn(&Request) -> Body,
    pub decoder: fn(&Model) -> Box<dyn Decoder>,
    /// The reasons for which an answer ends.
    #[cfg(test)]
    pub reasons: &'static [ReasonRow],
    /// The kinds of the parts of an answer.
    #[cfg(test)]
    pub parts: &'static [PartRow],
}

/// The body of a request.
pub(crate) struct Body {
    pub json: Value,
    /// A hash of everything in the body that the model reads, if its thinking is bound to the
    /// conversation.
    pub prefix_hash: Option<String>,
}

impl From<Value> for Body {
    fn from(json: Value) -> Self {
        Self {
            json,
            prefix_hash: None,
        }
    }
}

impl Wire {
    /// The URL of a call. A version at the end of the base URL is not repeated.
    pub(crate) fn url(&self, model: &Model) -> String {
        let base = model.base_url.trim_end_matches('/');
        if model.compat.on_vertex {
            return format!(
                "{base}/models/{}:streamRawPredict",
                percent::segment(model.id.as_bytes())
            );
        }
        let (base, path) = match (self.path.strip_prefix("/v1"), base.strip_suffix("/v1")) {
            (Some(_), Some(base)) => (base, self.path),
            // The base URL is that of the compatible endpoint, but the native one is used.
            (None, Some(base)) if self.path.starts_with("/api/") => (base, self.path),
            _ => (base, self.path),
        };
        format!(
            "{base}{}",
            path.replace("{model}", &percent::segment(model.id.as_bytes()))
        )
    }

    pub(crate) fn key_header(&self, model: &Model) -> KeyHeader {
        model.compat.key_header.unwrap_or(self.key_header)
    }
}

/// Decodes the events of an answer. Emits `Done` or `Failed` exactly once, as the last event.
pub(crate) trait Decoder: Send {
    /// Decodes one event; appends the result to `out`.
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>);

    /// Handles the end of the body. Appends the last event if it was not emitted yet.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);

    /// Ends the answer with `status` because the connection failed.
    fn fail(&mut self, status: TurnStatus, out: &mut Vec<StreamEvent>);

    /// Whether the last event was emitted.
    fn ended(&mut self) -> bool;
}

/// Decodes the objects of an answer. `Decoder` finds them in the events.
pub(super) trait ObjectDecoder: Send {
    fn answer(&mut self) -> &mut Answer;

    /// Decodes an object; `name` is the name of its event. Returns false if the object cannot be
    /// read.
    fn object(&mut self, name: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool;

    /// Handles the mark of the end, which most formats do not need.
    fn end_mark(&mut self, _out: &mut Vec<StreamEvent>) {}

    /// Ends the answer at the end of the body, or fails.
    fn close(&mut self, out: &mut Vec<StreamEvent>);
}

impl<T: ObjectDecoder> Decoder for T {
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) {
        if self.answer().ended() {
            return;
        }
        let name = event.event.as_deref().filter(|name| !name.is_empty());
        let (data, is_end) = values::without_end(&event.data);
        if values::is_object(data) {
            if !self.object(name, data, out) {
                self.answer().lose(data, out);
            }
        } else if !data.is_empty() {
            push_odd(self, name, data, out);
        }
        if is_end && !self.answer().ended() {
            self.end_mark(out);
        }
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        self.close(out);
    }

    fn fail(&mut self, status: TurnStatus, out: &mut Vec<StreamEvent>) {
        self.answer().fail(status, out);
    }

    fn ended(&mut self) -> bool {
        self.answer().ended()
    }
}

/// Decodes the data of an event that is not one object.
fn push_odd(
    decoder: &mut impl ObjectDecoder,
    name: Option<&str>,
    data: &str,
    out: &mut Vec<StreamEvent>,
) {
    let mut found = values::values(data);
    for other in &found.others {
        decoder.answer().skip(other);
    }
    if found.objects.is_empty() && !found.is_broken && name.is_some() {
        // An event can consist of its name alone.
        found.objects.push("{}".to_owned());
    }
    for object in found.objects {
        if decoder.answer().ended() {
            return;
        }
        if !decoder.object(name, &object, out) {
            decoder.answer().lose(&object, out);
        }
    }
    if found.is_broken && !decoder.answer().ended() {
        decoder.answer().lose(data, out);
    }
}

/// Deserializes `null` as the default value.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Adds the fields in `Compat`. They have precedence over the fields of the format.
pub(crate) fn add_extra(request: &Request, body: &mut Map<String, Value>) {
    for (name, value) in &request.model.compat.extra_body {
        body.insert(name.clone(), value.clone());
    }
}

/// The `prompt_cache_key` of OpenAI's formats, if the server supports it.
pub(crate) fn cache_key(request: &Request) -> Option<String> {
    let wanted = request.model.compat.prompt_cache_key;
    let key = request.options.cache_key.as_deref().filter(|_| wanted)?;
    Some(key.chars().take(CACHE_KEY_LENGTH).collect())
}

/// A decimal without the digits that result from widening a float.
pub(crate) fn decimal(value: f32) -> Value {
    value
        .to_string()
        .parse::<f64>()
        .map_or(Value::Null, Value::from)
}

/// `text`, or a note for the model if it is blank.
pub(crate) fn or_note(text: &str) -> Cow<'_, str> {
    match text.trim() {
        "" => Cow::Borrowed("(no output)"),
        _ => Cow::Borrowed(text),
    }
}

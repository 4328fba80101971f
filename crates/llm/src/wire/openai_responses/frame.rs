//! An event of a Responses stream. Fields of other types are absent.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::usage::Usage;
use crate::wire::format::or_default;
use crate::wire::repair::Shape;
use crate::wire::reported::{Count, Reported};

const PART: Shape = Shape::Carrier("text", &[("text", Shape::Text), ("refusal", Shape::Text)]);

const ITEM: Shape = Shape::Object(&[
    ("type", Shape::Word),
    ("id", Shape::Word),
    ("call_id", Shape::Word),
    ("name", Shape::Word),
    ("arguments", Shape::Json),
    ("input", Shape::Text),
    ("phase", Shape::Word),
    ("content", Shape::List(&PART)),
    ("summary", Shape::List(&PART)),
    ("encrypted_content", Shape::Word),
]);

pub(super) const RESPONSE: Shape = Shape::Object(&[
    ("id", Shape::Word),
    ("output", Shape::List(&ITEM)),
    (
        "incomplete_details",
        Shape::Carrier("reason", &[("reason", Shape::Word)]),
    ),
]);

/// The fields of an event.
pub(super) const FRAME: Shape = Shape::Object(&[
    ("output_index", Shape::Index),
    ("item_id", Shape::Word),
    ("content_index", Shape::Index),
    ("summary_index", Shape::Index),
    ("delta", Shape::Text),
    ("arguments", Shape::Json),
    ("input", Shape::Text),
    ("item", ITEM),
    ("response", RESPONSE),
]);

/// The fields of an event with a part of arguments.
pub(super) const ARGUMENTS_FRAME: Shape = Shape::Object(&[
    ("output_index", Shape::Index),
    ("item_id", Shape::Word),
    ("delta", Shape::Json),
    ("arguments", Shape::Json),
    ("input", Shape::Text),
]);

#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    #[serde(default, deserialize_with = "or_default")]
    pub r#type: String,
    /// The index of the item; absent on llama.cpp.
    #[serde(default)]
    pub output_index: Option<u64>,
    /// The id of the item. Some routers encrypt it differently in every event.
    #[serde(default)]
    pub item_id: Option<String>,
    #[serde(default)]
    pub content_index: Option<u64>,
    #[serde(default)]
    pub summary_index: Option<u64>,
    #[serde(default)]
    pub delta: Option<String>,
    #[serde(default)]
    pub arguments: Option<String>,
    #[serde(default)]
    pub input: Option<String>,
    #[serde(default)]
    pub item: Option<Item>,
    #[serde(default)]
    pub response: Option<Response>,
}

/// An output item. `raw` is the complete item, because reasoning is sent back unchanged.
#[derive(Debug)]
pub(super) struct Item {
    pub fields: ItemFields,
    pub raw: Value,
}

/// The known items; vendors' own tools have others.
const KNOWN_ITEMS: &[&str] = &["message", "reasoning", "function_call", "custom_tool_call"];

#[derive(Debug, Default, Deserialize)]
pub(super) struct ItemFields {
    #[serde(default)]
    pub r#type: String,
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub call_id: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    /// The arguments as JSON text.
    #[serde(default)]
    pub arguments: Option<String>,
    /// The input of a freeform call.
    #[serde(default)]
    pub input: Option<String>,
    /// `commentary` or `final_answer`.
    #[serde(default)]
    pub phase: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub content: Vec<Part>,
    #[serde(default, deserialize_with = "or_default")]
    pub summary: Vec<Part>,
    #[serde(default)]
    pub encrypted_content: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Response {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub output: Vec<Item>,
    #[serde(default)]
    pub usage: Reported<WireUsage>,
    #[serde(default)]
    pub incomplete_details: Option<Incomplete>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Incomplete {
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
    /// Routers: the cost in US dollars.
    pub cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    /// Converts to disjoint counts: in the stream, the input includes cached tokens.
    pub(super) fn disjoint(&self) -> Usage {
        let none = InputDetails::default();
        let details = self.input_tokens_details.as_ref().unwrap_or(&none);
        let input = self.input_tokens.or_zero();
        let cache_read = details.cached_tokens.or_zero().min(input);
        let cache_write = details.cache_write_tokens.or_zero();
        let cache_write = cache_write.min(input - cache_read);
        let reasoning = self.output_tokens_details.as_ref();
        Usage {
            input: input - cache_read - cache_write,
            output: self.output_tokens.or_zero(),
            cache_read,
            cache_write,
            reasoning: reasoning.map_or(0, |details| details.reasoning_tokens.or_zero()),
            ..Usage::default()
        }
    }
}

impl ItemFields {
    /// The text of a message, including refusals.
    pub(super) fn text(&self) -> String {
        let parts = self.content.iter();
        parts
            .filter_map(|part| part.text.as_deref().or(part.refusal.as_deref()))
            .collect()
    }

    /// Whether the item is a call whose name is not known.
    pub(super) fn is_nameless_call(&self) -> bool {
        let is_call = matches!(self.r#type.as_str(), "function_call" | "custom_tool_call");
        is_call && self.name.as_ref().is_none_or(String::is_empty)
    }

    /// Whether the item is a call with neither a name nor arguments.
    pub(super) fn is_empty_call(&self) -> bool {
        let is_blank = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        self.is_nameless_call() && is_blank(&self.arguments) && is_blank(&self.input)
    }

    pub(super) fn refuses(&self) -> bool {
        self.content.iter().any(|part| part.refusal.is_some())
    }

    /// The visible text of the reasoning: its summary, or its text.
    pub(super) fn visible_reasoning(&self) -> String {
        let parts = if self.summary.is_empty() {
            &self.content
        } else {
            &self.summary
        };
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| part.text.as_deref())
            .collect();
        texts.join("\n\n")
    }

    /// Whether the server can read this reasoning again without stored state.
    pub(super) fn is_replayable(&self) -> bool {
        let sealed = self.encrypted_content.as_deref();
        let readable = |part: &Part| part.text.as_ref().is_some_and(|text| !text.is_empty());
        sealed.is_some_and(|text| !text.is_empty()) || self.content.iter().any(readable)
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Value::deserialize(deserializer)?;
        let kind = raw.get("type").and_then(Value::as_str).unwrap_or_default();
        let fields = match ItemFields::deserialize(&raw) {
            Ok(fields) => fields,
            // Items of unknown types are not parsed.
            Err(_) if !KNOWN_ITEMS.contains(&kind) => ItemFields {
                r#type: kind.to_owned(),
                ..ItemFields::default()
            },
            Err(error) => return Err(serde::de::Error::custom(error)),
        };
        Ok(Self { fields, raw })
    }
}

//! A chunk of a Chat Completions stream, in every form that servers send.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::usage::Usage;
use crate::wire::format::or_default;
use crate::wire::repair::{Field, Shape};
use crate::wire::reported::{Count, Reported};

const FUNCTION: Shape = Shape::Object(&[("name", Shape::Word)]);

const CALL: Shape = Shape::Object(&[
    ("index", Shape::Index),
    ("id", Shape::Word),
    ("function", FUNCTION),
    ("name", Shape::Word),
]);

const PART: &[Field] = &[
    ("type", Shape::Word),
    ("text", Shape::Text),
    ("thinking", Shape::Parts(&[("text", Shape::Text)])),
    ("signature", Shape::Word),
];

const DELTA: Shape = Shape::Carrier(
    "content",
    &[
        ("content", Shape::Parts(PART)),
        ("refusal", Shape::Text),
        ("reasoning_content", Shape::Text),
        ("reasoning", Shape::Text),
        ("reasoning_text", Shape::Text),
        ("reasoning_details", Shape::List(&Shape::Any)),
        ("tool_calls", Shape::List(&CALL)),
        ("function_call", FUNCTION),
        ("annotations", Shape::List(&Shape::Any)),
    ],
);

const CHOICE: Shape = Shape::Object(&[
    ("index", Shape::Index),
    ("delta", DELTA),
    ("message", DELTA),
    ("text", Shape::Text),
    ("finish_reason", Shape::Reason),
]);

/// The fields of a chunk.
pub(super) const FRAME: Shape = Shape::Object(&[
    ("id", Shape::Word),
    ("choices", Shape::List(&CHOICE)),
    ("x_groq", Shape::Object(&[])),
]);

#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub choices: Vec<Choice>,
    #[serde(default)]
    pub usage: Reported<WireUsage>,
    /// Groq's field for usage and errors.
    #[serde(default)]
    pub x_groq: Option<Groq>,
    #[serde(default)]
    pub error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Groq {
    #[serde(default)]
    pub usage: Reported<WireUsage>,
    #[serde(default)]
    pub error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub delta: MessageDelta,
    /// The complete message, of servers that do not stream.
    #[serde(default, deserialize_with = "or_default")]
    pub message: MessageDelta,
    /// The text in the older completions format.
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Moonshot's field for usage.
    #[serde(default)]
    pub usage: Reported<WireUsage>,
}

impl Choice {
    /// Whether the choice has a part of the answer or its end.
    pub(super) fn has_content(&self) -> bool {
        let has_text = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        has_text(&self.text)
            || has_text(&self.finish_reason)
            || [&self.delta, &self.message].into_iter().any(|part| {
                let thinking = [
                    &part.reasoning_content,
                    &part.reasoning,
                    &part.reasoning_text,
                ];
                thinking.into_iter().chain([&part.refusal]).any(has_text)
                    || part.function_call.is_some()
                    || !part.tool_calls.is_empty()
                    || match &part.content {
                        Some(Content::Text(text)) => !text.is_empty(),
                        Some(Content::Parts(parts)) => !parts.is_empty(),
                        None => false,
                    }
            })
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct MessageDelta {
    #[serde(default)]
    pub content: Option<Content>,
    #[serde(default)]
    pub refusal: Option<String>,
    #[serde(default)]
    pub reasoning_content: Option<String>,
    #[serde(default)]
    pub reasoning: Option<String>,
    #[serde(default)]
    pub reasoning_text: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub reasoning_details: Vec<Value>,
    #[serde(default, deserialize_with = "or_default")]
    pub tool_calls: Vec<CallFragment>,
    /// The deprecated form of tool calls, which a few servers still send.
    #[serde(default)]
    pub function_call: Option<Function>,
    /// The pages that the answer cites.
    #[serde(default, deserialize_with = "or_default")]
    pub annotations: Vec<Value>,
    #[serde(default)]
    pub images: Option<Value>,
    #[serde(default)]
    pub audio: Option<Value>,
}

/// A text, or Mistral's list of text and thinking parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    pub r#type: Option<String>,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub thinking: Option<Thinking>,
    /// The signature of the thinking; returned unchanged.
    #[serde(default)]
    pub signature: Option<String>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Thinking {
    Text(String),
    Parts(Vec<Part>),
}

impl Thinking {
    pub(super) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CallFragment {
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub function: Function,
    /// Name and arguments on servers that omit `function`.
    #[serde(flatten)]
    pub flat: Function,
    /// Gemini's signatures on its compatible endpoint; returned unchanged.
    #[serde(default)]
    pub extra_content: Option<Value>,
}

impl CallFragment {
    /// The fragment with its function in one place.
    pub(super) fn nested(mut self) -> Self {
        let flat = std::mem::take(&mut self.flat);
        self.function.name = self.function.name.or(flat.name);
        self.function.arguments = self.function.arguments.or(flat.arguments);
        self
    }

    /// Whether the delta has no part of a call.
    pub(super) fn is_empty(&self) -> bool {
        let is_blank = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        let arguments = self.function.arguments.as_ref();
        is_blank(&self.id)
            && is_blank(&self.function.name)
            && arguments.is_none_or(|arguments| arguments.is_null() || arguments == "")
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function {
    #[serde(default)]
    pub name: Option<String>,
    /// JSON text, or the object itself on some servers.
    #[serde(default)]
    pub arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name of the field.
    prompt_cache_hit_tokens: Count,
    /// Kimi's name of the field.
    cached_tokens: Count,
    /// OpenRouter: the cost in US dollars.
    pub cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    /// Converts to disjoint counts: in the stream, the prompt includes cached tokens.
    pub(super) fn disjoint(&self) -> Usage {
        let none = PromptDetails::default();
        let details = self.prompt_tokens_details.as_ref().unwrap_or(&none);
        let prompt = self.prompt_tokens.or_zero();
        let counts = [
            details.cached_tokens,
            self.prompt_cache_hit_tokens,
            self.cached_tokens,
        ];
        let cache_read = counts.map(Count::or_zero).into_iter().max();
        let cache_read = cache_read.unwrap_or(0).min(prompt);
        let cache_write = details
            .cache_write_tokens
            .or_zero()
            .min(prompt - cache_read);
        let completion = self.completion_tokens.or_zero();
        let reasoning = self
            .completion_tokens_details
            .as_ref()
            .map_or(0, |details| details.reasoning_tokens.or_zero());
        // Some servers count thinking separately from the completion, which the total reveals.
        let apart = reasoning > 0 && self.total_tokens.0 == Some(prompt + completion + reasoning);
        Usage {
            input: prompt - cache_read - cache_write,
            output: completion + if apart { reasoning } else { 0 },
            cache_read,
            cache_write,
            reasoning,
            ..Usage::default()
        }
    }
}

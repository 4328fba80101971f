//! A chunk of a Gemini stream: a response with the new parts.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::errors::is_error;
use crate::usage::Usage;
use crate::wire::format::or_default;
use crate::wire::repair::Shape;
use crate::wire::reported::{Count, Reported};

const PART: Shape = Shape::Carrier(
    "text",
    &[
        ("text", Shape::Text),
        ("thought", Shape::Flag),
        ("thoughtSignature", Shape::Word),
        (
            "functionCall",
            Shape::Object(&[("id", Shape::Word), ("name", Shape::Word)]),
        ),
    ],
);

const CANDIDATE: Shape = Shape::Object(&[
    ("index", Shape::Index),
    (
        "content",
        Shape::Carrier("parts", &[("parts", Shape::List(&PART))]),
    ),
    ("finishReason", Shape::Reason),
    ("finishMessage", Shape::Text),
    (
        "groundingMetadata",
        Shape::Object(&[("groundingChunks", Shape::List(&Shape::Object(&[])))]),
    ),
]);

/// The fields of a chunk.
pub(super) const FRAME: Shape = Shape::Object(&[
    ("candidates", Shape::List(&CANDIDATE)),
    ("responseId", Shape::Word),
    (
        "promptFeedback",
        Shape::Object(&[
            ("blockReason", Shape::Reason),
            ("blockReasonMessage", Shape::Text),
        ]),
    ),
]);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frame {
    #[serde(default, deserialize_with = "or_default")]
    pub candidates: Vec<Candidate>,
    #[serde(default)]
    pub usage_metadata: Reported<WireUsage>,
    #[serde(default)]
    pub response_id: Option<String>,
    #[serde(default)]
    pub prompt_feedback: Option<Feedback>,
    #[serde(default)]
    error: Option<Value>,
}

impl Frame {
    /// Whether the frame has an error, or nothing of this format.
    pub(super) fn can_be_error(&self) -> bool {
        let is_empty = self.candidates.is_empty()
            && self.prompt_feedback.is_none()
            && !self.usage_metadata.is_some();
        is_empty || self.error.as_ref().is_some_and(is_error)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub content: Content,
    #[serde(default)]
    pub finish_reason: Option<String>,
    #[serde(default)]
    pub finish_message: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub grounding_metadata: Grounding,
}

/// The pages of a search.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Grounding {
    #[serde(deserialize_with = "or_default")]
    pub grounding_chunks: Vec<GroundingChunk>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GroundingChunk {
    pub web: Value,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Content {
    #[serde(default, deserialize_with = "or_default")]
    pub parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub thought: bool,
    #[serde(default)]
    pub thought_signature: Option<String>,
    #[serde(default)]
    pub function_call: Option<FunctionCall>,
    /// Parts of other kinds.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    /// The arguments; absent when there are none.
    #[serde(default)]
    pub args: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback {
    #[serde(default)]
    pub block_reason: Option<String>,
    #[serde(default)]
    pub block_reason_message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_field_names, reason = "the names on the wire")]
pub(super) struct WireUsage {
    prompt_token_count: Count,
    cached_content_token_count: Count,
    candidates_token_count: Count,
    thoughts_token_count: Count,
    tool_use_prompt_token_count: Count,
}

impl WireUsage {
    /// Converts to disjoint counts: in the stream, the prompt includes cached tokens, and thinking is
    /// separate from the answer.
    pub(super) fn disjoint(&self) -> Usage {
        let prompt = self.prompt_token_count.or_zero();
        let cache_read = self.cached_content_token_count.or_zero().min(prompt);
        let reasoning = self.thoughts_token_count.or_zero();
        Usage {
            input: prompt - cache_read + self.tool_use_prompt_token_count.or_zero(),
            output: self.candidates_token_count.or_zero() + reasoning,
            cache_read,
            reasoning,
            ..Usage::default()
        }
    }
}

//! An event of an Anthropic stream, or a complete message.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::format::or_default;
use crate::wire::repair::Shape;
use crate::wire::reported::{Count, Reported};

const USAGE: Shape = Shape::Any;

const BLOCK: Shape = Shape::Carrier(
    "text",
    &[
        ("type", Shape::Word),
        ("text", Shape::Text),
        ("thinking", Shape::Text),
        ("signature", Shape::Word),
        ("data", Shape::Word),
        ("id", Shape::Word),
        ("name", Shape::Word),
    ],
);

/// The fields of an event.
pub(super) const FRAME: Shape = Shape::Object(&[
    ("type", Shape::Word),
    ("index", Shape::Index),
    (
        "message",
        Shape::Object(&[("id", Shape::Word), ("usage", USAGE)]),
    ),
    ("content_block", BLOCK),
    (
        "delta",
        Shape::Carrier(
            "text",
            &[
                ("text", Shape::Text),
                ("thinking", Shape::Text),
                ("signature", Shape::Word),
                ("partial_json", Shape::Json),
                ("stop_reason", Shape::Reason),
            ],
        ),
    ),
    // A complete message instead of a stream.
    ("id", Shape::Word),
    ("content", Shape::List(&BLOCK)),
    ("stop_reason", Shape::Reason),
]);

/// All events as one type: fields of other events are absent.
#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    #[serde(default)]
    pub(super) r#type: Option<String>,
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(default)]
    pub(super) message: Option<Start>,
    #[serde(default)]
    pub(super) content_block: Option<Block>,
    #[serde(default)]
    pub(super) delta: Option<BlockDelta>,
    #[serde(default)]
    pub(super) usage: Reported<WireUsage>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) content: Vec<Block>,
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) stop_details: Value,
}

impl Frame {
    /// The type of the event, also if the event omits it.
    pub(super) fn kind(&self) -> Option<&'static str> {
        match (&self.message, &self.content_block, &self.delta) {
            (Some(Start { id: Some(_), .. }), ..) => Some("message_start"),
            (_, Some(_), _) => Some("content_block_start"),
            (_, _, Some(delta)) if delta.stop_reason.is_some() => Some("message_delta"),
            (_, _, Some(_)) => Some("content_block_delta"),
            _ => None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Start {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) usage: Reported<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Block {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) r#type: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) signature: Option<String>,
    #[serde(default)]
    pub(super) data: Option<String>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) input: Option<Value>,
    /// The other fields of a step of the provider.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

impl Block {
    pub(super) fn of(kind: &str) -> Self {
        Self {
            r#type: kind.to_owned(),
            ..Self::default()
        }
    }

    /// The type of the block, also if the block omits it.
    pub(super) fn kind(&self) -> &str {
        match self.r#type.as_str() {
            "" if self.text.is_some() => "text",
            "" if self.thinking.is_some() => "thinking",
            "" if self.name.is_some() => "tool_use",
            kind => kind,
        }
    }

    /// The step of the provider, to send it back.
    pub(super) fn hosted(self) -> Map<String, Value> {
        let mut block = self.rest;
        let fields = [
            ("type", Some(self.r#type)),
            ("id", self.id),
            ("name", self.name),
        ];
        let fields = fields
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?.into())));
        for (name, value) in fields.chain(self.input.map(|input| ("input", input))) {
            block.insert(name.to_owned(), value);
        }
        block
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct BlockDelta {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) signature: Option<String>,
    #[serde(default)]
    pub(super) partial_json: Option<String>,
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) stop_details: Value,
    /// The summary of a compaction. It must be the last field: a list in place of the object would
    /// fill the first fields, and this field accepts any value.
    #[serde(default)]
    pub(super) content: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Count,
}

//! The interface of providers: a request in, a stream of events out.

use std::fmt;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::StreamEvent;
use super::message::Message;
use super::model::{Model, ThinkingLevel};
use super::secret::Secret;
use super::sigv4::Signing;
use super::tuning::CacheRetention;

/// A running call. Dropping it cancels the call.
pub type EventStream = BoxStream<'static, StreamEvent>;

/// Answers requests. A stream always ends with `Done` or `Failed`.
pub trait Provider: Send + Sync + fmt::Debug {
    fn stream(&self, request: Request) -> EventStream;
}

/// One model call.
#[derive(Debug, Clone)]
pub struct Request {
    pub model: Arc<Model>,
    pub context: Context,
    pub options: CallOptions,
    pub api_key: Option<Secret>,
    /// Signs the request, for vendors that use signatures instead of keys.
    pub signing: Option<Arc<Signing>>,
}

/// The input of the model. Unchanged between turns except for new messages, so that prompt caches remain valid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Context {
    pub system_prompt: String,
    pub messages: Vec<Message>,
    pub tools: Vec<ToolSpec>,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments object.
    pub parameters: Value,
    /// How the tool is offered in APIs with freeform tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeform: Option<Freeform>,
}

impl ToolSpec {
    /// The description for vendors that require one.
    pub(crate) fn sent_description(&self) -> &str {
        match self.description.trim() {
            "" => &self.name,
            _ => &self.description,
        }
    }
}

/// How a tool with one argument, a text, is offered where models can write it without JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Freeform {
    /// The name of the argument.
    pub argument: String,
    /// The grammar of the text, in Lark.
    pub grammar: String,
}

/// The options of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOptions {
    /// A level that the model supports.
    pub thinking: ThinkingLevel,
    pub temperature: Option<f32>,
    /// Maximum tokens of the answer; the model's own limit when not set.
    pub max_tokens: Option<u64>,
    pub tool_choice: ToolChoice,
    /// Groups calls of one session for the provider's prompt cache.
    pub cache_key: Option<String>,
    pub cache_retention: CacheRetention,
    /// Whether the provider searches the web for the answer. Only for models that can.
    pub hosted_search: bool,
    /// Whether to add the request body to `StreamEvent::Request`.
    pub trace: bool,
    /// Whether to deliver every read at once, on the task that reads the stream, instead of in batches.
    pub unbatched: bool,
}

/// Whether the model can call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    #[default]
    Auto,
    Required,
    /// The model reads the definitions, but must not call a tool. Formats without this choice offer them as usual.
    None,
}

impl ToolChoice {
    /// The value in the formats of OpenAI; `None` for their default.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Required => Some("required"),
            Self::None => Some("none"),
        }
    }
}

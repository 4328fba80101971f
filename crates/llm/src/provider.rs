//! The seam between the agent and the vendors: a request in, a stream of events out.

use std::fmt;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::auth::Signing;
use super::event::StreamEvent;
use super::message::Message;
use super::model::{Model, ThinkingLevel};
pub use super::secret::Secret;

/// A running call. Dropping it cancels the call.
pub type EventStream = BoxStream<'static, StreamEvent>;

/// Something that can answer a request. Never panics and never ends without `Done` or `Failed`.
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
    /// In place of a key, where the vendor wants each request signed.
    pub signing: Option<Arc<Signing>>,
}

/// What the model reads. Byte-stable between turns up to the new messages, so that caches hit.
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
}

/// How the model is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallOptions {
    /// Already clamped to what the model has.
    pub thinking: ThinkingLevel,
    pub temperature: Option<f32>,
    /// Tokens; the model's own limit when not set.
    pub max_tokens: Option<u64>,
    pub tool_choice: ToolChoice,
    /// Groups calls of one session for the provider's prompt cache.
    pub cache_key: Option<String>,
    /// Put the request body into `StreamEvent::Request`.
    pub trace: bool,
}

/// Whether the model may call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    #[default]
    Auto,
    Required,
}

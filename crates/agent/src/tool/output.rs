//! The input and output of a running call.

use std::sync::Arc;

use osier_llm::ContentBlock;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::data::{ToolStatus, ToolUpdate};

/// The context of a running call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub call_id: String,
    /// Fires when the user interrupts.
    pub cancel: CancellationToken,
    pub updates: UpdateSink,
}

/// The sink for the progress of a running call. Cheap to clone; never blocks.
#[derive(Clone)]
pub struct UpdateSink(Arc<dyn Fn(ToolUpdate) + Send + Sync>);

impl UpdateSink {
    pub fn new(send: impl Fn(ToolUpdate) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// A sink that discards everything.
    pub fn discard() -> Self {
        Self::new(|_| {})
    }

    pub fn send(&self, update: ToolUpdate) {
        (self.0)(update);
    }
}

osier_base::opaque_debug!(UpdateSink);

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The content for the model.
    pub content: Vec<ContentBlock>,
    /// An object for the interface; the tool defines its fields. `Null` when there is none.
    pub details: Value,
    pub status: ToolStatus,
}

impl ToolOutput {
    pub fn success(text: impl Into<String>, details: Value) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            details,
            status: ToolStatus::Success,
        }
    }

    /// An error for the model; it should say what to do next.
    pub fn error(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::failed(
            ToolStatus::ExecutionError {
                message: message.clone(),
            },
            message,
        )
    }

    /// The text that the model reads.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(ContentBlock::as_text);
        texts.collect::<Vec<_>>().join("\n")
    }

    /// A failure with its status and the text the model reads.
    pub fn failed(status: ToolStatus, text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            details: Value::Null,
            status,
        }
    }
}

/// Why a call has no successful result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The arguments are invalid.
    Invalid(String),
    /// The arguments are valid, but the call failed, or would fail.
    Failed(String),
    /// The user interrupted the call. The text names the work that was not done.
    Interrupted(&'static str),
}

impl Refusal {
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl From<Refusal> for ToolOutput {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(message) => Self::error(message),
            Refusal::Interrupted(text) => Self::failed(ToolStatus::Aborted, text),
            Refusal::Invalid(message) => {
                let text = format!("invalid arguments: {message}");
                let path = String::new();
                Self::failed(ToolStatus::InvalidParameters { path, message }, text)
            }
        }
    }
}

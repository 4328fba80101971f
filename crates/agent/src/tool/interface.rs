//! The interface of a tool for the loop: its schema, its concurrency, and its result.
//!
//! A tool limits its own output, stops when its token is cancelled, and leaves no processes running unless
//! that was requested. It never panics on arguments; they were validated against its schema before `run`.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use osier_llm::{ContentBlock, ToolSpec};

use super::spellings::Spellings;
use crate::data::{ToolHints, ToolOrigin, ToolResultMessage, ToolStatus, ToolUpdate};

/// Something a model can call.
pub trait Tool: Send + Sync + fmt::Debug {
    /// Name, description and argument schema, as the model sees them.
    fn spec(&self) -> &ToolSpec;

    /// The origin of the tool.
    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Program
    }

    /// The tool's hints.
    fn hints(&self) -> ToolHints {
        ToolHints::default()
    }

    /// How models write its calls. Only for tools of the program.
    fn spellings(&self) -> &'static Spellings {
        &Spellings::NONE
    }

    /// Converts arguments as `Spellings::adapt` does, with what the tool knows besides.
    fn adapt(&self, arguments: &mut Map<String, Value>) -> Vec<String> {
        (self.spellings().adapt)(arguments)
    }

    /// The tools that this one is another form of. If the agent has them, models get it instead of them or not at all.
    fn replaces(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks valid arguments further, before permissions and hooks see the call.
    ///
    /// # Errors
    /// What is wrong, for the model.
    fn check(&self, _arguments: &Value) -> Result<(), String> {
        Ok(())
    }

    /// Another call that this one means: the name of the tool and its arguments. Only for tools of the program.
    fn redirect(
        &self,
        _arguments: &Map<String, Value>,
    ) -> Option<(&'static str, Map<String, Value>)> {
        None
    }

    /// How this call can run with the other calls of its message.
    fn concurrency(&self, _arguments: &Value) -> Concurrency {
        Concurrency::Parallel
    }

    /// Whether the run ends with this result of the tool: the model is not called again.
    fn ends_run(&self, _result: &ToolResultMessage) -> bool {
        false
    }

    /// Runs one call. Must return soon after `cx.cancel` fires, with its partial result.
    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput>;
}

/// The tools of an agent, in the order the model sees them.
pub type ToolSet = Vec<Arc<dyn Tool>>;

/// A source of tools that change while an agent lives: servers and plugins.
pub trait ToolSource: Send + Sync + fmt::Debug {
    /// The current tools, in a stable order. Called before every request: it must return immediately, with
    /// the same `Arc`s as long as nothing changed.
    fn tools(&self) -> ToolSet;
}

/// How a call can run with the other calls of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concurrency {
    /// In parallel with any call.
    Parallel,
    /// One at a time among calls with the same key: writes to one path.
    Serial(String),
    /// Alone: all earlier calls end first, and no later call starts before it ends.
    Exclusive,
}

/// The context of a running call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub call_id: String,
    /// Fires when the user interrupts.
    pub cancel: CancellationToken,
    pub updates: UpdateSink,
}

/// Where a running call reports its progress. Cheap to clone; never blocks.
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

impl fmt::Debug for UpdateSink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("UpdateSink")
    }
}

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

    /// A failure with its status and the text the model reads.
    pub fn failed(status: ToolStatus, text: impl Into<String>) -> Self {
        Self {
            content: vec![ContentBlock::text(text)],
            details: Value::Null,
            status,
        }
    }
}

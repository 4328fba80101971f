//! The interface of a tool for the loop: its schema, its concurrency, and its result.
//!
//! A tool limits its own output, stops when its token is cancelled, and leaves no processes running unless
//! that was requested. It never panics on arguments; they were validated against its schema before `run`.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::output::Output;
use osier_llm::{ContentBlock, ToolSpec};

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

    /// How this call can run with the other calls of its message.
    fn concurrency(&self, _arguments: &Value) -> Concurrency {
        Concurrency::Parallel
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

/// Who answers a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolOrigin {
    /// The program itself.
    Program,
    /// The plugin of this name.
    Plugin { name: String },
    /// The tool `tool` of the MCP server `server`; its full name can differ.
    Server { server: String, tool: String },
}

/// Hints about a tool; `None` when unknown. The hints of servers and plugins are claims, not guarantees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolHints {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It can remove or overwrite, not only add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Another call with the same arguments has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It accesses other machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl ToolHints {
    /// Of a tool that only reads.
    pub const READS: Self = Self {
        read_only: Some(true),
        destructive: None,
        idempotent: None,
        open_world: None,
    };
}

/// A tool as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    pub name: String,
    pub description: String,
    pub origin: ToolOrigin,
    pub hints: ToolHints,
    /// Whether the next request offers it.
    pub offered: bool,
    /// Length of its definition as JSON: about four bytes make a token.
    pub bytes: usize,
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

/// Progress of a running call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolUpdate {
    /// More output, to be appended.
    Output(Output),
    /// A progress line; it replaces the previous one.
    Status { text: String },
    /// The call runs in a terminal of the editor that drives the agent: its name there.
    Terminal { id: String },
    /// Something happened in the agent that runs inside of the call.
    Agent { event: Box<super::event::Event> },
}

impl ToolUpdate {
    /// The text of the update.
    pub fn text(&self) -> &str {
        match self {
            Self::Output(Output { text, .. }) | Self::Status { text } => text,
            Self::Agent { .. } | Self::Terminal { .. } => "",
        }
    }

    /// Merges `next` if both are of the same type. Beyond `limit` bytes of output, the oldest text is dropped
    /// and counted as skipped.
    pub fn merge(&mut self, next: &Self, limit: usize) -> bool {
        match (self, next) {
            (Self::Output(output), Self::Output(next)) => output.merge(next, limit),
            (Self::Status { text }, Self::Status { text: next }) => text.clone_from(next),
            _ => return false,
        }
        true
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

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ToolStatus {
    #[default]
    Success,
    ToolNotFound,
    /// `path` is the JSON pointer into the schema that failed.
    InvalidParameters {
        path: String,
        message: String,
    },
    ExecutionError {
        message: String,
    },
    Timeout {
        timeout_ms: u64,
    },
    Aborted,
    Denied {
        reason: String,
    },
    McpServerError {
        server: String,
        message: String,
    },
    ConnectionError {
        server: String,
        message: String,
    },
}

impl ToolStatus {
    pub fn is_success(&self) -> bool {
        *self == Self::Success
    }

    /// The name written in accounting and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::ToolNotFound => "tool_not_found",
            Self::InvalidParameters { .. } => "invalid_parameters",
            Self::ExecutionError { .. } => "execution_error",
            Self::Timeout { .. } => "timeout",
            Self::Aborted => "aborted",
            Self::Denied { .. } => "denied",
            Self::McpServerError { .. } => "mcp_server_error",
            Self::ConnectionError { .. } => "connection_error",
        }
    }
}

//! What the loop knows of a tool: its schema, how it may run beside others, and what it gives back.
//!
//! A tool bounds its own output, stops when its token is cancelled, and leaves nothing running behind
//! unless it was asked to. It never panics on what a model sends: arguments were checked against its
//! schema before `run`.

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

    /// Where it comes from.
    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Program
    }

    /// What it says of itself.
    fn hints(&self) -> ToolHints {
        ToolHints::default()
    }

    /// How this call may run beside the others of its message.
    fn concurrency(&self, _arguments: &Value) -> Concurrency {
        Concurrency::Parallel
    }

    /// Runs one call to its end. Must return soon after `cx.cancel` fires, with what it has.
    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput>;
}

/// The tools of an agent, in the order the model sees them.
pub type ToolSet = Vec<Arc<dyn Tool>>;

/// Where tools come from that come and go while an agent lives: servers, plug-ins.
pub trait ToolSource: Send + Sync + fmt::Debug {
    /// What it offers now, in an order that stays the same. Asked before every request: answers at
    /// once, and gives the same `Arc`s as long as nothing changed.
    fn tools(&self) -> ToolSet;
}

/// Who answers a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolOrigin {
    /// The program itself.
    Program,
    /// The plug-in of this name.
    Plugin { name: String },
    /// The tool `tool` of the MCP server `server`, which may have another name here.
    Server { server: String, tool: String },
}

/// What a tool says of itself; `None` when it says nothing. Hints of a server or a plug-in are claims,
/// not promises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolHints {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It may remove or overwrite, not only add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It reaches beyond this machine.
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

/// How a call may run beside the others of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Concurrency {
    /// Beside anything.
    Parallel,
    /// One at a time among calls with the same key: writes to one path.
    Serial(String),
    /// Alone: everything before it ends first, nothing after it starts earlier.
    Exclusive,
}

/// What a running call is given.
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

    /// A sink that forgets.
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
    /// One line that says how far the call is; it takes the place of the one before.
    Status { text: String },
    /// The call runs in a terminal of the editor that drives the agent: its name there.
    Terminal { id: String },
    /// Something happened in the agent that runs inside of the call.
    Agent { event: Box<super::event::Event> },
}

impl ToolUpdate {
    /// What it says.
    pub fn text(&self) -> &str {
        match self {
            Self::Output(Output { text, .. }) | Self::Status { text } => text,
            Self::Agent { .. } | Self::Terminal { .. } => "",
        }
    }

    /// Takes `next` into this one when they are of one kind. Beyond `limit` bytes of output the oldest
    /// text is dropped and counted as skipped.
    pub fn merge(&mut self, next: &Self, limit: usize) -> bool {
        match (self, next) {
            (Self::Output(output), Self::Output(next)) => output.merge(next, limit),
            (Self::Status { text }, Self::Status { text: next }) => text.clone_from(next),
            _ => return false,
        }
        true
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// What the interface shows; an object whose shape belongs to the tool. `Null` when there is none.
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

    /// A failure whose message the model reads; it should name what to do next.
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

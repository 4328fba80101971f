//! Information about tools in messages, events and lists.

use serde::{Deserialize, Serialize};

/// The origin of a tool.
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
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The tool can remove or overwrite, not only add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second call with the same arguments has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// The tool accesses other machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl ToolHints {
    /// The hints of a tool that only reads.
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
    /// The name for people that an MCP server gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub origin: ToolOrigin,
    pub hints: ToolHints,
    /// Whether the next request offers the tool.
    pub offered: bool,
    /// Length of the tool's definition as JSON; a token has about four bytes.
    pub bytes: usize,
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
    /// The arguments violate the schema at the JSON pointer `path`.
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

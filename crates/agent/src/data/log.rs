//! The log lines and accounting of a non-interactive run, as data. Print mode formats them; embedders can
//! store them.

use serde::{Deserialize, Serialize};

use osier_llm::Usage;

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    pub severity: LogSeverity,
    /// Model calls of the run, from 1.
    pub turn: u32,
    /// Tool calls within the turn, from 1; 0 is the model call itself.
    pub subturn: u32,
    pub direction: Direction,
    #[serde(rename = "type")]
    pub kind: LogKind,
    /// `provider:model`, `tool:NAME` or `SERVER:NAME`.
    pub remote_identifier: String,
    /// Whether this ended the run.
    pub fatal: bool,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LogSeverity {
    /// Exactly one per request and response.
    #[serde(rename = "VRB")]
    Verbose,
    /// An error that was handled.
    #[serde(rename = "WRN")]
    Warning,
    /// Something ended the run.
    #[serde(rename = "ERR")]
    Error,
    /// Complete requests and responses; only with tracing.
    #[serde(rename = "TRC")]
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Request,
    Response,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    Llm,
    Tool,
    Mcp,
}

/// The cost of a model call or tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum AccountingEntry {
    Llm {
        /// Milliseconds since the Unix epoch at which the call began.
        timestamp: i64,
        provider: String,
        model: String,
        usage: Usage,
        latency_ms: u64,
        /// `TurnStatus` name, e.g. `success`, `rate_limit`.
        status: String,
    },
    Tool {
        timestamp: i64,
        tool: String,
        latency_ms: u64,
        /// `ToolStatus` name.
        status: String,
        /// Characters of the text for the model.
        characters: u64,
    },
}

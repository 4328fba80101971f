//! What a run leaves behind for headless use: log lines and accounting, as data. The library writes
//! them nowhere; print mode formats them, embedders keep them.

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
    /// Something went wrong and was mended.
    #[serde(rename = "WRN")]
    Warning,
    /// Something ended the run.
    #[serde(rename = "ERR")]
    Error,
    /// Whole requests and responses; only made when tracing was asked for.
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

/// What one model call or tool call cost.
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
        /// Characters of text the model was given.
        characters: u64,
    },
}

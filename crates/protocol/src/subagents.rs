//! Subagents: agents that work on one task for the model, each with a conversation of its own.

use serde::{Deserialize, Serialize};

/// A subagent, for lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SubagentInfo {
    /// `agent1` for the first subagent of the session.
    pub id: String,
    /// The tool call that started it.
    pub call_id: String,
    /// The name of its definition, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The start of its task, on one line.
    pub task: String,
    /// `PROVIDER/ID`; empty until it starts.
    pub model: String,
    pub status: SubagentStatus,
    /// It runs in the background: its call has returned.
    pub background: bool,
    /// The present work: `reading src/a.rs`. Empty when it does nothing.
    pub activity: String,
    /// Model calls so far.
    pub turns: u32,
    /// Tokens of all its model calls.
    pub tokens: u64,
    /// Cost of all its model calls, in dollars.
    pub cost: f64,
    /// Milliseconds since the Unix epoch.
    pub started_at: i64,
    /// Milliseconds until now, or until its end.
    pub duration: u64,
}

impl SubagentInfo {
    /// Whether it has not ended.
    pub fn is_active(&self) -> bool {
        self.status.is_active()
    }

    /// Its id, and the name of its definition: `agent1 reviewer`.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.id),
            None => self.id.clone(),
        }
    }
}

osier_base::words! {
    /// The status of a subagent.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum SubagentStatus {
        /// Other subagents must end first.
        #[default]
        Waiting = "waiting",
        Running = "running",
        /// It waits for the answer to a question.
        Asks = "asks",
        Done = "done",
        Failed = "failed",
        /// The user stopped it, or interrupted its caller.
        Stopped = "stopped",
        /// It was running in the background when osier ended: nothing of its work continues.
        Lost = "lost",
    }
}

impl SubagentStatus {
    /// Whether the subagent has not ended.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Waiting | Self::Running | Self::Asks)
    }
}

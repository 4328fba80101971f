//! The most that a call of a tool does.

use osier_agent::ToolHints;
use serde::Serialize;

/// The most that a call of a tool does. Permissions, plan mode, checkpoints, subagents and editors derive from it how they
/// treat the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Shows something of this machine, or notes something in the session.
    Looks,
    /// Reads from the network.
    Fetches,
    /// Changes files.
    Changes,
    /// Runs programs.
    Runs,
    /// Waits for an answer of the user. Nobody watches a subagent, so subagents do not have the tool.
    Asks,
    /// Starts an agent, whose calls are judged one by one.
    Delegates,
}

impl ToolEffect {
    /// Whether a call runs without permission.
    pub fn is_free(self) -> bool {
        matches!(self, Self::Looks | Self::Asks | Self::Delegates)
    }

    /// Whether a call can change files.
    pub fn can_change_files(self) -> bool {
        matches!(self, Self::Changes | Self::Runs | Self::Delegates)
    }

    /// The hints for lists of tools.
    pub(super) fn hints(self) -> ToolHints {
        match self {
            Self::Looks | Self::Asks => ToolHints::READS,
            Self::Fetches => ToolHints {
                open_world: Some(true),
                ..ToolHints::READS
            },
            Self::Changes | Self::Runs | Self::Delegates => ToolHints::default(),
        }
    }
}

//! The kind of an entry, as one byte.

use crate::EntryKind;
use osier_agent::AgentMessage;
use serde::{Deserialize, Serialize};

/// The kind of an entry in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    User,
    Assistant,
    ToolResult,
    /// A message of another role.
    Message,
    /// A message for the model that the user does not see.
    Reminder,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    DroppedResults,
    BranchSummary,
    Label,
    /// How the tree is shown: hidden and collapsed branches.
    Hide,
    /// An entry whose content was deleted.
    Deleted,
    SessionInfo,
    Usage,
    /// Moves the current entry; not a node of the tree.
    Leaf,
    Checkpoint,
    /// An entry of a plugin or of a newer version.
    Other,
}

impl Tag {
    pub fn of(kind: &EntryKind) -> Self {
        match kind {
            EntryKind::Message { message } => match message {
                AgentMessage::User(_) => Self::User,
                AgentMessage::Assistant(_) => Self::Assistant,
                AgentMessage::ToolResult(_) => Self::ToolResult,
                AgentMessage::Custom(message) if !message.display => Self::Reminder,
                _ => Self::Message,
            },
            EntryKind::ModelChange { .. } => Self::ModelChange,
            EntryKind::ThinkingLevelChange { .. } => Self::ThinkingLevelChange,
            EntryKind::Compaction { .. } => Self::Compaction,
            EntryKind::DroppedResults { .. } => Self::DroppedResults,
            EntryKind::BranchSummary { .. } => Self::BranchSummary,
            EntryKind::Label { .. } => Self::Label,
            EntryKind::Hide { .. } | EntryKind::Fold { .. } => Self::Hide,
            EntryKind::Deleted { .. } => Self::Deleted,
            EntryKind::SessionInfo { .. } => Self::SessionInfo,
            EntryKind::Usage { .. } => Self::Usage,
            EntryKind::Leaf { .. } => Self::Leaf,
            EntryKind::Checkpoint { .. } => Self::Checkpoint,
            EntryKind::Custom { .. } | EntryKind::Unknown(_) => Self::Other,
        }
    }

    /// Whether the entry is a part of the conversation.
    pub fn is_shown(self) -> bool {
        self.is_message() || matches!(self, Self::Compaction | Self::BranchSummary)
    }

    pub fn is_message(self) -> bool {
        matches!(
            self,
            Self::User | Self::Assistant | Self::ToolResult | Self::Message | Self::Reminder
        )
    }

    /// Whether the index needs the complete entry, not only its start.
    pub fn is_read_whole(self) -> bool {
        matches!(
            self,
            Self::Label | Self::Hide | Self::Deleted | Self::SessionInfo | Self::Usage | Self::Leaf
        )
    }
}

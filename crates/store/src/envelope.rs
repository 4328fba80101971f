//! What the start of a line says about its entry, without reading the rest.
//!
//! This program writes the fields of an entry in one order, so that id, parent and kind stand in the
//! first bytes of a line however long it is. A line that begins otherwise says nothing here and is
//! read as a whole.

use serde::{Deserialize, Serialize};

use super::entry::EntryKind;
use super::key::Key;
use osier_agent::AgentMessage;

/// What an entry is, as far as the index tells entries apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    User,
    Assistant,
    ToolResult,
    /// A message of another role.
    Message,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    BranchSummary,
    Label,
    Hide,
    SessionInfo,
    Usage,
    /// Moves the leaf; no part of the tree.
    Leaf,
    Checkpoint,
    /// A kind that only its readers care for, or one of a newer version.
    Other,
}

/// `type` of a line, and what it is.
const TYPES: &[(&[u8], Tag)] = &[
    (b"model_change", Tag::ModelChange),
    (b"thinking_level_change", Tag::ThinkingLevelChange),
    (b"compaction", Tag::Compaction),
    (b"branch_summary", Tag::BranchSummary),
    (b"label", Tag::Label),
    (b"hide", Tag::Hide),
    (b"session_info", Tag::SessionInfo),
    (b"usage", Tag::Usage),
    (b"checkpoint", Tag::Checkpoint),
    (b"custom", Tag::Other),
    (b"leaf", Tag::Leaf),
];

/// `role` of a message.
const ROLES: &[(&[u8], Tag)] = &[
    (b"user", Tag::User),
    (b"assistant", Tag::Assistant),
    (b"toolResult", Tag::ToolResult),
    (b"shellRun", Tag::Message),
    (b"branchSummary", Tag::Message),
    (b"compactionSummary", Tag::Message),
    (b"notice", Tag::Message),
    (b"custom", Tag::Message),
];

/// The first fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope {
    pub key: Key,
    pub parent: Option<Key>,
    pub tag: Tag,
}

/// How a record begins, and what stands behind its id.
pub(super) const START: &[u8] = b"{\"id\":\"";
pub(super) const AFTER_ID: &[u8] = b"\",\"parentId\":";
/// Bytes of an id.
pub(super) const ID: usize = 8;
/// A timestamp longer than this is none of ours.
const TIMESTAMP: usize = 40;

impl Tag {
    pub(super) fn of(kind: &EntryKind) -> Self {
        match kind {
            EntryKind::Message { message } => match message {
                AgentMessage::User(_) => Self::User,
                AgentMessage::Assistant(_) => Self::Assistant,
                AgentMessage::ToolResult(_) => Self::ToolResult,
                _ => Self::Message,
            },
            EntryKind::ModelChange { .. } => Self::ModelChange,
            EntryKind::ThinkingLevelChange { .. } => Self::ThinkingLevelChange,
            EntryKind::Compaction { .. } => Self::Compaction,
            EntryKind::BranchSummary { .. } => Self::BranchSummary,
            EntryKind::Label { .. } => Self::Label,
            EntryKind::Hide { .. } => Self::Hide,
            EntryKind::SessionInfo { .. } => Self::SessionInfo,
            EntryKind::Usage { .. } => Self::Usage,
            EntryKind::Leaf { .. } => Self::Leaf,
            EntryKind::Checkpoint { .. } => Self::Checkpoint,
            EntryKind::Custom { .. } | EntryKind::Unknown(_) => Self::Other,
        }
    }

    /// Whether a transcript shows the entry.
    pub fn is_shown(self) -> bool {
        self.is_message() || matches!(self, Self::Compaction | Self::BranchSummary)
    }

    pub fn is_message(self) -> bool {
        matches!(
            self,
            Self::User | Self::Assistant | Self::ToolResult | Self::Message
        )
    }

    /// Whether the index needs more of the entry than its start says.
    pub(super) fn is_read_whole(self) -> bool {
        matches!(
            self,
            Self::Label | Self::Hide | Self::SessionInfo | Self::Usage | Self::Leaf
        )
    }
}

impl Envelope {
    /// Reads the start of a whole line; `None` when it is not as this program writes it.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        if line.last() != Some(&b'}') {
            return None;
        }
        let (key, rest) = id(line.strip_prefix(START)?)?;
        let rest = rest.strip_prefix(AFTER_ID)?;
        let (parent, rest) = if let Some(rest) = rest.strip_prefix(b"null") {
            (None, rest)
        } else {
            let (parent, rest) = id(rest.strip_prefix(b"\"")?)?;
            (Some(parent), rest.strip_prefix(b"\"")?)
        };
        let (_, rest) = word(rest.strip_prefix(b",\"timestamp\":\"")?, TIMESTAMP)?;
        let (name, rest) = word(rest.strip_prefix(b",\"type\":\"")?, TIMESTAMP)?;
        let tag = if name == b"message" {
            let (role, _) = word(rest.strip_prefix(b",\"message\":{\"role\":\"")?, TIMESTAMP)?;
            find(ROLES, role)?
        } else {
            find(TYPES, name)?
        };
        Some(Self { key, parent, tag })
    }
}

/// Whether a record of this program begins here.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.len() > START.len() + ID + AFTER_ID.len()
        && bytes.starts_with(START)
        && bytes[START.len() + ID..].starts_with(AFTER_ID)
}

fn id(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let (id, rest) = bytes.split_at_checked(ID)?;
    let plain = id.iter().all(u8::is_ascii_alphanumeric);
    Some((Key::plain(id).filter(|_| plain)?, rest))
}

/// The text up to the next quote, without escapes.
fn word(bytes: &[u8], limit: usize) -> Option<(&[u8], &[u8])> {
    let start = &bytes[..bytes.len().min(limit)];
    let end = memchr::memchr(b'"', start)?;
    let word = &bytes[..end];
    let plain = !word.contains(&b'\\') && word.is_ascii();
    plain.then(|| (word, &bytes[end + 1..]))
}

fn find(table: &[(&[u8], Tag)], name: &[u8]) -> Option<Tag> {
    let row = table.iter().find(|(other, _)| *other == name)?;
    Some(row.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;
    use osier_agent::{Notice, Severity, ShellRun, ToolResultMessage, UserMessage};
    use osier_llm::AssistantMessage;

    fn entry(parent: Option<&str>, kind: EntryKind) -> Entry {
        Entry {
            id: "0123abcd".into(),
            parent_id: parent.map(str::to_owned),
            timestamp: "2026-01-01T00:00:00.000Z".into(),
            kind,
        }
    }

    #[test]
    fn the_start_of_a_written_line_says_what_the_whole_line_says() {
        let kinds = [
            EntryKind::message(AgentMessage::User(UserMessage::new("x", 1))),
            EntryKind::message(AgentMessage::Assistant(AssistantMessage::default())),
            EntryKind::message(AgentMessage::ToolResult(ToolResultMessage::default())),
            EntryKind::message(AgentMessage::ShellRun(ShellRun::default())),
            EntryKind::message(AgentMessage::Notice(Notice {
                severity: Severity::Info,
                text: String::new(),
                timestamp: 0,
            })),
            EntryKind::SessionInfo { name: None },
            EntryKind::Leaf { target_id: None },
            EntryKind::Hide {
                target_id: "00000001".into(),
                hidden: true,
            },
            EntryKind::Custom {
                custom_type: "x".into(),
                data: serde_json::Value::Null,
            },
        ];
        for kind in kinds {
            for parent in [None, Some("00000001")] {
                let entry = entry(parent, kind.clone());
                let line = serde_json::to_vec(&entry).unwrap();
                let envelope = Envelope::of(&line);
                assert!(envelope.is_some(), "{entry:?}");
                assert_eq!(
                    envelope,
                    Some(Envelope {
                        key: Key::plain(b"0123abcd").unwrap(),
                        parent: parent.and_then(|id| Key::plain(id.as_bytes())),
                        tag: Tag::of(&kind),
                    })
                );
                assert!(begins(&line));
            }
        }
    }

    #[test]
    fn anything_else_is_left_to_a_whole_reading() {
        let written = entry(None, EntryKind::Leaf { target_id: None });
        let line = serde_json::to_string(&written).unwrap();
        for other in [
            line.replacen('{', "{ ", 1),
            line.replacen("0123abcd", "0123\\\"cd", 1),
            line.replacen("leaf", "hologram", 1),
            line.replacen("null", "\"1\"", 1),
            line[..line.len() - 1].to_owned(),
            String::new(),
        ] {
            assert_eq!(Envelope::of(other.as_bytes()), None, "{other}");
        }
    }
}

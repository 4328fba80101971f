//! Parses the first fields of a line without the rest.
//!
//! osier writes the fields of an entry in a fixed order: id, parent and kind are in the first bytes of a line of any
//! length. Lines with another order are parsed completely.

use osier_protocol::Tag;

use super::key::Key;

/// Values of `type` and their tags.
const TYPES: &[(&[u8], Tag)] = &[
    (b"model_change", Tag::ModelChange),
    (b"thinking_level_change", Tag::ThinkingLevelChange),
    (b"compaction", Tag::Compaction),
    (b"dropped_results", Tag::DroppedResults),
    (b"branch_summary", Tag::BranchSummary),
    (b"label", Tag::Label),
    (b"hide", Tag::Hide),
    (b"fold", Tag::Hide),
    (b"deleted", Tag::Deleted),
    (b"session_info", Tag::SessionInfo),
    (b"usage", Tag::Usage),
    (b"checkpoint", Tag::Checkpoint),
    (b"custom", Tag::Other),
    (b"leaf", Tag::Leaf),
];

/// Values of `role` and their tags.
const ROLES: &[(&[u8], Tag)] = &[
    (b"user", Tag::User),
    (b"assistant", Tag::Assistant),
    (b"toolResult", Tag::ToolResult),
    (b"shellRun", Tag::Message),
    (b"branchSummary", Tag::Message),
    (b"compactionSummary", Tag::Message),
    (b"notice", Tag::Message),
];

/// The first fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope {
    pub key: Key,
    pub parent: Option<Key>,
    pub tag: Tag,
}

/// The start of a record, and the bytes after its id.
pub(super) const START: &[u8] = b"{\"id\":\"";
pub(super) const AFTER_ID: &[u8] = b"\",\"parentId\":";
/// Bytes of an id.
pub(super) const ID: usize = 8;
/// Maximum bytes of a timestamp that osier writes.
const TIMESTAMP: usize = 40;
/// Maximum bytes of the kind of a custom message; a longer one is parsed completely.
const KIND: usize = 80;

impl Envelope {
    /// Parses the start of a complete line; `None` if osier did not write it.
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
            let (role, rest) = word(rest.strip_prefix(b",\"message\":{\"role\":\"")?, TIMESTAMP)?;
            if role == b"custom" {
                custom(rest)?
            } else {
                find(ROLES, role)?
            }
        } else {
            find(TYPES, name)?
        };
        Some(Self { key, parent, tag })
    }
}

/// Whether a record written by osier starts here.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.len() > START.len() + ID + AFTER_ID.len()
        && bytes.starts_with(START)
        && bytes[START.len() + ID..].starts_with(AFTER_ID)
}

/// The tag of a custom message: whether the user sees it.
fn custom(rest: &[u8]) -> Option<Tag> {
    let (_, rest) = word(rest.strip_prefix(b",\"kind\":\"")?, KIND)?;
    match rest.strip_prefix(b",\"display\":")? {
        [b't', ..] => Some(Tag::Message),
        [b'f', ..] => Some(Tag::Reminder),
        _ => None,
    }
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
    use osier_agent::{
        AgentMessage, CustomMessage, Notice, Severity, ShellRun, ToolResultMessage, UserMessage,
    };
    use osier_llm::AssistantMessage;
    use osier_protocol::{Entry, EntryKind, Jump};

    fn entry(parent: Option<&str>, kind: EntryKind) -> Entry {
        Entry {
            id: "0123abcd".into(),
            parent_id: parent.map(str::to_owned),
            timestamp: "2026-01-01T00:00:00.000Z".into(),
            kind,
        }
    }

    fn custom_message(display: bool) -> EntryKind {
        EntryKind::message(AgentMessage::Custom(CustomMessage {
            kind: "date".into(),
            display,
            text: "It is late.".into(),
            details: serde_json::Value::Null,
            timestamp: 1,
        }))
    }

    #[test]
    fn envelope_agrees_with_the_parsed_line() {
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
            custom_message(true),
            custom_message(false),
            EntryKind::SessionInfo { name: None },
            EntryKind::Leaf {
                target_id: None,
                before_id: None,
                jump: Jump::Usual,
            },
            EntryKind::Hide {
                target_id: "00000001".into(),
                hidden: true,
            },
            EntryKind::Fold {
                target_id: "00000001".into(),
                folded: true,
            },
            EntryKind::Deleted {
                provider: String::new(),
                model: String::new(),
                usage: None,
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
    fn unusual_lines_have_no_envelope() {
        let written = entry(
            None,
            EntryKind::Leaf {
                target_id: None,
                before_id: None,
                jump: Jump::Usual,
            },
        );
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

//! The lines of a session file: a header, then entries.
//!
//! Every entry names its parent, so the entries form a tree; the lines are in chronological order. Entries of
//! unknown types keep all their fields: they stay part of the tree and are copied when a session is forked.

use osier_agent::AgentMessage;
use osier_base::{clock, ids, json};
use osier_llm::{ThinkingLevel, Usage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::path::Path;

/// Version of the file format that is written.
pub const VERSION: u32 = 1;

/// First line of a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    #[serde(rename = "type")]
    tag: HeaderTag,
    pub version: u32,
    /// UUIDv7.
    pub id: String,
    /// RFC 3339 in UTC.
    pub timestamp: String,
    /// The working directory of the session; empty if the header is damaged.
    pub cwd: String,
    /// Id of the session this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum HeaderTag {
    /// Other programs use the header `session`: they would take the file for their own, and change it.
    #[serde(rename = "osier_session", alias = "session")]
    Session,
}

impl Header {
    /// Whether the session began at or after this time, in milliseconds since the Unix epoch.
    pub fn begins_after(&self, milliseconds: i64) -> bool {
        // Both are RFC 3339 with milliseconds in UTC.
        clock::rfc3339(milliseconds) <= self.timestamp
    }

    /// Parses the first line of a session file.
    pub fn parse(line: &[u8]) -> serde_json::Result<Self> {
        json::from_record(line)
    }

    /// The header of a new session in `cwd`.
    pub fn new(cwd: &Path) -> Self {
        Self::with_id(ids::session_id(), clock::rfc3339(clock::now_ms()), cwd)
    }

    /// The header of an imported session: `id` is a UUID, `timestamp` RFC 3339.
    pub fn imported(id: String, timestamp: String, cwd: &str) -> Self {
        Self::with_id(id, timestamp, Path::new(cwd))
    }

    pub fn with_id(id: String, timestamp: String, cwd: &Path) -> Self {
        Self {
            tag: HeaderTag::Session,
            version: VERSION,
            id,
            timestamp,
            cwd: cwd.to_string_lossy().into_owned(),
            parent_session: None,
        }
    }
}

/// One line after the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Eight hex digits, unique in the file.
    pub id: String,
    /// `None` for a root.
    pub parent_id: Option<String>,
    /// RFC 3339 in UTC.
    pub timestamp: String,
    #[serde(flatten)]
    pub kind: EntryKind,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum EntryKind {
    Message {
        message: AgentMessage,
    },
    ModelChange {
        provider: String,
        model_id: String,
    },
    ThinkingLevelChange {
        thinking_level: ThinkingLevel,
    },
    /// A summary that replaces the entries on its path before `first_kept_entry_id`.
    Compaction {
        summary: String,
        first_kept_entry_id: String,
        tokens_before: u64,
        /// The context window, in tokens, that the conversation did not fit: a model with a larger one gets the entries
        /// themselves if they fit. 0 if the summary replaces them for every model.
        #[serde(default, skip_serializing_if = "crate::tree::is_zero")]
        window: u64,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
    },
    /// Results of tools that requests leave out from here on: their entries, and about how many tokens that saves. The
    /// entries keep their content.
    DroppedResults {
        entry_ids: Vec<String>,
        tokens: u64,
    },
    /// The summary of a branch that was left at `from_id`.
    BranchSummary {
        from_id: String,
        summary: String,
    },
    /// The label of an entry; without a label, its label is removed.
    Label {
        target_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Hides an entry and all entries below it, or shows them again. Nothing is removed.
    Hide {
        target_id: String,
        hidden: bool,
    },
    /// Collapses the entries below an entry in the tree, or expands them again.
    Fold {
        target_id: String,
        folded: bool,
    },
    /// The content of this entry was deleted permanently, with its branch. The cost of its answer stays known.
    Deleted {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        provider: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The name of the session; without a name, the name is removed.
    SessionInfo {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A state of the files. The checkpoint crate defines the fields.
    Checkpoint {
        data: Value,
    },
    /// Tokens of a model call that has no message, such as a summary or a title.
    Usage {
        kind: String,
        provider: String,
        model: String,
        usage: Usage,
    },
    /// State of a plugin; never sent to a model.
    Custom {
        custom_type: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    },
    /// Moves the current entry; `None` is before every root. Not a node of the tree.
    Leaf {
        #[serde(default)]
        target_id: Option<String>,
        /// The conversation continues before this prompt, with the files as they were before the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before_id: Option<String>,
        /// How the move changes the history of positions.
        #[serde(
            default,
            deserialize_with = "Jump::read",
            skip_serializing_if = "Jump::is_usual"
        )]
        jump: Jump,
    },
    /// A type of a newer version, or a known type with damaged fields: all fields except those of [`Entry`].
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

/// How a move of the current entry changes the history of positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Jump {
    /// The position that was left is the newest of the history.
    #[default]
    Usual,
    /// The same, and `redo_prompt` reverts the move.
    Undo,
    /// A step back in the history.
    Back,
    /// A step forward in the history.
    Forward,
    /// No move: entries of other branches were stored before.
    Stay,
}

impl Jump {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_usual(jump: &Self) -> bool {
        *jump == Self::Usual
    }

    /// A kind of a newer version counts as usual.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kind = Value::deserialize(deserializer)?;
        Ok(serde_json::from_value(kind).unwrap_or_default())
    }
}

/// Every known `type`.
const KNOWN: &[&str] = &[
    "message",
    "model_change",
    "thinking_level_change",
    "compaction",
    "dropped_results",
    "branch_summary",
    "label",
    "hide",
    "fold",
    "deleted",
    "session_info",
    "checkpoint",
    "usage",
    "custom",
    "leaf",
];

impl EntryKind {
    /// A message entry.
    pub fn message(message: AgentMessage) -> Self {
        Self::Message { message }
    }

    /// The message of a message entry.
    pub fn as_message(&self) -> Option<&AgentMessage> {
        match self {
            Self::Message { message } => Some(message),
            _ => None,
        }
    }

    /// Whether a session is worth a file once it holds this: a conversation has begun, or it was given a name.
    pub fn begins_file(&self) -> bool {
        match self {
            Self::Message { message } => !matches!(message, AgentMessage::Notice(_)),
            Self::SessionInfo { name } => name.is_some(),
            _ => false,
        }
    }

    /// Whether this is a use of its session, or only describes it.
    pub fn is_use(&self) -> bool {
        !matches!(
            self,
            Self::SessionInfo { .. }
                | Self::Label { .. }
                | Self::Hide { .. }
                | Self::Fold { .. }
                | Self::Deleted { .. }
                | Self::Usage { .. }
        )
    }

    /// [`is_use`](Self::is_use) of an entry with this `type`.
    pub fn is_use_type(name: &str) -> bool {
        !matches!(
            name,
            "session_info" | "label" | "hide" | "fold" | "deleted" | "usage"
        )
    }

    /// Whether this is a known type whose fields could not be read.
    pub fn is_damaged(&self) -> bool {
        match self {
            Self::Unknown(fields) => fields
                .get("type")
                .and_then(Value::as_str)
                .is_none_or(|name| KNOWN.contains(&name)),
            _ => false,
        }
    }
}

/// A message entry whose message is known to be an `M`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageEntry<M> {
    id: String,
    parent_id: Option<String>,
    timestamp: String,
    #[serde(rename = "type")]
    _tag: MessageTag,
    message: M,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageTag {
    Message,
}

/// The start of a message entry as osier writes it, by role.
const USER: &[u8] = br#""type":"message","message":{"role":"user","#;
const ASSISTANT: &[u8] = br#""type":"message","message":{"role":"assistant","#;
const TOOL_RESULT: &[u8] = br#""type":"message","message":{"role":"toolResult","#;

/// Maximum position of the message in a line, in bytes.
const ENVELOPE: usize = 160;

impl Entry {
    /// An entry of now, with an id of its own.
    pub fn new(parent_id: Option<String>, kind: EntryKind) -> Self {
        Self {
            id: ids::entry_id(),
            parent_id,
            timestamp: clock::rfc3339(clock::now_ms()),
            kind,
        }
    }

    /// Parses one line. Serde buffers the fields of tagged and flattened types before it parses them. Most
    /// lines are messages with a known start, which are parsed directly instead.
    pub fn parse(line: &[u8]) -> serde_json::Result<Self> {
        let start = &line[..line.len().min(ENVELOPE)];
        let begins = |with: &[u8]| start.windows(with.len()).any(|part| part == with);
        let direct = if begins(USER) {
            Self::parse_as(line, AgentMessage::User)
        } else if begins(ASSISTANT) {
            Self::parse_as(line, AgentMessage::Assistant)
        } else if begins(TOOL_RESULT) {
            Self::parse_as(line, AgentMessage::ToolResult)
        } else {
            None
        };
        direct.map_or_else(|| json::from_record(line), Ok)
    }

    fn parse_as<M: DeserializeOwned>(
        line: &[u8],
        message: impl FnOnce(M) -> AgentMessage,
    ) -> Option<Self> {
        let entry: MessageEntry<M> = serde_json::from_slice(line).ok()?;
        Some(Self {
            id: entry.id,
            parent_id: entry.parent_id,
            timestamp: entry.timestamp,
            kind: EntryKind::message(message(entry.message)),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use osier_agent::UserMessage;
    use osier_llm::{AssistantBlock, AssistantMessage};

    fn entry(kind: EntryKind) -> Entry {
        Entry {
            id: "00000001".into(),
            parent_id: None,
            timestamp: "2026-01-01T00:00:00.000Z".into(),
            kind,
        }
    }

    #[test]
    fn the_written_form_is_flat_and_in_camel_case() {
        let message = AgentMessage::User(UserMessage::new("hi", 5));
        assert_eq!(
            serde_json::to_string(&entry(EntryKind::message(message))).unwrap(),
            r#"{"id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","type":"message","message":{"role":"user","text":"hi","timestamp":5}}"#
        );
        let header = Header::with_id("x".into(), "t".into(), Path::new("/a"));
        assert_eq!(
            serde_json::to_value(header).unwrap(),
            json!({"type": "osier_session", "version": 1, "id": "x", "timestamp": "t", "cwd": "/a"})
        );
        let early =
            json!({"type": "session", "version": 1, "id": "x", "timestamp": "t", "cwd": ""});
        assert!(serde_json::from_value::<Header>(early).is_ok());
    }

    /// How the tree is shown.
    fn kinds_of_the_tree() -> [EntryKind; 4] {
        let target_id = "1".to_owned();
        [
            EntryKind::Label {
                target_id: target_id.clone(),
                label: None,
            },
            EntryKind::Hide {
                target_id: target_id.clone(),
                hidden: true,
            },
            EntryKind::Fold {
                target_id,
                folded: true,
            },
            EntryKind::Deleted {
                provider: "p".into(),
                model: "m".into(),
                usage: Some(Usage::default()),
            },
        ]
    }

    #[test]
    fn every_kind_reads_back_as_it_was_written() {
        let earlier = [
            EntryKind::message(AgentMessage::User(UserMessage::new("a\u{2028}\n", 1))),
            EntryKind::message(AgentMessage::Assistant(AssistantMessage {
                content: vec![AssistantBlock::Text {
                    text: "b".into(),
                    signature: None,
                }],
                ..AssistantMessage::default()
            })),
            EntryKind::message(AgentMessage::ToolResult(
                osier_agent::ToolResultMessage::default(),
            )),
            EntryKind::ModelChange {
                provider: "p".into(),
                model_id: "m".into(),
            },
            EntryKind::ThinkingLevelChange {
                thinking_level: ThinkingLevel::High,
            },
            EntryKind::Compaction {
                summary: "s".into(),
                first_kept_entry_id: "1".into(),
                tokens_before: 9,
                window: 7,
                details: json!({"a": 1}),
            },
            EntryKind::DroppedResults {
                entry_ids: vec!["1".into()],
                tokens: 9,
            },
            EntryKind::BranchSummary {
                from_id: "1".into(),
                summary: "s".into(),
            },
        ];
        let later = [
            EntryKind::SessionInfo {
                name: Some("n".into()),
            },
            EntryKind::Checkpoint { data: json!([1]) },
            EntryKind::Usage {
                kind: "compaction".into(),
                provider: "p".into(),
                model: "m".into(),
                usage: Usage::default(),
            },
            EntryKind::Custom {
                custom_type: "c".into(),
                data: Value::Null,
            },
            EntryKind::Leaf {
                target_id: None,
                before_id: None,
                jump: Jump::Usual,
            },
        ];
        let mut names = Vec::new();
        let kinds = earlier.into_iter().chain(kinds_of_the_tree());
        for kind in kinds.chain(later) {
            let entry = entry(kind);
            let line = serde_json::to_vec(&entry).unwrap();
            assert_eq!(Entry::parse(&line).unwrap(), entry);
            let value: Value = serde_json::from_slice(&line).unwrap();
            let name = value["type"].as_str().unwrap();
            assert_eq!(EntryKind::is_use_type(name), entry.kind.is_use(), "{name}");
            names.push(name.to_owned());
        }
        names.dedup();
        assert_eq!(names, KNOWN);
    }

    #[test]
    fn a_type_of_a_newer_version_is_kept_as_it_is() {
        let line = br#"{"id":"1","parentId":"0","timestamp":"t","type":"hologram","depth":3}"#;
        let entry = Entry::parse(line).unwrap();
        assert!(!entry.kind.is_damaged());
        assert_eq!(serde_json::to_vec(&entry).unwrap(), line);

        let broken = br#"{"id":"1","parentId":null,"timestamp":"t","type":"message","message":{}}"#;
        assert!(Entry::parse(broken).unwrap().kind.is_damaged());
    }
}

//! The messages of a conversation: messages for the model, and messages of the application (shell runs, summaries,
//! notices, messages of embedders). Only `convert_to_llm` converts application messages to model messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use osier_base::text::enclosed;
use osier_llm::{AssistantMessage, ContentBlock};

use super::tool::ToolStatus;

/// One message of an agent's conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum AgentMessage {
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    ShellRun(ShellRun),
    BranchSummary(Summary),
    CompactionSummary(Summary),
    Notice(Notice),
    Custom(CustomMessage),
}

/// A prompt, steering message or follow-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// The text as typed, with pastes expanded.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The text that the user typed, if `text` differs: a template was expanded, text was piped in, or a plugin changed
    /// it. Empty if a hook or a plugin sent the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// The idempotency key with which a client sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<String>,
    /// Milliseconds since the Unix epoch.
    #[serde(default)]
    pub timestamp: i64,
}

/// A file attached to a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub id: String,
    pub kind: AttachmentKind,
    pub file_name: String,
    pub mime_type: String,
    /// Bytes of the file.
    pub size: u64,
    /// The file in base64; empty when only `extracted_text` is stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extracted_text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    Image,
    Document,
}

/// A tool result, with data for the interface and accounting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    #[serde(flatten)]
    pub result: osier_llm::ToolResult,
    #[serde(default)]
    pub status: ToolStatus,
    /// Data for the interface; each tool defines its fields.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    #[serde(default)]
    pub duration_ms: u64,
}

/// A command the user ran with `!` or `!!`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShellRun {
    pub command: String,
    /// The output; of a long one, only the start and the end.
    pub output: String,
    /// The exit code; not set when a signal ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default)]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Whether the run is not sent to the model (`!!`).
    #[serde(default)]
    pub exclude_from_context: bool,
    #[serde(default)]
    pub duration_ms: u64,
    #[serde(default)]
    pub timestamp: i64,
}

/// Replaces messages that are no longer sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub summary: String,
    /// Entry at which the summarised part began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_id: Option<String>,
    #[serde(default)]
    pub timestamp: i64,
}

/// A notice for the user; never sent to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    pub severity: Severity,
    pub text: String,
    #[serde(default)]
    pub timestamp: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// A message of an embedder or plugin; sent to the model as a user message if it has text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    pub kind: String,
    /// Whether the user sees it. Stored before the text, so that readers find it at the start of the line.
    #[serde(default)]
    pub display: bool,
    pub text: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    #[serde(default)]
    pub timestamp: i64,
}

impl UserMessage {
    pub fn new(text: impl Into<String>, timestamp: i64) -> Self {
        Self {
            text: text.into(),
            timestamp,
            ..Self::default()
        }
    }

    /// The text that the user typed; empty if the user did not send the message.
    pub fn typed(&self) -> &str {
        self.typed.as_deref().unwrap_or(&self.text)
    }
}

impl AgentMessage {
    /// The plain text for copying and searching: without thinking, arguments and details.
    pub fn text(&self) -> String {
        match self {
            Self::User(message) => message.text.clone(),
            Self::Assistant(message) => message.text(),
            Self::ToolResult(message) => text_of(&message.result.content),
            Self::ShellRun(run) => run.output.clone(),
            Self::BranchSummary(summary) | Self::CompactionSummary(summary) => {
                summary.summary.clone()
            }
            Self::Notice(notice) => notice.text.clone(),
            Self::Custom(message) => message.text.clone(),
        }
    }

    /// Milliseconds since the Unix epoch.
    pub fn timestamp(&self) -> i64 {
        match self {
            Self::User(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.result.timestamp,
            Self::ShellRun(run) => run.timestamp,
            Self::BranchSummary(summary) | Self::CompactionSummary(summary) => summary.timestamp,
            Self::Notice(notice) => notice.timestamp,
            Self::Custom(message) => message.timestamp,
        }
    }

    /// The text of an answer that has any; `None` for other messages.
    pub fn answer(&self) -> Option<String> {
        match self {
            Self::Assistant(answer) => Some(answer.text()).filter(|text| !text.trim().is_empty()),
            _ => None,
        }
    }
}

/// The last answer of a conversation: the text of the newest answer that has any.
pub(crate) fn last_answer<'a>(
    messages: impl DoubleEndedIterator<Item = &'a AgentMessage>,
) -> Option<String> {
    messages.rev().find_map(AgentMessage::answer)
}

/// The model messages for `messages`. Notices and excluded shell runs are omitted, attachments become blocks,
/// summaries are wrapped in `<summary>` tags, and shell runs become user text.
pub fn convert_to_llm<'a>(
    messages: impl IntoIterator<Item = &'a AgentMessage>,
) -> Vec<osier_llm::Message> {
    messages.into_iter().filter_map(convert).collect()
}

fn convert(message: &AgentMessage) -> Option<osier_llm::Message> {
    let user = |text: String, timestamp| {
        Some(osier_llm::Message::User(osier_llm::UserMessage {
            content: vec![ContentBlock::text(text)],
            timestamp,
        }))
    };
    match message {
        AgentMessage::User(message) => Some(osier_llm::Message::User(osier_llm::UserMessage {
            content: user_content(message),
            timestamp: message.timestamp,
        })),
        AgentMessage::Assistant(message) => Some(osier_llm::Message::Assistant(message.clone())),
        AgentMessage::ToolResult(message) => {
            Some(osier_llm::Message::ToolResult(message.result.clone()))
        }
        AgentMessage::ShellRun(run) if run.exclude_from_context => None,
        AgentMessage::ShellRun(run) => user(shell_text(run), run.timestamp),
        AgentMessage::BranchSummary(summary) => user(
            format!(
                "Summary of an abandoned branch:\n<summary>\n{}\n</summary>",
                summary.summary
            ),
            summary.timestamp,
        ),
        AgentMessage::CompactionSummary(summary) => user(
            format!(
                "Summary of the conversation so far:\n<summary>\n{}\n</summary>",
                summary.summary
            ),
            summary.timestamp,
        ),
        AgentMessage::Notice(_) => None,
        AgentMessage::Custom(message) if message.text.is_empty() => None,
        AgentMessage::Custom(message) => user(message.text.clone(), message.timestamp),
    }
}

fn user_content(message: &UserMessage) -> Vec<ContentBlock> {
    let mut content = Vec::with_capacity(1 + message.attachments.len());
    if !message.text.is_empty() {
        content.push(ContentBlock::text(&message.text));
    }
    content.extend(message.attachments.iter().map(attachment_block));
    content
}

fn attachment_block(attachment: &Attachment) -> ContentBlock {
    let name = &attachment.file_name;
    match (attachment.kind, &attachment.extracted_text) {
        (AttachmentKind::Image, _) => ContentBlock::Image {
            data: attachment.content.clone(),
            mime_type: attachment.mime_type.clone(),
        },
        (AttachmentKind::Document, Some(text)) if attachment.content.is_empty() => {
            ContentBlock::text(file_text(name, text))
        }
        (AttachmentKind::Document, text) if !attachment.content.is_empty() => ContentBlock::File {
            data: attachment.content.clone(),
            mime_type: attachment.mime_type.clone(),
            name: name.clone(),
            text: match text {
                Some(text) => file_text(name, text),
                None => format!(
                    "[The attached file `{name}` ({}, {} bytes) was left out, because this model does not accept such files.]",
                    attachment.mime_type, attachment.size
                ),
            },
        },
        (AttachmentKind::Document, _) => ContentBlock::text(format!(
            "[The attached file `{name}` ({}, {} bytes) has no text that could be extracted.]",
            attachment.mime_type, attachment.size
        )),
    }
}

fn file_text(name: &str, text: &str) -> String {
    enclosed("file", &format!(" name=\"{name}\""), text)
}

fn shell_text(run: &ShellRun) -> String {
    let ending = match (run.cancelled, run.exit_code) {
        (true, _) => "interrupted".to_owned(),
        (false, Some(code)) => format!("exit code {code}"),
        (false, None) => "ended by a signal".to_owned(),
    };
    format!(
        "I ran `{}` ({ending}):\n```\n{}\n```",
        run.command, run.output
    )
}

fn text_of(content: &[ContentBlock]) -> String {
    content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn application_messages_become_user_text_or_are_omitted() {
        let run = ShellRun {
            command: "ls".into(),
            output: "a\nb".into(),
            exit_code: Some(0),
            ..ShellRun::default()
        };
        let hidden = ShellRun {
            exclude_from_context: true,
            ..run.clone()
        };
        let notice = Notice {
            severity: Severity::Info,
            text: "hello".into(),
            timestamp: 0,
        };
        let converted = convert_to_llm(&[
            AgentMessage::ShellRun(run),
            AgentMessage::ShellRun(hidden),
            AgentMessage::Notice(notice),
            AgentMessage::CompactionSummary(Summary {
                summary: "goal".into(),
                ..Summary::default()
            }),
        ]);
        assert_eq!(
            converted,
            vec![
                osier_llm::Message::User(osier_llm::UserMessage::text(
                    "I ran `ls` (exit code 0):\n```\na\nb\n```"
                )),
                osier_llm::Message::User(osier_llm::UserMessage::text(
                    "Summary of the conversation so far:\n<summary>\ngoal\n</summary>"
                )),
            ]
        );
    }

    #[test]
    fn attachments_become_blocks_or_a_note() {
        let attachment = Attachment {
            id: "1".into(),
            kind: AttachmentKind::Document,
            file_name: "a.bin".into(),
            mime_type: "application/octet-stream".into(),
            size: 3,
            content: String::new(),
            extracted_text: None,
        };
        let text = Attachment {
            extracted_text: Some("hi".into()),
            ..attachment.clone()
        };
        let pdf = Attachment {
            mime_type: "application/pdf".into(),
            content: "JVBERi0=".into(),
            ..text.clone()
        };
        let message = UserMessage {
            text: "see".into(),
            attachments: vec![attachment, text, pdf],
            ..UserMessage::default()
        };
        assert_eq!(
            user_content(&message),
            vec![
                ContentBlock::text("see"),
                ContentBlock::text(
                    "[The attached file `a.bin` (application/octet-stream, 3 bytes) has no text that could be extracted.]"
                ),
                ContentBlock::text("<file name=\"a.bin\">\nhi\n</file>"),
                ContentBlock::File {
                    data: "JVBERi0=".into(),
                    mime_type: "application/pdf".into(),
                    name: "a.bin".into(),
                    text: "<file name=\"a.bin\">\nhi\n</file>".into(),
                },
            ]
        );
    }
}

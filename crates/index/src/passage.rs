//! What can be found of an entry: everything a person saw of it, each part up to a bound.
//!
//! Indexing and verifying read the same passages, so that what the index promises is there.

use serde::{Deserialize, Serialize};

use osier_agent::AgentMessage;
use osier_base::text::{head_bytes, tail_bytes};
use osier_llm::{AssistantBlock, ContentBlock};
use osier_store::{Entry, EntryKind};

/// Bytes of what people and models say.
const SAID: usize = 64 * 1024;
/// Bytes of a thought and of the arguments of a call.
const BESIDE: usize = 16 * 1024;
/// Bytes of the output of a tool: its start and its end.
const OUTPUT_HEAD: usize = 12 * 1024;
const OUTPUT_TAIL: usize = 4 * 1024;

/// Where in a session something was found; the first is worth most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Name,
    Label,
    Prompt,
    Answer,
    Summary,
    Call,
    Thinking,
    Output,
}

impl Source {
    /// One word for a list.
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Label => "label",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Summary => "summary",
            Self::Call => "call",
            Self::Thinking => "thinking",
            Self::Output => "output",
        }
    }
}

/// Hands over every passage of `entry`.
pub(super) fn passages(entry: &Entry, see: &mut dyn FnMut(Source, &str)) {
    match &entry.kind {
        EntryKind::Message { message } => of_message(message, see),
        EntryKind::Compaction { summary, .. } | EntryKind::BranchSummary { summary, .. } => {
            see(Source::Summary, head_bytes(summary, SAID));
        }
        _ => {}
    }
}

fn of_message(message: &AgentMessage, see: &mut dyn FnMut(Source, &str)) {
    match message {
        AgentMessage::User(message) => {
            see(Source::Prompt, head_bytes(&message.text, SAID));
            for attachment in &message.attachments {
                see(Source::Prompt, &attachment.file_name);
            }
        }
        AgentMessage::Assistant(message) => {
            for block in &message.content {
                match block {
                    AssistantBlock::Text { text, .. } => {
                        see(Source::Answer, head_bytes(text, SAID));
                    }
                    AssistantBlock::Thinking { thinking, .. } => {
                        see(Source::Thinking, head_bytes(thinking, BESIDE));
                    }
                    AssistantBlock::ToolCall(call) => {
                        see(Source::Call, &call.name);
                        strings(&call.arguments, &mut |text| {
                            see(Source::Call, head_bytes(text, BESIDE));
                        });
                    }
                }
            }
        }
        AgentMessage::ToolResult(message) => {
            let texts = message
                .result
                .content
                .iter()
                .filter_map(ContentBlock::as_text);
            texts.for_each(|text| output(text, see));
        }
        AgentMessage::ShellRun(run) => {
            see(Source::Call, head_bytes(&run.command, BESIDE));
            output(&run.output, see);
        }
        AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
            see(Source::Summary, head_bytes(&summary.summary, SAID));
        }
        AgentMessage::Custom(message) if message.display => {
            see(Source::Answer, head_bytes(&message.text, SAID));
        }
        AgentMessage::Notice(_) | AgentMessage::Custom(_) => {}
    }
}

fn output(text: &str, see: &mut dyn FnMut(Source, &str)) {
    let head = head_bytes(text, OUTPUT_HEAD);
    see(Source::Output, head);
    let rest = &text[head.len()..];
    if !rest.is_empty() {
        see(Source::Output, tail_bytes(rest, OUTPUT_TAIL));
    }
}

fn strings(value: &serde_json::Value, see: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => see(text),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, see)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, see)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::ShellRun;

    #[test]
    fn of_long_output_the_start_and_the_end_are_found() {
        let middle = "m".repeat(OUTPUT_HEAD * 2);
        let run = ShellRun {
            command: "make".into(),
            output: format!("begin{middle}end"),
            ..ShellRun::default()
        };
        let mut seen = Vec::new();
        of_message(&AgentMessage::ShellRun(run), &mut |source, text| {
            seen.push((
                source,
                text.len(),
                text.starts_with("begin"),
                text.ends_with("end"),
            ));
        });
        assert_eq!(
            seen,
            [
                (Source::Call, 4, false, false),
                (Source::Output, OUTPUT_HEAD, true, false),
                (Source::Output, OUTPUT_TAIL, false, true),
            ]
        );
    }
}

//! The searchable texts of an entry: everything visible, each part up to a limit.
//!
//! Indexing and verifying use the same passages, so that every indexed match can be verified.

use osier_protocol::TextSource;

use osier_agent::AgentMessage;
use osier_base::text::{head_bytes, tail_bytes};
use osier_llm::{AssistantBlock, ContentBlock};
use osier_protocol::{Entry, EntryKind};

/// Maximum bytes of a message.
const MESSAGE: usize = 64 * 1024;
/// Maximum bytes of thinking and of call arguments.
const DETAIL: usize = 16 * 1024;
/// Bytes at the start and the end of a tool's output.
const OUTPUT_HEAD: usize = 12 * 1024;
const OUTPUT_TAIL: usize = 4 * 1024;

/// Calls `see` with every passage of `entry`.
pub(super) fn passages(entry: &Entry, see: &mut dyn FnMut(TextSource, &str)) {
    match &entry.kind {
        EntryKind::Message { message } => of_message(message, see),
        EntryKind::Compaction { summary, .. } | EntryKind::BranchSummary { summary, .. } => {
            see(TextSource::Summary, head_bytes(summary, MESSAGE));
        }
        _ => {}
    }
}

fn of_message(message: &AgentMessage, see: &mut dyn FnMut(TextSource, &str)) {
    match message {
        AgentMessage::User(message) => {
            see(TextSource::Prompt, head_bytes(&message.text, MESSAGE));
            for attachment in &message.attachments {
                see(TextSource::Prompt, &attachment.file_name);
            }
        }
        AgentMessage::Assistant(message) => {
            for block in &message.content {
                match block {
                    AssistantBlock::Text { text, .. } => {
                        see(TextSource::Answer, head_bytes(text, MESSAGE));
                    }
                    AssistantBlock::Thinking { thinking, .. } => {
                        see(TextSource::Thinking, head_bytes(thinking, DETAIL));
                    }
                    AssistantBlock::ToolCall(call) => {
                        see(TextSource::Call, &call.name);
                        strings(&call.arguments, &mut |text| {
                            see(TextSource::Call, head_bytes(text, DETAIL));
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
            see(TextSource::Call, head_bytes(&run.command, DETAIL));
            output(&run.output, see);
        }
        AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
            see(TextSource::Summary, head_bytes(&summary.summary, MESSAGE));
        }
        AgentMessage::Custom(message) if message.display => {
            see(TextSource::Answer, head_bytes(&message.text, MESSAGE));
        }
        AgentMessage::Notice(_) | AgentMessage::Custom(_) => {}
    }
}

fn output(text: &str, see: &mut dyn FnMut(TextSource, &str)) {
    let head = head_bytes(text, OUTPUT_HEAD);
    see(TextSource::Output, head);
    let rest = &text[head.len()..];
    if !rest.is_empty() {
        see(TextSource::Output, tail_bytes(rest, OUTPUT_TAIL));
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
    fn long_output_is_searchable_at_its_start_and_end() {
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
                (TextSource::Call, 4, false, false),
                (TextSource::Output, OUTPUT_HEAD, true, false),
                (TextSource::Output, OUTPUT_TAIL, false, true),
            ]
        );
    }
}

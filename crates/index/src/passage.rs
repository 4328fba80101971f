//! The searchable texts of an entry: everything visible.
//!
//! Indexing and verifying use the same passages, so that every indexed match can be verified.

use osier_protocol::TextSource;

use osier_agent::AgentMessage;
use osier_base::json::each_text;
use osier_base::text::head_bytes;
use osier_llm::{AssistantBlock, ContentBlock};
use osier_protocol::{Entry, EntryKind};

/// Maximum bytes of one text: far more than a person or a tool writes.
const LONGEST: usize = 1024 * 1024;

/// Calls `see` with every passage of `entry`.
pub(super) fn passages(entry: &Entry, see: &mut dyn FnMut(TextSource, &str)) {
    match &entry.kind {
        EntryKind::Message { message } => of_message(message, see),
        EntryKind::Compaction { summary, .. } | EntryKind::BranchSummary { summary, .. } => {
            see(TextSource::Summary, head_bytes(summary, LONGEST));
        }
        _ => {}
    }
}

fn of_message(message: &AgentMessage, see: &mut dyn FnMut(TextSource, &str)) {
    match message {
        AgentMessage::User(message) => {
            see(TextSource::Prompt, head_bytes(&message.text, LONGEST));
            for attachment in &message.attachments {
                see(TextSource::Prompt, &attachment.file_name);
            }
        }
        AgentMessage::Assistant(message) => {
            for block in &message.content {
                match block {
                    AssistantBlock::Text { text, .. } => {
                        see(TextSource::Answer, head_bytes(text, LONGEST));
                    }
                    AssistantBlock::Thinking { thinking, .. } => {
                        see(TextSource::Thinking, head_bytes(thinking, LONGEST));
                    }
                    AssistantBlock::ToolCall(call) => {
                        see(TextSource::Call, &call.name);
                        each_text(&call.arguments, &mut |text| {
                            see(TextSource::Call, head_bytes(text, LONGEST));
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
            texts.for_each(|text| see(TextSource::Output, head_bytes(text, LONGEST)));
        }
        AgentMessage::ShellRun(run) => {
            see(TextSource::Call, head_bytes(&run.command, LONGEST));
            see(TextSource::Output, head_bytes(&run.output, LONGEST));
        }
        AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
            see(TextSource::Summary, head_bytes(&summary.summary, LONGEST));
        }
        AgentMessage::Custom(message) if message.display => {
            see(TextSource::Answer, head_bytes(&message.text, LONGEST));
        }
        AgentMessage::Notice(_) | AgentMessage::Custom(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::ShellRun;

    #[test]
    fn long_output_is_searchable_in_its_middle() {
        let run = ShellRun {
            command: "make".into(),
            output: format!("{0} needle {0}", "m".repeat(200_000)),
            ..ShellRun::default()
        };
        let mut seen = Vec::new();
        of_message(&AgentMessage::ShellRun(run), &mut |source, text| {
            seen.push((source, text.contains("needle")));
        });
        assert_eq!(
            seen,
            [(TextSource::Call, false), (TextSource::Output, true)]
        );
    }
}

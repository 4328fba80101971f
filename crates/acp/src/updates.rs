//! Session updates from messages and commands.

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;

use crate::tool_calls;
use osier_agent::{AgentMessage, AttachmentKind};
use osier_llm::{AssistantBlock, Usage};
use osier_protocol::{AddedCommand, StoredMessage};

/// Text of the message `id`.
pub(super) fn chunk(text: &str, id: Option<&str>) -> acp::ContentChunk {
    acp::ContentChunk::new(text.into()).message_id(id.map(acp::MessageId::new))
}

/// The tokens that a prompt used: those of the session after it without those before. Nothing without a model call.
pub(super) fn usage(before: &Usage, after: &Usage) -> Option<acp::Usage> {
    let since = |count: fn(&Usage) -> u64| count(after).saturating_sub(count(before));
    let input = since(|usage| usage.input);
    let (output, thinking) = (since(|usage| usage.output), since(|usage| usage.reasoning));
    let (read, written) = (
        since(|usage| usage.cache_read),
        since(|usage| usage.cache_write),
    );
    let total = input + output + read + written;
    (total > 0).then(|| {
        acp::Usage::new(total, input, output)
            .thought_tokens((thinking > 0).then_some(thinking))
            .cached_read_tokens(read)
            .cached_write_tokens(written)
    })
}

/// The slash commands of a session.
pub(super) fn commands(commands: Vec<AddedCommand>) -> acp::SessionUpdate {
    let commands = commands.into_iter().map(|command| {
        let hint = Some(command.argument).filter(|hint| !hint.is_empty());
        let input = hint.map(acp::UnstructuredCommandInput::new);
        acp::AvailableCommand::new(command.name, command.description)
            .input(input.map(acp::AvailableCommandInput::Unstructured))
    });
    acp::SessionUpdate::AvailableCommandsUpdate(acp::AvailableCommandsUpdate::new(
        commands.collect(),
    ))
}

/// The updates that show a stored message.
pub(super) fn stored_message(stored: &StoredMessage, cwd: &Path) -> Vec<acp::SessionUpdate> {
    let id = Some(stored.entry_id.as_str());
    let user = |text: &str| acp::SessionUpdate::UserMessageChunk(chunk(text, id));
    let agent = |text: &str| acp::SessionUpdate::AgentMessageChunk(chunk(text, id));
    match &*stored.message {
        AgentMessage::User(message) => {
            let attachments = message.attachments.iter();
            let attachments = attachments.map(|attachment| {
                let is_stored = !attachment.content.is_empty();
                if attachment.kind != AttachmentKind::Image || !is_stored {
                    return user(&format!("[{}]", attachment.file_name));
                }
                let image = acp::ImageContent::new(&attachment.content, &attachment.mime_type);
                let chunk = acp::ContentChunk::new(acp::ContentBlock::Image(image));
                acp::SessionUpdate::UserMessageChunk(chunk.message_id(id.map(acp::MessageId::new)))
            });
            std::iter::once(user(&message.text))
                .chain(attachments)
                .collect()
        }
        AgentMessage::Assistant(answer) => {
            let blocks = answer.content.iter().map(|block| match block {
                AssistantBlock::Text { text, .. } => agent(text),
                AssistantBlock::Thinking { thinking, .. } => {
                    acp::SessionUpdate::AgentThoughtChunk(chunk(thinking, id))
                }
                AssistantBlock::ToolCall(call) => acp::SessionUpdate::ToolCall(
                    tool_calls::started(&call.id, &call.name, &call.arguments, cwd),
                ),
            });
            blocks.collect()
        }
        AgentMessage::ToolResult(message) => {
            let call = tool_calls::finished(&message.result.tool_call_id, message, cwd);
            vec![acp::SessionUpdate::ToolCallUpdate(call)]
        }
        AgentMessage::ShellRun(run) => {
            let output = run.output.trim_end();
            vec![user(&format!("`{}`\n\n```\n{output}\n```", run.command))]
        }
        AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
            vec![agent(&summary.summary)]
        }
        AgentMessage::Custom(message) if message.display => vec![agent(&message.text)],
        AgentMessage::Custom(_) | AgentMessage::Notice(_) => Vec::new(),
    }
}

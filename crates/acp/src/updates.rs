//! What was said, as updates of a session.

use std::path::Path;

use serde_json::{Value, json};

use super::tools;
use osier_agent::AgentMessage;
use osier_context::AddedCommand;
use osier_llm::AssistantBlock;
use osier_store::StoredMessage;

/// A piece of a message.
pub(super) fn chunk(kind: &str, text: &str, message: Option<&str>) -> Value {
    let mut chunk = json!({
        "sessionUpdate": kind,
        "content": {"type": "text", "text": text},
    });
    if let Some(message) = message {
        chunk["messageId"] = json!(message);
    }
    chunk
}

/// The commands that a prompt may begin with.
pub(super) fn commands(known: &[AddedCommand]) -> Value {
    let commands: Vec<Value> = known
        .iter()
        .map(|command| {
            let hint = Some(&command.argument).filter(|hint| !hint.is_empty());
            json!({
                "name": command.name, "description": command.description,
                "input": hint.map(|hint| json!({"hint": hint})),
            })
        })
        .collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": commands})
}

/// The updates that tell a stored message again.
pub(super) fn replayed(stored: &StoredMessage, cwd: &Path) -> Vec<Value> {
    let id = Some(stored.entry_id.as_str());
    match &*stored.message {
        AgentMessage::User(message) => {
            let mut updates = vec![chunk("user_message_chunk", &message.text, id)];
            updates.extend(message.attachments.iter().map(|attachment| {
                let text = format!("[{}]", attachment.file_name);
                chunk("user_message_chunk", &text, id)
            }));
            updates
        }
        AgentMessage::Assistant(answer) => {
            let blocks = answer.content.iter().map(|block| match block {
                AssistantBlock::Text { text, .. } => chunk("agent_message_chunk", text, id),
                AssistantBlock::Thinking { thinking, .. } => {
                    chunk("agent_thought_chunk", thinking, id)
                }
                AssistantBlock::ToolCall(call) => {
                    let mut update = tools::call(&call.id, &call.name, &call.arguments, cwd);
                    update["sessionUpdate"] = json!("tool_call");
                    update
                }
            });
            blocks.collect()
        }
        AgentMessage::ToolResult(message) => {
            let mut update = tools::ended(&message.result.tool_call_id, message, cwd);
            update["sessionUpdate"] = json!("tool_call_update");
            vec![update]
        }
        AgentMessage::ShellRun(run) => {
            let text = format!("`{}`\n\n```\n{}\n```", run.command, run.output.trim_end());
            vec![chunk("user_message_chunk", &text, id)]
        }
        AgentMessage::BranchSummary(summary) | AgentMessage::CompactionSummary(summary) => {
            vec![chunk("agent_message_chunk", &summary.summary, id)]
        }
        AgentMessage::Custom(message) if message.display => {
            vec![chunk("agent_message_chunk", &message.text, id)]
        }
        AgentMessage::Custom(_) | AgentMessage::Notice(_) => Vec::new(),
    }
}

//! `osier sessions show`: prints a conversation.

use super::context::{CommandError, CommandResult, SessionsContext};
use crate::cli::commands::table::plain;
use crate::cli::exit::Exit;
use osier_agent::AgentMessage;
use osier_base::text::sanitize;
use osier_llm::AssistantBlock;
use osier_protocol::EntryKind;
use osier_store::{SessionError, load};

/// The number of lines of tool output without `--full`.
const OUTPUT_LINES: usize = 12;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name, id prefix or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Print the complete output of tools
    #[arg(long)]
    pub full: bool,

    /// Print the entries of all branches, one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let path = context.find(&options.session)?;
    if options.json {
        let loaded = load(&path)?;
        for entry in &loaded.entries {
            context.print_json(entry)?;
        }
        return Ok(Exit::Success);
    }
    let branch = branch(&path)?;
    for message in &branch {
        print_message(message, options.full, context)?;
    }
    Ok(Exit::Success)
}

/// The messages of the current branch, oldest first.
fn branch(path: &std::path::Path) -> Result<Vec<AgentMessage>, SessionError> {
    let loaded = load(path)?;
    let by_id: std::collections::HashMap<&str, usize> = loaded
        .entries
        .iter()
        .enumerate()
        .map(|(index, entry)| (entry.id.as_str(), index))
        .collect();
    let mut messages = Vec::new();
    let mut next = loaded.leaf.as_deref();
    while let Some(entry) = next
        .and_then(|id| by_id.get(id))
        .map(|index| &loaded.entries[*index])
    {
        if let EntryKind::Message { message } = &entry.kind {
            messages.push(message.clone());
        }
        next = entry.parent_id.as_deref();
    }
    messages.reverse();
    Ok(messages)
}

fn print_message(
    message: &AgentMessage,
    full: bool,
    context: &mut SessionsContext<'_>,
) -> Result<(), CommandError> {
    match message {
        AgentMessage::User(message) => {
            for line in sanitize(&message.text).lines() {
                context.print(&format!("> {line}"))?;
            }
        }
        AgentMessage::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    AssistantBlock::Text { text, .. } => {
                        context.print(sanitize(text).trim_end())?;
                    }
                    AssistantBlock::ToolCall(call) => {
                        let arguments = plain(&call.arguments.to_string());
                        context.print(&format!("[{}] {arguments}", plain(&call.name)))?;
                    }
                    AssistantBlock::Thinking { .. } => {}
                }
            }
            if let Some(error) = &answer.error_message {
                context.print(&format!("[failed] {}", plain(error)))?;
            }
        }
        AgentMessage::Notice(_) => return Ok(()),
        other => {
            let text = other.text();
            let text = sanitize(&text);
            let lines: Vec<&str> = text.lines().collect();
            let shown = if full {
                lines.len()
            } else {
                OUTPUT_LINES.min(lines.len())
            };
            for line in &lines[..shown] {
                context.print(&format!("    {line}"))?;
            }
            if shown < lines.len() {
                context.print(&format!(
                    "    … {} more lines; show them with `--full`",
                    lines.len() - shown
                ))?;
            }
        }
    }
    context.print("")
}

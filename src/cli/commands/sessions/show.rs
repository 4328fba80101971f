//! `osier sessions show`: a conversation as text.

use super::table::plain;
use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_agent::AgentMessage;
use osier_base::text::sanitize;
use osier_llm::AssistantBlock;
use osier_store::{EntryKind, SessionError, load};

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 12;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Its name, the start of its id, or its file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Everything tools printed, not only the first lines
    #[arg(long)]
    pub full: bool,

    /// Its entries on all branches, one JSON object a line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let path = desk.find(&options.session)?;
    if options.json {
        let loaded = load(&path)?;
        for entry in &loaded.entries {
            desk.json(entry)?;
        }
        return Ok(Exit::Success);
    }
    let branch = branch(&path)?;
    for message in &branch {
        say(message, options.full, desk)?;
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
        .map(|(place, entry)| (entry.id.as_str(), place))
        .collect();
    let mut messages = Vec::new();
    let mut next = loaded.leaf.as_deref();
    while let Some(entry) = next
        .and_then(|id| by_id.get(id))
        .map(|place| &loaded.entries[*place])
    {
        if let EntryKind::Message { message } = &entry.kind {
            messages.push(message.clone());
        }
        next = entry.parent_id.as_deref();
    }
    messages.reverse();
    Ok(messages)
}

fn say(message: &AgentMessage, full: bool, desk: &mut Desk<'_>) -> Result<(), super::Failed> {
    match message {
        AgentMessage::User(said) => {
            for line in sanitize(&said.text).lines() {
                desk.line(&format!("> {line}"))?;
            }
        }
        AgentMessage::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    AssistantBlock::Text { text, .. } => desk.line(sanitize(text).trim_end())?,
                    AssistantBlock::ToolCall(call) => {
                        let arguments = plain(&call.arguments.to_string());
                        desk.line(&format!("[{}] {arguments}", plain(&call.name)))?;
                    }
                    AssistantBlock::Thinking { .. } => {}
                }
            }
            if let Some(error) = &answer.error_message {
                desk.line(&format!("[failed] {}", plain(error)))?;
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
                desk.line(&format!("    {line}"))?;
            }
            if shown < lines.len() {
                desk.line(&format!(
                    "    … {} more lines: `--full` shows them",
                    lines.len() - shown
                ))?;
            }
        }
    }
    desk.line("")
}

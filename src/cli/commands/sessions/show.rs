//! `osier sessions show`: prints a conversation.

use super::context::{CommandError, CommandResult, SessionsContext};
use crate::cli::commands::table::plain;
use crate::cli::exit::Exit;
use osier_agent::AgentMessage;
use osier_base::text::sanitize;
use osier_llm::AssistantBlock;
use osier_protocol::EntryKind;
use osier_store::Reading;

/// The number of lines of tool output without `--full`.
const OUTPUT_LINES: usize = 12;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name, id prefix or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Print the complete output of tools
    #[arg(long, conflicts_with = "json")]
    pub full: bool,

    /// Print the entries of all branches, one JSON object per line
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let path = context.find(&options.session)?;
    let session = Reading::open(&path)?;
    if options.json {
        for number in 0..session.count() {
            if let Some(entry) = session.any_entry(number) {
                context.print_json(&entry)?;
            }
        }
        return Ok(Exit::Success);
    }
    for number in session.path(session.leaf()) {
        if !session.tag(number).is_message() {
            continue;
        }
        if let Some(EntryKind::Message { message }) =
            session.any_entry(number).map(|entry| entry.kind)
        {
            print_message(&message, options.full, context)?;
        }
    }
    Ok(Exit::Success)
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

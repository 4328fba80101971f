//! `osier sessions info`: shows the details of a session.

use super::context::{CommandResult, SessionsContext};
use crate::cli::commands::table::{directory, money, plain, time, tokens};
use crate::cli::exit::Exit;
use osier_base::text::{self, counted};
use osier_index::describe;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Select the session by name, id prefix or file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let path = context.find(&options.session)?;
    let (row, models) = describe(&path)?;
    if options.json {
        let mut value = serde_json::to_value(&row)?;
        value["models"] = serde_json::to_value(&models)?;
        context.print_json(&value)?;
        return Ok(Exit::Success);
    }
    let mut lines = vec![
        ("id", row.id.clone()),
        ("name", row.name.as_deref().map(plain).unwrap_or_default()),
        (
            "prompt",
            row.first_prompt.as_deref().map(plain).unwrap_or_default(),
        ),
        (
            "file",
            format!("{} ({})", row.path.display(), text::size(row.size)),
        ),
        ("directory", directory(&row.cwd)),
        ("created", time(row.created)),
        ("used", time(row.active)),
        (
            "contents",
            format!(
                "{}, {}, {}",
                counted(row.prompts, "prompt", "prompts"),
                counted(row.answers, "answer", "answers"),
                counted(row.tool_calls, "tool call", "tool calls")
            ),
        ),
        ("forked from", row.parent.clone().unwrap_or_default()),
        ("labels", plain(&row.labels.join(", "))),
    ];
    if row.damaged > 0 {
        lines.push((
            "damaged",
            format!("{}, skipped", counted(row.damaged, "line", "lines")),
        ));
    }
    let total = format!("{} tokens {}", tokens(row.tokens), money(row.cost));
    lines.push(("total", total));
    for (name, text) in lines.iter().filter(|(_, text)| !text.trim().is_empty()) {
        context.print(&format!("{name:<12} {}", text.trim_end()))?;
    }
    for model in &models {
        let line = format!(
            "{:<12} {}: {}, {} tokens {}",
            "",
            plain(&model.model),
            counted(model.calls, "call", "calls"),
            tokens(model.tokens()),
            money(model.cost)
        );
        context.print(line.trim_end())?;
    }
    Ok(Exit::Success)
}

//! `osier sessions info`: what is known of one session.

use super::table::{directory, money, plain, size, time, tokens};
use super::{Answer, Desk};
use crate::cli::exit::Exit;
use osier_index::describe;

#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Options {
    /// Its name, the start of its id, or its file
    #[arg(value_name = "SESSION")]
    pub session: String,

    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

pub(super) fn run(options: &Options, desk: &mut Desk<'_>) -> Answer {
    let path = desk.find(&options.session)?;
    let (row, models) = describe(&path)?;
    if options.json {
        let mut value = serde_json::to_value(&row)?;
        value["models"] = serde_json::to_value(&models)?;
        desk.json(&value)?;
        return Ok(Exit::Success);
    }
    let mut lines = vec![
        ("id", row.id.clone()),
        ("name", row.name.as_deref().map(plain).unwrap_or_default()),
        (
            "begins",
            row.first_prompt.as_deref().map(plain).unwrap_or_default(),
        ),
        (
            "file",
            format!("{} ({})", row.path.display(), size(row.size)),
        ),
        ("directory", directory(&row.cwd)),
        ("created", time(row.created)),
        ("used", time(row.active)),
        (
            "holds",
            format!(
                "{} prompts, {} answers, {} tool calls",
                row.prompts, row.answers, row.tool_calls
            ),
        ),
        ("forked from", row.parent.clone().unwrap_or_default()),
        ("labels", plain(&row.labels.join(", "))),
    ];
    if row.damaged > 0 {
        lines.push((
            "damaged",
            format!("{} lines; they are skipped", row.damaged),
        ));
    }
    let total = format!("{} tokens {}", tokens(row.tokens), money(row.cost));
    lines.push(("total", total));
    for (name, text) in lines.iter().filter(|(_, text)| !text.trim().is_empty()) {
        desk.line(&format!("{name:<12} {}", text.trim_end()))?;
    }
    for model in &models {
        let line = format!(
            "{:<12} {}: {} calls, {} tokens {}",
            "",
            plain(&model.model),
            model.calls,
            tokens(model.tokens()),
            money(model.cost)
        );
        desk.line(line.trim_end())?;
    }
    Ok(Exit::Success)
}

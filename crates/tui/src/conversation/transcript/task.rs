//! The steps of a subagent below its call: a line per step, the last few while collapsed.

use serde_json::Value;

use crate::status::footer::tokens;
use osier_agent::ToolResultMessage;
use osier_base::text;
use osier_session::subagents::{TaskDetails, TaskStep};
use osier_term::{Row, Span, Token};
use osier_tools::SUBAGENT;

/// Steps shown while collapsed.
const FOLDED_STEPS: usize = 3;

/// The details of a finished task; `None` for other tools.
pub(super) fn details(result: &ToolResultMessage) -> Option<TaskDetails> {
    if result.result.tool_name != SUBAGENT || result.details.is_null() {
        return None;
    }
    serde_json::from_value(result.details.clone()).ok()
}

/// The steps and their cost so far.
pub(super) fn rows(task: &TaskDetails, width: u16, expanded: bool) -> Vec<Row> {
    let hidden = if expanded {
        0
    } else {
        task.steps.len().saturating_sub(FOLDED_STEPS)
    };
    let mut rows = Vec::new();
    if hidden > 0 {
        rows.push(Row::plain(
            format!("  … {hidden} steps above"),
            Token::Muted,
        ));
    }
    rows.extend(task.steps[hidden..].iter().map(|step| row(step, width)));
    let total = task.spending.total;
    if total.total_tokens() > 0 {
        let mut cost = format!(
            "  {} turn{} · {} tokens",
            task.turns,
            if task.turns == 1 { "" } else { "s" },
            tokens(total.total_tokens())
        );
        if total.cost.total > 0.0 {
            cost = format!("{cost} · ${:.3}", total.cost.total);
        }
        let cost = text::truncate(&cost, usize::from(width)).into_owned();
        rows.push(Row::plain(cost, Token::Muted));
    }
    rows
}

fn row(step: &TaskStep, width: u16) -> Row {
    let (mark, token) = match step.status.as_deref() {
        None => ("  ◐ ", Token::Working),
        Some("success") => ("  ● ", Token::Success),
        Some(_) => ("  ● ", Token::Error),
    };
    let fields = step.arguments.as_object();
    let subject = fields.and_then(|fields| fields.values().find_map(Value::as_str));
    let line = format!("{} {}", step.tool, subject.unwrap_or_default());
    let line = text::single_line(text::head_bytes(&line, 400));
    let room = usize::from(width).saturating_sub(4);
    Row::new(vec![
        Span::new(mark, token),
        Span::new(text::truncate(&line, room).into_owned(), Token::ToolOutput),
    ])
}

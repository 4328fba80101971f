//! A subagent below its call: a row with its state, its work, tokens, cost and age, and its steps when the call is
//! expanded. The list and the page of subagents show the same.

use std::time::Duration;

use serde_json::Value;

use crate::status::activity::running_time;
use crate::status::footer::tokens;
use osier_agent::{ToolResultMessage, ToolStatus};
use osier_base::visible::visible;
use osier_base::{clock, text};
use osier_protocol::{SubagentInfo, SubagentStatus};
use osier_session::subagents::{TaskDetails, TaskStep};
use osier_term::{Row, Span, Token};
use osier_tools::SUBAGENT;

/// The details of a finished task; `None` for other tools.
pub(super) fn details(result: &ToolResultMessage) -> Option<TaskDetails> {
    if result.result.tool_name != SUBAGENT || result.details.is_null() {
        return None;
    }
    serde_json::from_value(result.details.clone()).ok()
}

/// The subagent of a finished task, as far as its details know it.
pub(super) fn of_details(details: &TaskDetails, result: &ToolResultMessage) -> SubagentInfo {
    let total = &details.spending.total;
    SubagentInfo {
        id: match details.id.as_str() {
            "" => "agent".to_owned(),
            id => id.to_owned(),
        },
        name: details.agent.as_deref().map(clean),
        status: match &result.status {
            ToolStatus::Success => SubagentStatus::Done,
            ToolStatus::Aborted => SubagentStatus::Stopped,
            _ => SubagentStatus::Failed,
        },
        background: details.background,
        turns: details.turns,
        tokens: total.total_tokens(),
        cost: total.cost.total,
        duration: result.duration_ms,
        ..SubagentInfo::default()
    }
}

/// The steps.
pub(super) fn steps(task: &TaskDetails, width: u16) -> impl Iterator<Item = Row> {
    task.steps.iter().map(move |step| row(step, width))
}

fn row(step: &TaskStep, width: u16) -> Row {
    let (mark, token) = match step.status.as_deref() {
        None => ("  ◐ ", Token::Working),
        Some("success") => ("  ● ", Token::Success),
        Some(_) => ("  ✗ ", Token::Error),
    };
    let fields = step.arguments.as_object();
    let subject = fields.and_then(|fields| fields.values().find_map(Value::as_str));
    let line = format!("{} {}", step.tool, subject.unwrap_or_default());
    let room = usize::from(width).saturating_sub(4);
    Row::new(vec![
        Span::new(mark, token),
        Span::new(
            text::truncate(&clean(&line), room).into_owned(),
            Token::ToolOutput,
        ),
    ])
}

/// A text of a model on one line.
fn clean(line: &str) -> String {
    text::single_line(&visible(text::head_bytes(line, 400)))
}

/// The row below the call, as wide as `width`. `since` is the time since the state was reported.
pub(crate) fn summary(info: &SubagentInfo, since: Duration, width: u16) -> Row {
    let width = usize::from(width);
    let (word, token) = state(info);
    // The call has the time of a subagent that ended with it.
    let ended = !info.is_active() && !info.background;
    let age = (!ended).then(|| age(info, since));
    let figures = figures(info, age);
    let mut row = Row::new(vec![
        Span::new(format!("  {} ", info.label()), Token::ToolName),
        Span::new(word, token),
    ]);
    let doing = doing(info);
    let room = width.saturating_sub(row.width() + text::width(&figures) + 3);
    if !doing.is_empty() && room >= 8 {
        let doing = text::truncate(&doing, room.saturating_sub(3)).into_owned();
        row.push(format!(" · {doing}"), Token::ToolOutput);
    }
    let left = width.saturating_sub(row.width());
    let gap = if figures.is_empty() { "" } else { " · " };
    let figures = format!("{gap}{figures}");
    row.push(text::truncate(&figures, left).into_owned(), Token::Muted);
    row
}

/// The state as a word, and its colour.
pub(crate) fn state(info: &SubagentInfo) -> (&'static str, Token) {
    let token = match info.status {
        SubagentStatus::Waiting => Token::Muted,
        SubagentStatus::Running => Token::Working,
        SubagentStatus::Asks | SubagentStatus::Stopped | SubagentStatus::Lost => Token::Warning,
        SubagentStatus::Done => Token::Success,
        SubagentStatus::Failed => Token::Error,
    };
    (info.status.name(), token)
}

/// The present work, and whether it runs in the background.
pub(crate) fn doing(info: &SubagentInfo) -> String {
    let place = if info.background {
        "in the background"
    } else {
        ""
    };
    let gap = if place.is_empty() || info.activity.is_empty() {
        ""
    } else {
        ", "
    };
    format!("{}{gap}{place}", info.activity)
}

/// `12k tokens · $0.010 · 1:05`.
pub(crate) fn figures(info: &SubagentInfo, age: Option<String>) -> String {
    let mut parts = Vec::new();
    if info.tokens > 0 {
        parts.push(format!("{} tokens", tokens(info.tokens)));
    }
    if info.cost > 0.0 {
        parts.push(format!("${:.3}", info.cost));
    }
    parts.extend(age);
    parts.join(" · ")
}

/// The time of a subagent so far, or its duration.
pub(crate) fn age(info: &SubagentInfo, since: Duration) -> String {
    if info.is_active() {
        running_time(Duration::from_millis(info.duration) + since)
    } else {
        clock::human_duration(info.duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_state_the_work_and_the_cost() {
        let info = SubagentInfo {
            id: "agent1".to_owned(),
            name: Some("reviewer".to_owned()),
            status: SubagentStatus::Running,
            activity: "reading src/a.rs".to_owned(),
            tokens: 12_300,
            cost: 0.0104,
            duration: 9_000,
            ..SubagentInfo::default()
        };
        let shown =
            |info: &SubagentInfo, width| summary(info, Duration::from_secs(1), width).text();
        assert_eq!(
            shown(&info, 80),
            "  agent1 reviewer running · reading src/a.rs · 12k tokens · $0.010 · 10s"
        );
        assert_eq!(
            shown(&info, 60),
            "  agent1 reviewer running · 12k tokens · $0.010 · 10s"
        );
        let ended = SubagentInfo {
            status: SubagentStatus::Done,
            background: true,
            activity: String::new(),
            ..info
        };
        assert_eq!(
            shown(&ended, 80),
            "  agent1 reviewer done · in the background · 12k tokens · $0.010 · 9.0s"
        );
    }
}

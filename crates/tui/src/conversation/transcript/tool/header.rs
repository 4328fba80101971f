//! The header of a call: its state, the tool, its subject and how the call ended.

use serde_json::Value;

use super::{Phase, ToolCell};
use crate::conversation::transcript::cell_style::plain;
use osier_agent::ToolStatus;
use osier_base::visible::visible;
use osier_base::{clock, text};
use osier_term::{Face, Row, Span, Token, Wrap};
use osier_tools::BuiltIn;

/// The end of a call without a result.
const INTERRUPTED: &str = "interrupted";

/// Moves a separator at the end of a row to the ending that it belongs to, in the next row.
fn join_separator(rows: &mut [Row], width: usize) {
    let Some([above, below]) = rows.last_chunk_mut() else {
        return;
    };
    let dangles = above.text().trim_end().ends_with(" ·");
    if let (true, Some(span)) = (dangles, above.spans.last_mut())
        && below.width() + 2 <= width
    {
        let kept = span.text.trim_end().trim_end_matches('·').trim_end();
        span.text = kept.to_owned().into();
        below.spans.insert(1, Span::new("· ", Token::Tool));
    }
}

impl ToolCell {
    pub(super) fn header_rows(
        &self,
        tool: Option<&BuiltIn>,
        width: u16,
        expanded: bool,
    ) -> Vec<Row> {
        let (_, token) = self.mark();
        let first = self.head();
        let rest = [Span::new("  ", Token::Tool)];
        let mut subject = self.subject(tool);
        if !expanded {
            subject = shorten_subject(&subject, width);
        }
        let Some(ending) = self.ending(tool) else {
            return plain(&subject, Token::Tool, width, &first, &rest);
        };
        // The words of a failure have its colour: the sign alone is easily missed.
        let ending_token = match token {
            Token::Error | Token::Warning => token,
            _ => Token::Tool,
        };
        let between = if subject.is_empty() { "" } else { " " };
        let clean = text::sanitize(&subject);
        let clean = text::expand_tabs(&clean);
        let mut lines: Vec<&str> = clean.split('\n').collect();
        let last = lines.pop().unwrap_or_default();
        let mut rows = Vec::new();
        let width = usize::from(width);
        let mut start = &first[..];
        for line in lines {
            Wrap::new(width)
                .hanging(start, &rest)
                .line(&[Span::new(line, Token::Tool)], &mut rows);
            start = &rest;
        }
        let last = [
            Span::new(format!("{last}{between}· "), Token::Tool),
            Span::new(ending, ending_token),
        ];
        Wrap::new(width)
            .hanging(start, &rest)
            .line(&last, &mut rows);
        join_separator(&mut rows, width);
        rows
    }

    /// The header in words: tool, state, then subject.
    pub(super) fn spoken_header(
        &self,
        tool: Option<&BuiltIn>,
        width: u16,
        expanded: bool,
    ) -> Vec<Row> {
        let ending = self.ending(tool).map(|ending| ending.replace(" · ", ", "));
        let state = match &self.phase {
            Phase::Streaming => "streaming".to_owned(),
            Phase::Running => "running".to_owned(),
            Phase::Interrupted => INTERRUPTED.to_owned(),
            Phase::Done(result) => {
                let is_named = matches!(
                    result.status,
                    ToolStatus::Aborted | ToolStatus::Denied { .. } | ToolStatus::Timeout { .. }
                );
                let word = if result.status.is_success() {
                    "done"
                } else {
                    "failed"
                };
                match ending {
                    Some(ending) if is_named || ending.starts_with(word) => ending,
                    Some(ending) => format!("{word}, {ending}"),
                    None => word.to_owned(),
                }
            }
        };
        let (_, token) = self.mark();
        let first = [Span::new(format!("Tool {}, {state}: ", self.name), token)];
        let rest = [Span::new("  ", Token::Tool)];
        let mut subject = self.subject(tool);
        if !expanded {
            subject = shorten_subject(&subject, width);
        }
        plain(&subject, Token::Tool, width, &first, &rest)
    }

    /// The mark and the name of the tool.
    pub(super) fn head(&self) -> [Span; 3] {
        let (mark, token) = self.mark();
        [
            Span::new(mark, token),
            Span::new(self.name.as_str(), Face::bold(Token::ToolName)),
            Span::new(" ", Token::Tool),
        ]
    }

    fn mark(&self) -> (&'static str, Token) {
        match &self.phase {
            Phase::Streaming if self.proposal.is_some() => ("◐ ", Token::Working),
            Phase::Streaming => ("○ ", Token::Muted),
            Phase::Running => ("◐ ", Token::Working),
            Phase::Interrupted => ("■ ", Token::Warning),
            Phase::Done(result) => match &result.status {
                ToolStatus::Success => ("● ", Token::Success),
                ToolStatus::Aborted | ToolStatus::Denied { .. } => ("■ ", Token::Warning),
                _ => ("✗ ", Token::Error),
            },
        }
    }

    /// The subject of the call, on one or more lines, with every character of the model visible.
    fn subject(&self, tool: Option<&BuiltIn>) -> String {
        visible(&self.raw_subject(tool)).into_owned()
    }

    fn raw_subject(&self, tool: Option<&BuiltIn>) -> String {
        let arguments = match &self.arguments {
            Value::Null => return partial_subject(&self.raw, tool),
            arguments => arguments,
        };
        let subject = tool.and_then(|tool| tool.subject(arguments));
        subject.unwrap_or_else(|| compact(arguments))
    }

    /// The duration of the call and how it ended; nothing while the call runs.
    fn ending(&self, tool: Option<&BuiltIn>) -> Option<String> {
        let result = match &self.phase {
            Phase::Done(result) => result,
            Phase::Interrupted => return Some(INTERRUPTED.to_owned()),
            Phase::Streaming | Phase::Running => return None,
        };
        let mut parts = Vec::new();
        match &result.status {
            ToolStatus::Success => {}
            ToolStatus::Aborted => parts.push(INTERRUPTED.to_owned()),
            ToolStatus::Denied { .. } => parts.push("denied".to_owned()),
            ToolStatus::Timeout { timeout_ms } => {
                parts.push(format!(
                    "timed out after {}",
                    clock::human_duration(*timeout_ms)
                ));
            }
            _ => match result.details.get("exitCode").and_then(Value::as_i64) {
                Some(code) => parts.push(format!("exit {code}")),
                None => match result.details.get("signal").and_then(Value::as_str) {
                    Some(signal) => parts.push(format!("killed by {signal}")),
                    None => parts.push("failed".to_owned()),
                },
            },
        }
        parts.extend(tool.and_then(|tool| tool.counted(&result.details)));
        if result.duration_ms >= 100 {
            parts.push(clock::human_duration(result.duration_ms));
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }
}

/// The first line of the subject, and how many follow.
fn shorten_subject(subject: &str, width: u16) -> String {
    let mut lines = subject.lines();
    let first = lines.next().unwrap_or_default();
    let columns = usize::from(width).saturating_sub(24).max(16);
    let first = text::truncate(first, columns * 2);
    match lines.count() {
        0 => first.into_owned(),
        more => format!("{first} (+{})", text::counted(more, "line", "lines")),
    }
}

/// The subject while its JSON still streams: the value of the subject's key as far as it has
/// arrived.
fn partial_subject(raw: &str, tool: Option<&BuiltIn>) -> String {
    let Some(tool) = tool else {
        return text::single_line(text::tail_bytes(raw, 200));
    };
    let part = tool.view.subject.first();
    let Some(part) = part.filter(|part| part.kind.is_text()) else {
        return "…".to_owned();
    };
    let key = format!("\"{}\"", part.argument);
    let value = raw
        .split_once(&key)
        .and_then(|(_, rest)| rest.trim_start().strip_prefix(':'))
        .and_then(|rest| rest.trim_start().strip_prefix('"'));
    let Some(value) = value else {
        return "…".to_owned();
    };
    let mut shown = String::new();
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('n') => shown.push('\n'),
                Some('t') => shown.push('\t'),
                Some(other) => shown.push(other),
                None => break,
            },
            other => shown.push(other),
        }
    }
    shown
}

/// `name: value, …` on one line.
fn compact(arguments: &Value) -> String {
    let Some(fields) = arguments.as_object() else {
        return text::single_line(&arguments.to_string());
    };
    let show = |value: &Value| match value.as_str() {
        Some(text) => text::single_line(&visible(text::head_bytes(text, 200))),
        None => value.to_string(),
    };
    fields
        .iter()
        .map(|(name, value)| format!("{name}: {}", show(value)))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streaming_command_shows_as_far_as_it_came() {
        let bash = osier_tools::find("bash");
        assert_eq!(
            partial_subject("{\"command\": \"ls -l\\n\\\"a", bash),
            "ls -l\n\"a"
        );
        assert_eq!(partial_subject("{\"comm", bash), "…");
    }

    #[test]
    fn a_separator_stays_with_its_ending() {
        let spans = |text: &str| [Span::new(text, Token::Tool)];
        let mut rows = Vec::new();
        let (first, rest) = (spans("● "), spans("  "));
        let line = [
            Span::new("sleep 3; done · ", Token::Tool),
            Span::new("3.7s", Token::Tool),
        ];
        Wrap::new(19).hanging(&first, &rest).line(&line, &mut rows);
        join_separator(&mut rows, 19);
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(shown, ["● sleep 3; done", "  · 3.7s"]);
    }

    #[test]
    fn a_carriage_return_hides_nothing_of_a_call() {
        let arguments = serde_json::json!({"command": "touch x\rls -la", "n": 1});
        assert_eq!(compact(&arguments), "command: touch x␍ls -la, n: 1");
        let mut cell = ToolCell::streaming("c".to_owned(), "bash".to_owned());
        cell.arguments = arguments;
        assert_eq!(cell.subject(osier_tools::find("bash")), "touch x␍ls -la");
    }
}

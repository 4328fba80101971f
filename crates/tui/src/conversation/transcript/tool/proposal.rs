//! The complete call that a question asks about: the command, the change, or the arguments. The
//! cell of the call shows it while the question waits; if the conversation does not have the cell,
//! the question shows it.

use serde_json::Value;

use crate::conversation::transcript::call_text;
use crate::drawing::fit::{more_lines, truncate};
use crate::drawing::preview_pane::written;
use osier_base::text;
use osier_base::visible::{Visible, marked, one_line, visible};
use osier_protocol::questions::{Question, QuestionKind, Subject};
use osier_term::widgets::diff;
use osier_term::widgets::diff::{DiffLayout, Syntax};
use osier_term::{Face, Row, Span, Token, Wrap};

/// Rows of a subject that are laid out at most.
const SUBJECT_ROWS: usize = 5000;

/// The subject of the question, row by row. Hidden characters are shown.
pub(crate) fn subject_rows(question: &Question, inner: usize, syntax: &Syntax) -> Vec<Row> {
    match &question.subject {
        None => Vec::new(),
        Some(subject) => {
            let head = [Span::new("$ ", Token::Muted)];
            let mut rows = Vec::new();
            if let Subject::Diff { path, diff } = subject {
                let (added, removed) = diff::counts(diff);
                let title = format!("{} +{added} -{removed}", one_line(path, usize::MAX));
                Wrap::new(inner).text(&title, Token::ToolName, &mut rows);
            }
            rows.extend(body_rows(question, subject, &head, inner, syntax));
            keep_order(subject, &mut rows);
            truncate(rows, SUBJECT_ROWS)
        }
    }
}

/// The cell of the call: its header in `head`, and what it would do.
pub(super) fn call_rows(
    question: &Question,
    head: &[Span],
    width: u16,
    syntax: &Syntax,
) -> Vec<Row> {
    let inner = usize::from(width);
    let Some(subject) = &question.subject else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    match subject {
        // The header of a command is the command.
        Subject::Command { .. } => {}
        Subject::Diff { path, diff } => {
            let (added, removed) = diff::counts(diff);
            let title = format!("{} · +{added} -{removed}", one_line(path, usize::MAX));
            let rest = [Span::new("  ", Token::Tool)];
            Wrap::new(inner)
                .hanging(head, &rest)
                .text(&title, Token::Tool, &mut rows);
        }
        Subject::Text { .. } | Subject::Markdown { .. } => rows.push(Row::new(head.to_vec())),
    }
    let indent = match subject {
        Subject::Text { .. } | Subject::Markdown { .. } => 2,
        Subject::Command { .. } | Subject::Diff { .. } => 0,
    };
    let body = body_rows(
        question,
        subject,
        head,
        inner.saturating_sub(indent).max(1),
        syntax,
    );
    rows.extend(body.into_iter().map(|mut row| {
        if indent > 0 {
            row.spans.insert(0, Span::new("  ", Token::Text));
        }
        row
    }));
    keep_order(subject, &mut rows);
    truncate(rows, SUBJECT_ROWS)
}

/// Commands, paths and changes are shown in the order in which programs read them. A plan is prose.
fn keep_order(subject: &Subject, rows: &mut [Row]) {
    if !matches!(subject, Subject::Markdown { .. }) {
        for row in rows {
            row.is_logical = true;
        }
    }
}

fn body_rows(
    question: &Question,
    subject: &Subject,
    head: &[Span],
    inner: usize,
    syntax: &Syntax,
) -> Vec<Row> {
    let arguments = match &question.kind {
        QuestionKind::Permission { arguments, .. } => Some(arguments),
        _ => None,
    };
    let mut rows = Vec::new();
    match subject {
        Subject::Command { command, cwd } => {
            // The call itself is read: its subject already contains the notations, which would not
            // be marked.
            let call = arguments.and_then(command_of);
            command_rows(&marked(call.unwrap_or(command)), head, inner, &mut rows);
            // The complete path: the effect of a command depends on its directory.
            let first = [Span::new("  in ", Token::Muted)];
            let rest = [Span::new("     ", Token::Muted)];
            let cwd = one_line(cwd, usize::MAX);
            let wrap = Wrap::new(inner).hanging(&first, &rest);
            wrap.text(&cwd, Token::Muted, &mut rows);
        }
        Subject::Diff { diff, .. } => {
            let (width, layout) = (
                u16::try_from(inner).unwrap_or(u16::MAX),
                DiffLayout::Unified,
            );
            let diff = visible(diff);
            let shown = diff::highlighted_rows(&diff, width, SUBJECT_ROWS, layout, syntax);
            if shown.len() >= SUBJECT_ROWS {
                let hidden = diff.lines().count().saturating_sub(shown.len());
                rows.push(more_lines(hidden.max(1)));
            }
            rows.extend(shown);
        }
        // A call without a preview: its arguments as text, not as JSON.
        Subject::Text { text } => match arguments.filter(|arguments| is_json_of(text, arguments)) {
            Some(arguments) => argument_rows(arguments, inner, &mut rows),
            None => Wrap::new(inner).text(&visible(text), Token::Text, &mut rows),
        },
        Subject::Markdown { text } => rows = plan_rows(text, inner),
    }
    rows
}

/// Whether a text is only the arguments as JSON.
fn is_json_of(text: &str, arguments: &Value) -> bool {
    let shown = serde_json::to_string_pretty(arguments).unwrap_or_default();
    arguments.is_object() && visible(&shown) == text
}

/// The arguments: short ones behind their names, text below them.
fn argument_rows(arguments: &Value, inner: usize, rows: &mut Vec<Row>) {
    for section in call_text::sections(arguments) {
        let name = one_line(&section.name, usize::MAX);
        let text = visible(&section.text);
        let is_short = !text.contains('\n') && text::width(&name) + text::width(&text) + 2 <= inner;
        if is_short {
            let mut row = Row::plain(format!("{name}: "), Token::Muted);
            row.push(text.into_owned(), Token::Text);
            rows.push(row);
            continue;
        }
        Wrap::new(inner).text(&format!("{name}:"), Token::Muted, rows);
        let indent = [Span::new("  ", Token::Text)];
        Wrap::new(inner).prefixed(&indent).text(
            text.strip_suffix('\n').unwrap_or(&text),
            Token::Text,
            rows,
        );
    }
}

/// The argument that stands for the complete call, if there is one: the command of a shell.
pub(crate) fn command_of(arguments: &Value) -> Option<&str> {
    arguments.get("command")?.as_str()
}

/// Markdown, formatted.
pub(crate) fn plan_rows(text: &str, inner: usize) -> Vec<Row> {
    written(&visible(text), &[], inner, SUBJECT_ROWS)
}

/// A command behind `head`, with its notations in another colour.
fn command_rows(command: &Visible, head: &[Span], inner: usize, rows: &mut Vec<Row>) {
    let rest = [Span::new("  ", Token::Muted)];
    let mut from = 0;
    for line in command.text.trim_end_matches('\n').split('\n') {
        let end = from + line.len();
        let mut spans = Vec::new();
        let mut at = from;
        let marks = command.marks.iter();
        for mark in marks.filter(|mark| mark.start >= from && mark.end <= end) {
            spans.push((at..mark.start, Face::from(Token::Code)));
            spans.push((mark.clone(), Face::from(Token::Warning)));
            at = mark.end;
        }
        spans.push((at..end, Face::from(Token::Code)));
        let spans: Vec<Span> = spans
            .into_iter()
            .filter(|(range, _)| !range.is_empty())
            .map(|(range, face)| {
                Span::new(text::expand_tabs(&command.text[range]).into_owned(), face)
            })
            .collect();
        let first = if from == 0 { head } else { &rest };
        Wrap::new(inner).hanging(first, &rest).line(&spans, rows);
        from = end + 1;
    }
}

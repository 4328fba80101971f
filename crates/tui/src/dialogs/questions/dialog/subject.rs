//! The rows of a question's subject.

use super::fit::{more_lines, truncate};
use super::write::command_of;
use crate::drawing::preview_pane::written;
use osier_base::text;
use osier_base::visible::{Visible, marked, one_line, visible};
use osier_protocol::questions::{Question, QuestionKind, Subject};
use osier_term::widgets::diff;
use osier_term::widgets::diff::{DiffLayout, Syntax};
use osier_term::{Row, Span, Token, Wrap};

/// Rows of a subject that are laid out at most.
const SUBJECT_ROWS: usize = 5000;

/// The subject of the question, row by row. Hidden characters are shown.
pub(crate) fn subject_rows(question: &Question, inner: usize, syntax: &Syntax) -> Vec<Row> {
    let mut rows = Vec::new();
    match &question.subject {
        None => {}
        Some(Subject::Command { command, cwd }) => {
            // From the call itself: its subject has the notations already, which would not be marked.
            let call = match &question.kind {
                QuestionKind::Permission { arguments, .. } => command_of(arguments),
                _ => None,
            };
            command_rows(&marked(call.unwrap_or(command)), inner, &mut rows);
            // The complete path: the effect of a command depends on its directory.
            let first = [Span::new("  in ", Token::Muted)];
            let rest = [Span::new("     ", Token::Muted)];
            let cwd = one_line(cwd, usize::MAX);
            let wrap = Wrap::new(inner).hanging(&first, &rest);
            wrap.text(&cwd, Token::Muted, &mut rows);
        }
        Some(Subject::Diff { path, diff }) => {
            let (added, removed) = diff::counts(diff);
            let title = format!("{} +{added} -{removed}", one_line(path, usize::MAX));
            Wrap::new(inner).text(&title, Token::ToolName, &mut rows);
            let (width, layout) = (inner as u16, DiffLayout::Unified);
            let diff = visible(diff);
            let shown = diff::highlighted_rows(&diff, width, SUBJECT_ROWS, layout, syntax);
            if shown.len() >= SUBJECT_ROWS {
                let hidden = diff.lines().count().saturating_sub(shown.len());
                rows.push(more_lines(hidden.max(1)));
            }
            rows.extend(shown);
        }
        Some(Subject::Text { text }) => {
            Wrap::new(inner).text(&visible(text), Token::Text, &mut rows);
        }
        Some(Subject::Markdown { text }) => rows = plan_rows(text, inner),
    }
    truncate(rows, SUBJECT_ROWS)
}

/// Markdown, formatted.
pub(super) fn plan_rows(text: &str, inner: usize) -> Vec<Row> {
    written(&visible(text), &[], inner, SUBJECT_ROWS)
}

/// A command with its notations in another colour.
fn command_rows(command: &Visible, inner: usize, rows: &mut Vec<Row>) {
    let first = [Span::new("$ ", Token::Muted)];
    let rest = [Span::new("  ", Token::Muted)];
    let mut from = 0;
    for line in command.text.trim_end_matches('\n').split('\n') {
        let end = from + line.len();
        let mut spans = Vec::new();
        let mut at = from;
        let marks = command.marks.iter();
        for mark in marks.filter(|mark| mark.start >= from && mark.end <= end) {
            spans.push((at..mark.start, Token::Code));
            spans.push((mark.clone(), Token::Warning));
            at = mark.end;
        }
        spans.push((at..end, Token::Code));
        let spans: Vec<Span> = spans
            .into_iter()
            .filter(|(range, _)| !range.is_empty())
            .map(|(range, token)| {
                Span::new(text::expand_tabs(&command.text[range]).into_owned(), token)
            })
            .collect();
        let first = if from == 0 { &first } else { &rest };
        Wrap::new(inner).hanging(first, &rest).line(&spans, rows);
        from = end + 1;
    }
}

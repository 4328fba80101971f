//! Two branches side by side: their answers, their cost and time, and the files that they changed. On a narrow screen,
//! one branch below the other.

use std::path::{Path, PathBuf};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::actions::{Action, Command};
use crate::drawing::{frame, preview_pane::written, scroll, scroll::Scroll};
use crate::status::footer::tokens;
use osier_base::{clock, text};
use osier_protocol::{BranchFacts, BranchText, Comparison, DiffRange, FileChanges};
use osier_term::widgets::diff;
use osier_term::{Component, Cx, Face, Handled, KeyPress, Row, Span, Token, View, Wrap};

pub(crate) const ID: &str = "compare";

/// From this width on the branches are side by side.
const SIDE_BY_SIDE: u16 = 72;

/// The overlay.
#[derive(Debug)]
pub(crate) struct CompareView {
    comparison: Comparison,
    /// The working directory: paths in it are shown relative to it.
    cwd: PathBuf,
    scroll: Scroll,
    /// The rows of the last width.
    laid_out: Option<(u16, Vec<Row>)>,
}

impl CompareView {
    pub(crate) fn new(comparison: Comparison, cwd: PathBuf) -> Self {
        Self {
            comparison,
            cwd,
            scroll: Scroll::default(),
            laid_out: None,
        }
    }

    fn rows(&mut self, width: u16) -> &[Row] {
        if self.laid_out.as_ref().is_none_or(|(old, _)| *old != width) {
            let (left, right) = (&self.comparison.left, &self.comparison.right);
            let column =
                |facts: &BranchFacts, name: &str, width| column(facts, name, &self.cwd, width);
            let rows = if let Some(half) = half(width) {
                side_by_side(
                    &column(left, "left", half),
                    &column(right, "right", half),
                    half,
                )
            } else {
                let width = usize::from(width);
                let mut rows = column(left, "left", width);
                rows.push(Row::plain("─".repeat(width), Token::Border));
                rows.extend(column(right, "right", width));
                rows
            };
            self.laid_out = Some((width, rows));
        }
        self.laid_out.as_ref().map_or(&[], |(_, rows)| rows)
    }
}

/// The width of a column where there is room for two.
fn half(width: u16) -> Option<usize> {
    (width >= SIDE_BY_SIDE).then(|| usize::from(width - 3) / 2)
}

/// The rows of both columns next to each other; the shorter column is filled up.
fn side_by_side(left: &[Row], right: &[Row], half: usize) -> Vec<Row> {
    let rows = (0..left.len().max(right.len())).map(|place| {
        let mut row = left.get(place).cloned().unwrap_or_default();
        let gap = half.saturating_sub(row.width());
        row.push(" ".repeat(gap), Token::Text);
        row.push(" │ ", Token::Border);
        if let Some(right) = right.get(place) {
            row.spans.extend(right.spans.iter().cloned());
        }
        row
    });
    rows.collect()
}

fn column(facts: &BranchFacts, name: &str, cwd: &Path, width: usize) -> Vec<Row> {
    let bold = |token: Token| Face::bold(token);
    let mut rows = Vec::new();
    let models: Vec<&str> = facts.models.iter().map(String::as_str).collect();
    let title = if models.is_empty() {
        name.to_owned()
    } else {
        models.join(", ")
    };
    let title = text::truncate(&text::single_line(&title), width).into_owned();
    rows.push(Row::plain(title, bold(Token::Title)));
    let cost = match facts.usage.cost.total {
        0.0 => String::new(),
        cost => format!(" · ${cost:.4}"),
    };
    let numbers = format!(
        "{} · {} · ↑{} ↓{}{cost} · {}",
        text::counted(facts.messages, "message", "messages"),
        text::counted(facts.tool_calls, "tool call", "tool calls"),
        tokens(facts.usage.context_tokens()),
        tokens(facts.usage.output),
        clock::human_duration(facts.duration_ms),
    );
    Wrap::new(width).text(&numbers, Token::Muted, &mut rows);
    for text in &facts.conversation {
        rows.push(Row::default());
        match text {
            BranchText::Prompt { text } => {
                let mark = [Span::new("❯ ", Token::UserMarker)];
                let rest = [Span::new("  ", Token::UserMarker)];
                wrapped(text, width, &mark, &rest, Token::User, &mut rows);
            }
            BranchText::Answer { text } => rows.extend(written(text, &[], width, usize::MAX)),
            BranchText::LeftOut { messages } => {
                let text = text::counted(*messages, "message", "messages");
                rows.push(Row::plain(format!("⋯ {text}"), Token::Muted));
            }
        }
    }
    let remark = match facts.conversation.last() {
        None if facts.messages == 0 => {
            "The other branch continues from this entry, so nothing is only here."
        }
        None | Some(BranchText::Prompt { .. }) => "(no answer)",
        Some(_) => "",
    };
    if !remark.is_empty() {
        rows.push(Row::default());
        rows.extend(written(remark, &[], width, usize::MAX));
    }
    for (path, changes) in &facts.files {
        let path = Path::new(path);
        rows.extend(changed_file(
            path.strip_prefix(cwd).unwrap_or(path),
            changes,
            width,
        ));
    }
    rows
}

/// A file's name and counts, and how it changed.
pub(crate) fn changed_file(path: &Path, changes: &FileChanges, width: usize) -> Vec<Row> {
    let counts = format!(" +{} -{}", changes.added, changes.removed);
    let room = width.saturating_sub(text::width(&counts));
    let path = path.to_string_lossy();
    let path = text::single_line(&path);
    let heading = Face::bold(Token::Heading);
    let mut head = Row::plain(text::truncate_start(&path, room).into_owned(), heading);
    head.push(counts, Token::Muted);
    let mut rows = vec![Row::default(), head];
    let columns = u16::try_from(width).unwrap_or(u16::MAX);
    rows.extend(diff::rows(&changes.diff, columns, usize::MAX));
    rows
}

fn wrapped(
    source: &str,
    width: usize,
    first: &[Span],
    rest: &[Span],
    token: Token,
    rows: &mut Vec<Row>,
) {
    let clean = text::sanitize(source);
    for (place, line) in text::expand_tabs(&clean).lines().enumerate() {
        let first = if place == 0 { first } else { rest };
        Wrap::new(width)
            .hanging(first, rest)
            .text(line, token, rows);
    }
}

impl Component<Command, Action> for CompareView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        let page = usize::from(area.height.saturating_sub(2));
        let count = self.rows(area.width).len();
        let shown = self.scroll.fit(count, page);
        let mut head = Row::plain(" Compare branches ", Face::bold(Token::Title));
        let line = usize::from(area.width).saturating_sub(head.width());
        head.push("─".repeat(line), Token::Border);
        let mut rows = vec![head];
        rows.extend_from_slice(&self.rows(area.width)[shown]);
        while rows.len() <= page {
            // The line between two columns goes down to the keys.
            rows.push(match half(area.width) {
                Some(half) => side_by_side(&[Row::default()], &[], half).remove(0),
                None => Row::default(),
            });
        }
        let keys = frame::hints(
            view.keymap,
            "list",
            &[
                (Command::Down, "scroll"),
                (Command::ShowAll, "files of both, compared"),
                (Command::Cancel, "back"),
            ],
        );
        let keys = frame::fitting(&keys, usize::from(area.width).saturating_sub(1));
        rows.push(Row::plain(format!(" {keys}"), Token::Muted));
        view.paint(&rows, area, buffer);
    }

    fn on_key(&mut self, key: KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        // `q` also closes the tree below this view.
        if key.typed() == Some('q') {
            cx.push(Action::CloseLayer);
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept | Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
            }
            Command::ShowAll => {
                let (left, right) = (&self.comparison.left, &self.comparison.right);
                cx.push(Action::ShowChanges(DiffRange::Between {
                    from: left.leaf.clone(),
                    to: right.leaf.clone(),
                }));
            }
            // Other keys belong to the covered view.
            command => {
                let _ = self.scroll.on_command(command);
            }
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }

    fn uses(&self, command: Command) -> bool {
        command == Command::ShowAll || frame::is_of_most_lists(command)
    }

    fn meaning(&self, command: Command) -> Option<&'static str> {
        match command {
            Command::ShowAll => Some("Compare the files of both branches"),
            Command::Accept | Command::Cancel => Some("Go back to the tree"),
            command => scroll::meaning(command),
        }
    }
}

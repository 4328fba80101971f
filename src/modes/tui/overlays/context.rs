//! What fills the context window, as a picture: what there is, what is kept free, and what a compaction
//! would take away.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::picker::boxed;
use crate::base::text;
use crate::coding::compaction::{ContextPart, ContextReport, PartKind};
use crate::coding::host::{Op, TreeOp};
use crate::modes::tui::action::Action;
use crate::modes::tui::command::Command;
use crate::modes::tui::footer::tokens;
use crate::modes::tui::layout::centred;
use crate::term::component::{Component, Cx, Handled, View};
use crate::term::face::{Emphasis, Face, Token};
use crate::term::row::Row;
use crate::term::widgets::paint::paint_rows;

pub const ID: &str = "context";

/// Widest the overlay gets.
const WIDTH: u16 = 84;

/// The picture.
#[derive(Debug)]
pub struct ContextView {
    report: ContextReport,
}

/// How each kind is drawn in the bar.
fn token(kind: PartKind) -> Token {
    match kind {
        PartKind::System => Token::Heading,
        PartKind::Tools => Token::ToolName,
        PartKind::Summaries => Token::Quote,
        PartKind::Prompts => Token::UserMarker,
        PartKind::Files => Token::Link,
        PartKind::Answers => Token::Accent,
        PartKind::Thinking => Token::Thinking,
        PartKind::ToolCalls => Token::Working,
        PartKind::ToolResults => Token::Success,
        PartKind::Shell => Token::Warning,
    }
}

impl ContextView {
    pub fn new(report: ContextReport) -> Self {
        Self { report }
    }

    fn rows(&self, inner: usize) -> Vec<Row> {
        let report = &self.report;
        let width = inner.saturating_sub(2);
        let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
        let mut rows = Vec::new();
        let percent = report.used * 100 / report.window.max(1);
        let mut title = Row::plain(" Context ", bold);
        let used = format!(
            "{} of {} tokens · {percent} % · {}",
            tokens(report.used),
            tokens(report.window),
            report.model
        );
        let room = inner.saturating_sub(9);
        title.push(text::truncate(&used, room).into_owned(), Token::Muted);
        rows.extend([title, self.bar(width), Row::default()]);
        rows.extend(report.parts.iter().map(|part| part_row(*part, width)));
        let free = report
            .window
            .saturating_sub(report.used)
            .saturating_sub(report.reserve);
        rows.push(count_row("░", Token::Muted, ("free", ""), free, width));
        let kept = ("kept free for the answer", "");
        rows.push(count_row("▒", Token::Border, kept, report.reserve, width));
        rows.push(Row::default());
        rows.extend(self.outlook(width));
        if !report.largest.is_empty() {
            rows.push(Row::default());
            rows.push(Row::plain(" Largest", Token::Heading));
        }
        for (name, size) in &report.largest {
            let name = text::single_line(name.trim());
            rows.push(count_row(" ", Token::Muted, (&name, ""), *size, width));
        }
        rows.push(Row::default());
        rows.push(Row::plain(" c compact now · esc back", Token::Muted));
        rows
    }

    /// The whole window as one line.
    fn bar(&self, width: usize) -> Row {
        let report = &self.report;
        let window = report.window.max(1) as usize;
        let mut row = Row::plain(" ", Token::Text);
        let mut used = 0;
        let guessed: u64 = report.parts.iter().map(|part| part.tokens).sum();
        let mut sum = 0;
        for part in &report.parts {
            sum += part.tokens;
            // What was counted is spread over what was guessed.
            let end = sum as usize * report.used as usize / guessed.max(1) as usize;
            let end = (end * width / window).min(width);
            row.push("█".repeat(end.saturating_sub(used)), token(part.kind));
            used = used.max(end);
        }
        let reserve = (report.reserve as usize * width / window).min(width - used);
        row.push("░".repeat(width - used - reserve), Token::Muted);
        row.push("▒".repeat(reserve), Token::Border);
        row
    }

    /// What a compaction would do.
    fn outlook(&self, width: usize) -> Vec<Row> {
        let report = &self.report;
        let line =
            |text: String| Row::plain(format!(" {}", text::truncate(&text, width)), Token::Text);
        let trigger = report.window.saturating_sub(report.reserve);
        let when = if report.automatic {
            format!("compacted by itself above {} tokens", tokens(trigger))
        } else {
            "not compacted by itself".to_owned()
        };
        let (goes, stays) = (report.goes, report.stays);
        let what = if goes.0 == 0 {
            "nothing would go now: what there is is recent".to_owned()
        } else {
            format!(
                "now {} messages of {} tokens would become a summary, {} of {} stay",
                goes.0,
                tokens(goes.1),
                stays.0,
                tokens(stays.1)
            )
        };
        vec![line(when), line(what)]
    }
}

fn part_row(part: ContextPart, width: usize) -> Row {
    let goes = match part.goes {
        0 => String::new(),
        goes => format!("{} would go", tokens(goes)),
    };
    let name = format!("{} · {}", part.kind.name(), part.count);
    let token = token(part.kind);
    count_row("█", token, (&name, &goes), part.tokens, width)
}

/// A sign, a name, a note and a number at the right edge.
fn count_row(
    sign: &str,
    token: Token,
    (name, note): (&str, &str),
    count: u64,
    width: usize,
) -> Row {
    let count = format!("{:>7}", tokens(count));
    let room = width.saturating_sub(text::width(&count) + text::width(note) + 5);
    let name = text::truncate(name, room).into_owned();
    let gap = room.saturating_sub(text::width(&name)) + 1;
    let mut row = Row::plain(format!(" {sign} "), token);
    row.push(name, Token::Text);
    row.push(" ".repeat(gap), Token::Text);
    row.push(note, Token::Muted);
    row.push(" ", Token::Text);
    row.push(count, Token::Text);
    row
}

impl Component<Command, Action> for ContextView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_>) {
        let inner = usize::from(centred(area, WIDTH, 1).width.saturating_sub(2));
        let body = self.rows(inner);
        let height = u16::try_from(body.len() + 2).unwrap_or(u16::MAX);
        let area = centred(area, WIDTH, height);
        let line = |left: &str, right: &str| {
            Row::plain(
                format!("{left}{}{right}", "─".repeat(inner)),
                Token::BorderActive,
            )
        };
        let room = usize::from(area.height.saturating_sub(2));
        let mut rows = vec![line("╭", "╮")];
        rows.extend(body.into_iter().take(room).map(|row| boxed(row, inner)));
        rows.push(line("╰", "╯"));
        paint_rows(&rows, area, buffer, view.links, |face| {
            view.theme.style(face)
        });
    }

    fn on_key(&mut self, key: crate::term::input::KeyPress, cx: &mut Cx<'_, Action>) -> Handled {
        if key.typed() == Some('c') {
            cx.push(Action::CloseLayer);
            cx.push(Action::Tell(Op::Tree(TreeOp::Compact {
                instructions: None,
                review: true,
            })));
        }
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        match command {
            Command::Accept
            | Command::Cancel
            | Command::Interrupt
            | Command::ClearOrExit
            | Command::Context => cx.push(Action::CloseLayer),
            _ => return Handled::No,
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "list"
    }
}

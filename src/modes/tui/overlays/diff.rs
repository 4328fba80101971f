//! What changed in the files: a list of them, and the changes of the one that is selected. Beside each
//! other where the screen is wide, else one above the other.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::base::text;
use crate::coding::checkpoint::ChangeKind;
use crate::coding::host::{DiffRange, FileDiff};
use crate::modes::tui::action::Action;
use crate::modes::tui::command::Command;
use crate::term::component::{Component, Cx, Handled, View};
use crate::term::face::{Emphasis, Face, Token};
use crate::term::row::Row;
use crate::term::widgets::diff;
use crate::term::widgets::paint::paint_rows;

/// The layer of the overlay.
pub const ID: &str = "diff";

/// From this width on the list stands beside the changes.
const BESIDE: u16 = 90;
/// Columns of the list.
const LIST: u16 = 34;
/// Rows of one file; its diff is of bounded length.
const MOST_ROWS: usize = 20_000;

/// The overlay.
#[derive(Debug)]
pub struct DiffView {
    range: DiffRange,
    files: Vec<FileDiff>,
    /// Added and removed lines, by file.
    counts: Vec<(usize, usize)>,
    selected: usize,
    /// The first row of the changes that is shown.
    top: usize,
    page: usize,
    /// Rows of the selected file for a width, and which of them begin a hunk.
    laid_out: Option<(usize, u16, Vec<Row>, Vec<usize>)>,
    /// Show the end of the file once it is laid out: it was entered from below.
    from_below: bool,
}

/// What is compared, as the end of a sentence.
pub fn title(range: &DiffRange) -> &'static str {
    match range {
        DiffRange::Session => "since the session began",
        DiffRange::LastPrompt => "since the last prompt",
        DiffRange::Turn { .. } => "in that turn",
        DiffRange::Between { .. } => "between those entries",
    }
}

impl DiffView {
    pub fn new(range: DiffRange, files: Vec<FileDiff>) -> Self {
        let counts = files.iter().map(|file| diff::counts(&file.diff)).collect();
        Self {
            range,
            files,
            counts,
            selected: 0,
            top: 0,
            page: 10,
            laid_out: None,
            from_below: false,
        }
    }

    fn select(&mut self, file: usize) {
        if file < self.files.len() && file != self.selected {
            self.selected = file;
            self.top = 0;
            self.from_below = false;
        }
    }

    fn count(&self) -> usize {
        self.laid_out
            .as_ref()
            .map_or(0, |(_, _, rows, _)| rows.len())
    }

    fn scroll(&mut self, rows: isize) {
        let last = self.count().saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// To the next hunk, of the next file behind the last one.
    fn next_hunk(&mut self) {
        let last = self.count().saturating_sub(self.page);
        let hunks = self.laid_out.as_ref().map(|(_, _, _, hunks)| hunks);
        let next = hunks.and_then(|hunks| hunks.iter().find(|row| **row > self.top));
        match next {
            Some(row) if self.top < last => self.top = (*row).min(last),
            _ => self.select(self.selected + 1),
        }
    }

    fn previous_hunk(&mut self) {
        let hunks = self.laid_out.as_ref().map(|(_, _, _, hunks)| hunks);
        let before = hunks.and_then(|hunks| hunks.iter().rev().find(|row| **row < self.top));
        match before {
            Some(row) => self.top = *row,
            None if self.top > 0 => self.top = 0,
            None if self.selected > 0 => {
                self.select(self.selected - 1);
                self.from_below = true;
            }
            None => {}
        }
    }

    /// Lays the selected file out.
    fn lay_out(&mut self, width: u16) {
        let current = |(file, old, ..): &(usize, u16, Vec<Row>, Vec<usize>)| {
            *file == self.selected && *old == width
        };
        if self.laid_out.as_ref().is_some_and(current) {
            return;
        }
        let Some(file) = self.files.get(self.selected) else {
            return;
        };
        let rows = if file.diff.is_empty() {
            vec![Row::plain(format!("  {}", unshown(file)), Token::Muted)]
        } else {
            diff::rows(&file.diff, width, MOST_ROWS)
        };
        let begins = |(place, row): (usize, &Row)| {
            let mark = row.spans.first().map(|span| span.face.token);
            (place == 0 || mark == Some(Token::DiffHunk)).then_some(place)
        };
        let hunks = rows.iter().enumerate().filter_map(begins).collect();
        self.laid_out = Some((self.selected, width, rows, hunks));
    }

    /// The list of files for `width`; the part that holds the selected one.
    fn list(&self, width: usize, height: usize) -> Vec<Row> {
        let first = self.selected.saturating_sub(height.saturating_sub(1) / 2);
        let first = first.min(self.files.len().saturating_sub(height));
        let files = self.files.iter().enumerate().skip(first).take(height);
        files.map(|(place, _)| self.line(place, width)).collect()
    }

    fn line(&self, place: usize, width: usize) -> Row {
        let (file, (added, removed)) = (&self.files[place], self.counts[place]);
        let mark = match file.change.kind {
            ChangeKind::Create => "+",
            ChangeKind::Modify => "~",
            ChangeKind::Mode => "x",
            ChangeKind::Remove => "-",
        };
        let numbers = match (added, removed) {
            (0, 0) => String::new(),
            (added, removed) => format!(" +{added} -{removed}"),
        };
        let room = width.saturating_sub(text::width(&numbers) + 4);
        let path = text::single_line(&file.change.path);
        let path = text::truncate_start(&path, room).into_owned();
        let token = if place == self.selected {
            Token::Selected
        } else {
            Token::Text
        };
        let mut row = Row::plain(format!(" {mark} "), token);
        let gap = room.saturating_sub(text::width(&path));
        row.push(path, token);
        row.push(" ".repeat(gap), token);
        let numbers_token = if place == self.selected {
            token
        } else {
            Token::Muted
        };
        row.push(format!("{numbers} "), numbers_token);
        row
    }

    fn head(&self, width: usize) -> Row {
        let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
        let (added, removed) = self.counts.iter().fold((0, 0), |(added, removed), count| {
            (added + count.0, removed + count.1)
        });
        let files = super::restore::files(self.files.len());
        let text = format!(
            " {files} changed {}  +{added} -{removed} ",
            title(&self.range)
        );
        let mut head = Row::plain(text::truncate(&text, width).into_owned(), bold);
        let line = width.saturating_sub(head.width());
        head.push("─".repeat(line), Token::Border);
        head
    }
}

/// Why a change has no lines to show.
fn unshown(file: &FileDiff) -> &'static str {
    match file.change.kind {
        ChangeKind::Mode => "only its permissions changed",
        ChangeKind::Create => "a new file that is empty, no text, or too large to be kept",
        ChangeKind::Remove => "removed; it was empty, no text, or too large to be kept",
        ChangeKind::Modify => "no text, or too large to be shown",
    }
}

impl Component<Command, Action> for DiffView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_>) {
        let wide = area.width >= BESIDE && self.files.len() > 1;
        let list = if wide { LIST } else { 0 };
        let body = area.height.saturating_sub(2);
        // On a narrow screen the selected file has a line of its own.
        let named = u16::from(!wide).min(body);
        self.page = usize::from(body - named).max(1);
        self.lay_out(area.width.saturating_sub(list));
        let last = self.count().saturating_sub(self.page);
        if std::mem::take(&mut self.from_below) {
            self.top = last;
        }
        self.top = self.top.min(last);
        let style = |face| view.theme.style(face);
        let paint = |rows: &[Row], area: Rect, buffer: &mut Buffer| {
            paint_rows(rows, area, buffer, view.links, style);
        };
        let at = |x: u16, y: u16, width: u16, height: u16| Rect {
            x: area.x + x,
            y: area.y + y,
            width,
            height,
        };
        let width = usize::from(area.width);
        paint(
            &[self.head(width)],
            at(0, 0, area.width, 1.min(area.height)),
            buffer,
        );
        if wide {
            let rows = self.list(usize::from(list - 1), usize::from(body));
            paint(&rows, at(0, 1, list - 1, body), buffer);
            let bar = vec![Row::plain("│", Token::Border); usize::from(body)];
            paint(&bar, at(list - 1, 1, 1, body), buffer);
        } else if named > 0 {
            let mut row = self.line(self.selected, width.saturating_sub(8));
            let place = format!("{}/{}", self.selected + 1, self.files.len());
            row.push(place, Token::Muted);
            paint(&[row], at(0, 1, area.width, 1), buffer);
        }
        let rows = self
            .laid_out
            .as_ref()
            .map_or(&[][..], |(_, _, rows, _)| rows);
        let shown = &rows[self.top..rows.len().min(self.top + self.page)];
        let place = at(list, 1 + named, area.width - list, body - named);
        paint(shown, place, buffer);
        if area.height > 1 {
            let help = " ↑↓ scroll · [ ] change · tab file · s last prompt or session · esc back";
            let help = text::truncate(help, width).into_owned();
            let row = Row::plain(help, Token::Muted);
            paint(&[row], at(0, area.height - 1, area.width, 1), buffer);
        }
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let page = isize::try_from(self.page.saturating_sub(1).max(1)).unwrap_or(1);
        match command {
            Command::Up => self.scroll(-1),
            Command::Down => self.scroll(1),
            Command::PageUp => self.scroll(-page),
            Command::PageDown => self.scroll(page),
            Command::First => self.top = 0,
            Command::Last => self.scroll(isize::MAX / 2),
            Command::NextFile => self.select((self.selected + 1) % self.files.len().max(1)),
            Command::PreviousFile => {
                let before = self.selected.checked_sub(1);
                self.select(before.unwrap_or(self.files.len().saturating_sub(1)));
            }
            Command::NextHunk => self.next_hunk(),
            Command::PreviousHunk => self.previous_hunk(),
            Command::OtherRange => cx.push(Action::ShowChanges(match self.range {
                DiffRange::Session => DiffRange::LastPrompt,
                _ => DiffRange::Session,
            })),
            Command::Accept | Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
            }
            _ => {}
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        "diff"
    }
}

//! The diff view: the list of changed files and the changes of the selected file. They are side by side on a wide
//! screen, else one above the other. Each change can be accepted, rejected and commented on (`review`).

mod problems;
mod rows;
mod texts;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub(super) use self::problems::Problems;
pub(super) use self::texts::title;
use self::texts::{first_line, unchanged};
use super::verdicts::{Review, keys};
use crate::actions::{Action, Command, Effect};
use osier_base::text;
use osier_checkpoint::hunks;
use osier_protocol::{CheckpointOp, DiffRange, FileDiff, Op};
use osier_term::component::{Component, Cx, Handled, View};
use osier_term::face::Token;
use osier_term::highlight::{Highlighted, Highlighter};
use osier_term::input::KeyPress;
use osier_term::row::Row;
use osier_term::widgets::diff;
use osier_term::widgets::diff::{DiffLayout, Syntax};
use osier_term::widgets::paint::paint_rows;

/// The layer of the overlay.
pub(crate) const ID: &str = "diff";

/// From this width on the list is next to the changes.
const SIDE_BY_SIDE: u16 = 90;
/// Columns of the list at least. It grows with long paths to a third of the screen.
const LIST: u16 = 34;
/// From this width on old and new file are side by side, unless the user has switched.
const TWO_SIDES: u16 = 130;
/// Rows of one file; its diff is of bounded length.
const MOST_ROWS: usize = 20_000;

/// The overlay.
#[derive(Debug)]
pub(super) struct DiffView {
    range: DiffRange,
    /// There is a repository to compare with.
    has_git: bool,
    /// The changed files, then those that only have outdated reviews.
    files: Vec<FileDiff>,
    /// How many files are changed.
    changed: usize,
    /// Added and removed lines, by file.
    counts: Vec<(usize, usize)>,
    /// Columns that the list needs to show every path in full.
    widest: u16,
    /// The colours of each file.
    syntax: Vec<Syntax>,
    /// Colours have come or reviews were set that are not in the rows.
    stale: bool,
    selected: usize,
    /// The change of that file that keys are for.
    hunk: usize,
    /// The first row of the changes that is shown.
    top: usize,
    page: usize,
    layout: Option<DiffLayout>,
    laid_out: Option<LaidOut>,
    /// Show the end of the file once it is laid out: it was entered from below.
    from_below: bool,
    review: Review,
    pub(super) problems: Problems,
    cursor: Option<Position>,
    /// The cursor of a linear screen goes to the change, not to the file.
    linear: bool,
}

/// The selected file for a width.
#[derive(Debug)]
struct LaidOut {
    file: usize,
    width: u16,
    layout: DiffLayout,
    rows: Vec<Row>,
    /// Where its changes begin.
    hunks: Vec<usize>,
}

impl DiffView {
    pub(super) fn new(
        range: DiffRange,
        has_git: bool,
        mut files: Vec<FileDiff>,
        mut review: Review,
    ) -> Self {
        review.update(&files);
        let changed = files.len();
        for path in review.outdated_files() {
            if files.iter().all(|file| file.change.path != path) {
                files.push(unchanged(path));
            }
        }
        let counts: Vec<(usize, usize)> =
            files.iter().map(|file| diff::counts(&file.diff)).collect();
        let widest = rows::widest(&files, &counts);
        let syntax = files.iter().map(|_| Syntax::default()).collect();
        Self {
            range,
            has_git,
            files,
            changed,
            counts,
            widest,
            syntax,
            stale: false,
            selected: 0,
            hunk: 0,
            top: 0,
            page: 10,
            layout: None,
            laid_out: None,
            from_below: false,
            review,
            problems: Problems::default(),
            cursor: None,
            linear: false,
        }
    }

    /// Takes new colours and reviews into the rows.
    fn refresh_rows(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        if let Some(mut laid) = self.laid_out.take() {
            (laid.rows, laid.hunks) = self.file_rows(laid.file, laid.width, laid.layout);
            self.hunk = self.hunk.min(laid.hunks.len().saturating_sub(1));
            self.laid_out = Some(laid);
        }
    }

    /// Whether there is a HEAD to compare with.
    pub(super) fn has_git(&self) -> bool {
        self.has_git
    }

    /// Takes over the position of `before`.
    #[must_use]
    pub(super) fn continuing(mut self, before: &Self) -> Self {
        let path = before.files.get(before.selected);
        let path = path.map(|file| file.change.path.clone());
        let same = self
            .files
            .iter()
            .position(|file| Some(&file.change.path) == path.as_ref());
        if let Some(selected) = same {
            self.selected = selected;
            self.hunk = before.hunk;
            self.top = before.top;
        } else {
            // The selected change is gone: select the one after it.
            let last = self.files.len().saturating_sub(1);
            self.selected = before.selected.min(last);
        }
        self.layout = before.layout;
        self
    }

    /// The review in progress.
    pub(super) fn review(&self) -> &Review {
        &self.review
    }

    /// Takes the review, with what is compared.
    pub(super) fn take_review(&mut self) -> (DiffRange, Review) {
        (self.range.clone(), std::mem::take(&mut self.review))
    }

    /// The changes of a file, then those with an outdated review.
    fn pieces<'a>(&'a self, file: &'a FileDiff) -> Vec<&'a str> {
        let mut pieces = hunks(&file.diff);
        pieces.extend(self.review.outdated_of(&file.change.path));
        pieces
    }

    /// Whether the change that keys are for is gone and has a review.
    fn is_outdated(&self) -> bool {
        let file = self.files.get(self.selected);
        file.is_some_and(|file| {
            let outdated = self.review.outdated_of(&file.change.path);
            !outdated.is_empty() && self.hunk >= hunks(&file.diff).len()
        })
    }

    /// The change that keys are for: its file and its text.
    fn current(&self) -> Option<(&str, &str)> {
        let file = self.files.get(self.selected)?;
        let pieces = self.pieces(file);
        let piece = pieces.get(self.hunk.min(pieces.len().checked_sub(1)?))?;
        Some((&file.change.path, piece))
    }

    /// Selects the file with this path, if it is one of them.
    pub(super) fn select_file(&mut self, path: &str) {
        let mut files = self.files.iter();
        if let Some(file) = files.position(|file| file.change.path == path) {
            self.select(file);
        }
    }

    fn select(&mut self, file: usize) {
        if file < self.files.len() && file != self.selected {
            self.selected = file;
            self.hunk = 0;
            self.top = 0;
            self.from_below = false;
        }
    }

    fn count(&self) -> usize {
        self.laid_out.as_ref().map_or(0, |laid| laid.rows.len())
    }

    fn starts(&self) -> &[usize] {
        self.laid_out.as_ref().map_or(&[], |laid| &laid.hunks)
    }

    /// Scrolls; the change that keys are for is one on the screen.
    fn scroll(&mut self, rows: isize) {
        let last = self.count().saturating_sub(self.page);
        self.top = self.top.saturating_add_signed(rows).min(last);
        let (top, end) = (self.top, self.top + self.page);
        let seen = |place: usize| {
            let starts = self.starts();
            let below = starts.get(place + 1).copied().unwrap_or(usize::MAX);
            starts.get(place).is_some_and(|start| *start < end) && below > top
        };
        if !seen(self.hunk) {
            let found = (0..self.starts().len()).find(|place| seen(*place));
            self.hunk = found.unwrap_or(self.hunk);
        }
    }

    /// Scrolls to the selected change.
    fn show_hunk(&mut self) {
        let last = self.count().saturating_sub(self.page);
        if let Some(start) = self.starts().get(self.hunk) {
            self.top = (*start).min(last);
        }
    }

    /// To the next change, of the next file behind the last one.
    fn next_hunk(&mut self) {
        if self.hunk + 1 < self.starts().len() {
            self.hunk += 1;
            self.show_hunk();
        } else {
            self.select(self.selected + 1);
        }
    }

    fn previous_hunk(&mut self) {
        if self.hunk > 0 {
            self.hunk -= 1;
            self.show_hunk();
        } else if self.selected > 0 {
            self.select(self.selected - 1);
            self.from_below = true;
        }
    }

    /// Lays the selected file out.
    fn lay_out(&mut self, width: u16) {
        let auto = if width >= TWO_SIDES {
            DiffLayout::SideBySide
        } else {
            DiffLayout::Unified
        };
        let layout = self.layout.unwrap_or(auto);
        let current =
            |laid: &LaidOut| (laid.file, laid.width, laid.layout) == (self.selected, width, layout);
        if self.laid_out.as_ref().is_some_and(current) {
            self.refresh_rows();
            return;
        }
        self.stale = false;
        if self.selected >= self.files.len() {
            return;
        }
        let (rows, hunks) = self.file_rows(self.selected, width, layout);
        let laid = LaidOut {
            file: self.selected,
            width,
            layout,
            rows,
            hunks,
        };
        let again = self
            .laid_out
            .replace(laid)
            .is_some_and(|old| old.file == self.selected);
        if again {
            self.show_hunk();
        }
    }
}

impl Component<Command, Action> for DiffView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.linear = view.theme.marks_selected();
        let wide = area.width >= SIDE_BY_SIDE && self.files.len() > 1;
        let most = LIST.max(area.width / 3);
        let list = if wide {
            self.widest.clamp(LIST, most)
        } else {
            0
        };
        let body = area.height.saturating_sub(2);
        // On a narrow screen the selected file has a line of its own, and where the list cuts its path.
        let is_cut = wide && self.is_cut(usize::from(list - 1));
        let named = u16::from(!wide || is_cut).min(body);
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
        }
        if is_cut {
            let row = self.path_row(usize::from(area.width - list));
            paint(&[row], at(list, 1, area.width - list, named), buffer);
        } else if named > 0 {
            paint(&[self.named(width)], at(0, 1, area.width, 1), buffer);
        }
        let rows = self.laid_out.as_ref().map_or(&[][..], |laid| &laid.rows);
        let shown = &rows[self.top..rows.len().min(self.top + self.page)];
        let place = at(list, 1 + named, area.width - list, body - named);
        paint(shown, place, buffer);
        let gutter = self.gutter();
        let columns = Rect {
            width: place.width.min(2),
            height: place.height.min(gutter.len() as u16),
            ..place
        };
        paint(&gutter, columns, buffer);
        self.cursor = None;
        if area.height == 0 {
            return;
        }
        let line = at(0, area.height - 1, area.width, 1);
        if let Some((row, column)) = self.review.writing(width) {
            paint(&[row], line, buffer);
            self.cursor = Some(Position {
                x: line.x + column.min(line.width.saturating_sub(1)),
                y: line.y,
            });
            return;
        }
        let said = self
            .current()
            .and_then(|(path, piece)| self.review.of(path, piece));
        let help = match said.filter(|said| !said.comment.is_empty()) {
            // Its comment is in the rows.
            _ if self.is_outdated() => keys(view.keymap, true, width),
            Some(said) => format!(" ✎ {}", text::single_line(&said.comment)),
            None => keys(view.keymap, false, width),
        };
        let help = text::truncate(&help, width).into_owned();
        paint(&[Row::plain(help, Token::Muted)], line, buffer);
    }

    fn on_key(&mut self, key: KeyPress, _: &mut Cx<'_, Action>) -> Handled {
        match key.typed() {
            Some(character) if self.review.write(character.encode_utf8(&mut [0; 4])) => {
                Handled::Yes
            }
            _ => Handled::No,
        }
    }

    fn on_paste(&mut self, text: &str, _: &mut Cx<'_, Action>) -> Handled {
        if self.review.write(text) {
            Handled::Yes
        } else {
            Handled::No
        }
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        if self.review.is_writing() {
            self.stale = true;
            return self.review.on_command(command);
        }
        let page = isize::try_from(self.page.saturating_sub(1).max(1)).unwrap_or(1);
        match command {
            Command::Up => self.scroll(-1),
            Command::Down => self.scroll(1),
            Command::PageUp => self.scroll(-page),
            Command::PageDown => self.scroll(page),
            Command::First => self.scroll(isize::MIN / 2),
            Command::Last => self.scroll(isize::MAX / 2),
            Command::NextFile => self.select((self.selected + 1) % self.files.len().max(1)),
            Command::PreviousFile => {
                let before = self.selected.checked_sub(1);
                self.select(before.unwrap_or(self.files.len().saturating_sub(1)));
            }
            Command::NextHunk => self.next_hunk(),
            Command::PreviousHunk => self.previous_hunk(),
            Command::NextProblem => self.next_problem(),
            Command::OtherRange => cx.push(Action::ShowChanges(match self.range {
                DiffRange::Session if self.has_git => DiffRange::Head,
                DiffRange::Session | DiffRange::Head => DiffRange::LastPrompt,
                _ => DiffRange::Session,
            })),
            Command::DiffLayout => {
                let shown = self.laid_out.as_ref().map(|laid| laid.layout);
                self.layout = Some(match shown {
                    Some(DiffLayout::SideBySide) => DiffLayout::Unified,
                    _ => DiffLayout::SideBySide,
                });
            }
            Command::AcceptHunk | Command::RejectHunk | Command::CommentHunk => {
                if let Some((path, piece)) = self.current() {
                    let (path, piece) = (path.to_owned(), piece.to_owned());
                    let continues = self.review.set_verdict(command, path, piece);
                    self.stale = true;
                    if continues {
                        self.next_hunk();
                    }
                }
            }
            Command::RevertHunk => {
                if let Some((path, piece)) = self.current() {
                    let (path, piece) = (path.to_owned(), piece.to_owned());
                    self.review.set_reverted(&path, &piece);
                    self.stale = true;
                    let pieces = vec![Review::rejection(&path, &piece)];
                    let op = CheckpointOp::Review {
                        pieces,
                        tell: false,
                    };
                    cx.push(op);
                }
            }
            Command::EditHunk => {
                if let Some((path, piece)) = self.current() {
                    cx.push(Effect::EditFile {
                        path: path.to_owned(),
                        line: self
                            .problems
                            .line(path)
                            .unwrap_or_else(|| first_line(piece)),
                    });
                }
            }
            Command::SendReview => cx.push(Action::SendReview(self.review.pieces())),
            Command::Accept | Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                cx.push(Action::CloseLayer);
            }
            _ => {}
        }
        Handled::Yes
    }

    fn request_highlight(&mut self, highlighter: &mut Highlighter) {
        let file = self.files.get(self.selected);
        if let (Some(file), Some(syntax)) = (file, self.syntax.get_mut(self.selected)) {
            syntax.request(&file.diff, &file.change.path, highlighter);
        }
    }

    fn apply_highlight(&mut self, highlighted: &Highlighted) -> bool {
        let is_own = self
            .syntax
            .iter_mut()
            .any(|syntax| syntax.apply(highlighted));
        self.stale |= is_own;
        is_own
    }

    fn context(&self) -> &'static str {
        if self.review.is_writing() {
            "search"
        } else {
            "diff"
        }
    }
}

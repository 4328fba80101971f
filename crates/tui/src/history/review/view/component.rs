//! The diff view as an overlay: its drawing and its keys.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::problems::{Problems, contains, is_in};
use super::state::DiffView;
use super::texts::first_line;
use crate::actions::{Action, Command, Effect, Toast};
use crate::history::review::verdicts::{Review, is_verdict, key_lines, keys};
use osier_base::text;
use osier_checkpoint::hunks;
use osier_protocol::{CheckpointOp, DiffRange};
use osier_term::widgets::diff::DiffLayout;
use osier_term::{
    Component, Cx, Handled, Highlighted, Highlighter, KeyPress, Keymap, Row, Token, View,
};

/// From this width on the list is next to the changes.
const SIDE_BY_SIDE: u16 = 90;
/// Minimum columns of the list. Long paths widen it, up to a third of the screen.
const LIST: u16 = 34;
impl DiffView {
    /// Jumps to the next error or warning of a changed file: to its change, or to the rows of diagnostics below the
    /// changes.
    pub(super) fn next_problem(&mut self) {
        let Problems { list, selected } = &self.problems;
        let first = selected.map_or(0, |selected| selected + 1);
        let order = (first..list.len()).chain(0..first.min(list.len()));
        let mut found = order.filter_map(|place| {
            let problem = list.get(place)?;
            let files = &self.files;
            let file = files
                .iter()
                .position(|file| is_in(problem, &file.change.path));
            Some((place, file?, problem.line as usize))
        });
        let Some((place, file, line)) = found.next() else {
            return;
        };
        self.problems.selected = Some(place);
        self.select(file);
        let pieces = hunks(&self.files[file].diff);
        let hunk = pieces.iter().position(|piece| contains(piece, line));
        // The rows do not have the mark of the new selection yet.
        if let Some(width) = self.laid_out.take().map(|laid| laid.width) {
            self.lay_out(width);
        }
        match hunk {
            Some(hunk) => {
                self.hunk = hunk;
                self.show_hunk();
            }
            None => self.scroll(isize::MAX / 2),
        }
    }
}

impl DiffView {
    /// Reverts the selected change now.
    fn revert(&mut self, cx: &mut Cx<'_, Action>) {
        let Some((path, piece)) = self.current() else {
            return;
        };
        let (path, piece) = (path.to_owned(), piece.to_owned());
        self.review.set_reverted(&path, &piece);
        self.stale = true;
        cx.push(CheckpointOp::Review {
            pieces: vec![Review::rejection(&path, &piece)],
            tell: false,
        });
    }

    /// The lines of keys.
    fn help(&self, width: usize, keymap: &Keymap<Command>) -> Vec<Row> {
        let lines = keys(keymap, (self.reviews(), self.is_outdated()), width).into_iter();
        let row =
            |keys: String| Row::plain(text::truncate(&keys, width).into_owned(), Token::Muted);
        lines.map(row).collect()
    }

    /// The comment on the selected change. The comment of an outdated review is in the rows.
    fn comment(&self, width: usize) -> Option<Row> {
        let (path, piece) = self.current().filter(|_| !self.is_outdated())?;
        let said = self.review.of(path, piece)?;
        let comment = text::single_line(&said.comment);
        let row = text::truncate(&format!(" ✎ {comment}"), width).into_owned();
        (!comment.is_empty()).then(|| Row::plain(row, Token::Text))
    }
}

impl Component<Command, Action> for DiffView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.linear = view.settings.screen_reader;
        let wide = area.width >= SIDE_BY_SIDE && self.files.len() > 1;
        let most = LIST.max(area.width / 3);
        let list = if wide {
            self.widest.clamp(LIST, most)
        } else {
            0
        };
        let width = usize::from(area.width);
        let comment = self.comment(width);
        let lines = key_lines(width);
        let below = lines + u16::from(comment.is_some());
        let body = area.height.saturating_sub(1 + below);
        // On a narrow screen the list is above the changes. The path of the selected file has a line of its own where the
        // list cuts it.
        let is_cut = wide && self.is_cut(usize::from(list - 1));
        let named = if wide {
            u16::from(is_cut)
        } else {
            self.rows_above(body)
        };
        let named = named.min(body);
        self.page = usize::from(body - named).max(1);
        self.lay_out(area.width.saturating_sub(list));
        let last = self.count().saturating_sub(self.page);
        if std::mem::take(&mut self.from_below) {
            self.top = last;
        }
        self.top = self.top.min(last);
        let at = |x: u16, y: u16, width: u16, height: u16| Rect {
            x: area.x + x,
            y: area.y + y,
            width,
            height,
        };
        view.paint(
            &[self.head(width)],
            at(0, 0, area.width, 1.min(area.height)),
            buffer,
        );
        if wide {
            let rows = self.list(usize::from(list - 1), usize::from(body));
            view.paint(&rows, at(0, 1, list - 1, body), buffer);
            let bar = vec![Row::plain("│", Token::Border); usize::from(body)];
            view.paint(&bar, at(list - 1, 1, 1, body), buffer);
        }
        if is_cut {
            let row = self.path_row(usize::from(area.width - list));
            view.paint(&[row], at(list, 1, area.width - list, named), buffer);
        } else if named > 0 {
            let rows = self.above(width, usize::from(named));
            view.paint(&rows, at(0, 1, area.width, named), buffer);
        }
        let rows = self.laid_out.as_ref().map_or(&[][..], |laid| &laid.rows);
        let shown = &rows[self.top..rows.len().min(self.top + self.page)];
        let place = at(list, 1 + named, area.width - list, body - named);
        view.paint(shown, place, buffer);
        let gutter = self.gutter();
        let columns = Rect {
            width: place.width.min(2),
            height: place.height.min(gutter.len() as u16),
            ..place
        };
        view.paint(&gutter, columns, buffer);
        self.cursor = None;
        if area.height == 0 {
            return;
        }
        let above_keys = at(0, area.height.saturating_sub(below), area.width, 1);
        view.paint(comment.as_slice(), above_keys, buffer);
        let line = at(0, area.height.saturating_sub(lines), area.width, lines);
        if let Some((row, column)) = self.review.writing(width) {
            view.paint(&[row], line, buffer);
            self.cursor = Some(Position {
                x: line.x + column.min(line.width.saturating_sub(1)),
                y: line.y,
            });
            return;
        }
        view.paint(&self.help(width, view.keymap), line, buffer);
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
        if is_verdict(command) && !self.reviews() {
            let text = "both states are recorded ones: nothing to review here; /restore ENTRY restores the files of one";
            cx.push(Toast::info(text));
            return Handled::Yes;
        }
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
                    if command == Command::RejectHunk && self.review.pieces().is_empty() {
                        let text = "rejected: reverted when you send the review with S; X reverts a change at once";
                        cx.push(Toast::info(text));
                    }
                    let continues = self.review.set_verdict(command, path, piece);
                    self.stale = true;
                    if continues {
                        self.next_hunk();
                    }
                } else {
                    cx.push(Toast::info("this file has no change to review"));
                }
            }
            Command::RevertHunk => self.revert(cx),
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

    fn uses(&self, command: Command) -> bool {
        self.reviews() || !is_verdict(command)
    }

    fn context(&self) -> &'static str {
        if self.review.is_writing() {
            "search"
        } else {
            "diff"
        }
    }
}

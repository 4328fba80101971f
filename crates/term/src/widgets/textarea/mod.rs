//! The prompt editor: text with chips, a cursor on a cluster boundary, undo, a kill ring and a view of
//! soft-wrapped rows.
//!
//! An edit costs what it changes: a key in a text of 20,000 lines lays out one line. Keys are not known
//! here; a keymap calls the methods.

mod buffer;
mod draft;
mod kill_ring;
mod layout;
pub mod modal;
mod motion;
mod undo;

use std::ops::Range;
use std::sync::Arc;

use self::buffer::{Buffer, Edit, Fragment, MARK, end_of};
use self::kill_ring::{KillRing, Side};
use self::layout::Layout;
use self::undo::{Done, Kind, Undo};
use super::super::face::Token;
use super::super::row::Row;
use osier_base::parts::Parts;
use osier_base::text;

pub use self::buffer::{Chip, Position};
pub use self::draft::{Draft, Piece};
pub use self::motion::Motion;

/// A paste of more lines or characters than these becomes a chip.
const CHIP_LINES: usize = 10;
const CHIP_CHARACTERS: usize = 1000;

/// Width assumed until the editor is shown.
const INITIAL_WIDTH: usize = 80;

/// What the last command was, as far as the next one cares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Kill,
    Yank {
        start: Position,
    },
}

/// The visible part of the editor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub rows: Vec<Row>,
    /// Column and row of the cursor in the view.
    pub cursor: (u16, u16),
    /// Rows hidden above and below.
    pub above: usize,
    pub below: usize,
}

/// The editor's model and view.
#[derive(Debug, Clone)]
pub struct TextArea {
    buffer: Buffer,
    cursor: Position,
    /// The column that vertical motions aim at.
    column: Option<usize>,
    undo: Undo,
    kill_ring: KillRing,
    last: Last,
    layout: Layout,
    /// First visible row.
    top: usize,
    /// Pastes numbered so far.
    pastes: usize,
    edits: u64,
    placeholder: Box<str>,
    /// Shown as selected.
    selection: Option<Range<Position>>,
}

impl Default for TextArea {
    fn default() -> Self {
        Self::new("")
    }
}

impl TextArea {
    /// An empty editor that shows `placeholder` while it is empty.
    pub fn new(placeholder: &str) -> Self {
        let buffer = Buffer::default();
        let mut layout = Layout::default();
        layout.set_width(INITIAL_WIDTH, &buffer);
        Self {
            buffer,
            cursor: Position::default(),
            column: None,
            undo: Undo::default(),
            kill_ring: KillRing::default(),
            last: Last::Other,
            layout,
            top: 0,
            pastes: 0,
            edits: 0,
            placeholder: text::single_line(placeholder).into(),
            selection: None,
        }
    }

    pub fn set_placeholder(&mut self, placeholder: &str) {
        self.placeholder = text::single_line(placeholder).into();
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The text to send: every chip replaced by what it stands for.
    pub fn text(&self) -> String {
        self.buffer.all().expand(|chip| &chip.text)
    }

    /// The same in parts: those of chips are shared, so that it costs what was typed.
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let all = self.buffer.all();
        let mut chips = all.chips().iter();
        for (place, piece) in all.text.split(MARK).enumerate() {
            if place > 0
                && let Some(chip) = chips.next()
            {
                parts.push(Arc::clone(&chip.text), chip.attachment.is_none());
            }
            parts.push(piece.into(), false);
        }
        parts
    }

    /// Counts the edits: the same number is the same text.
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// The text as shown, with the labels of chips.
    pub fn display_text(&self) -> String {
        self.buffer.all().expand(|chip| &chip.label)
    }

    /// The chips in the order of the text.
    pub fn chips(&self) -> impl Iterator<Item = &Arc<Chip>> {
        self.buffer.chips()
    }

    pub fn cursor(&self) -> Position {
        self.cursor
    }

    pub fn line_count(&self) -> usize {
        self.buffer.lines().len()
    }

    /// A logical line; every chip in it is one U+FFFC.
    pub fn line(&self, line: usize) -> &str {
        self.buffer.line(line)
    }

    /// The part of the cursor's line before it: what completion looks at.
    pub fn before_cursor(&self) -> &str {
        &self.buffer.line(self.cursor.line)[..self.cursor.byte]
    }

    /// Replaces everything and puts the cursor at the end; one step of undo.
    pub fn set_text(&mut self, text: &str) {
        let all = Position::default()..self.buffer.end();
        self.edit(all, Fragment::plain(text), Kind::Other);
        self.top = 0;
    }

    /// Inserts text at the cursor.
    pub fn insert(&mut self, text: &str) {
        let fragment = Fragment::plain(text);
        let kind = match text::graphemes(&fragment.text).take(2).count() {
            0 => return,
            1 => Kind::Typed,
            _ => Kind::Other,
        };
        self.edit(self.cursor..self.cursor, fragment, kind);
    }

    /// Inserts a paste: a large one as a chip.
    pub fn paste(&mut self, text: &str) {
        match pasted(text, self.pastes + 1) {
            Some(chip) => {
                self.pastes += 1;
                self.insert_chip(chip);
            }
            None => self.insert(text),
        }
    }

    /// Replaces everything and puts the cursor at the end; one step of undo. Large pastes are chips.
    pub fn set_parts(&mut self, parts: &Parts) {
        let mut draft = Draft::default();
        let mut pastes = 0;
        for part in parts.iter() {
            let chip = part.is_paste.then(|| pasted(&part.text, pastes + 1));
            draft.pieces.push(match chip.flatten() {
                Some(chip) => {
                    pastes += 1;
                    Piece::Chip(chip)
                }
                None => Piece::Text(part.text.to_string()),
            });
        }
        self.restore(&draft);
        self.set_cursor(self.buffer.end());
        self.top = 0;
    }

    /// Inserts a chip at the cursor.
    pub fn insert_chip(&mut self, chip: Chip) {
        let chip = Chip {
            label: text::single_line(&chip.label),
            ..chip
        };
        let fragment = Fragment::chip(Arc::new(chip));
        self.edit(self.cursor..self.cursor, fragment, Kind::Other);
    }

    /// Replaces a part of the text: what accepting a completion does.
    pub fn replace(&mut self, range: Range<Position>, text: &str) {
        let start = self.buffer.clamp(range.start);
        let end = self.buffer.clamp(range.end).max(start);
        self.edit(start..end, Fragment::plain(text), Kind::Other);
    }

    /// Moves the cursor; false when it is there already.
    pub fn move_by(&mut self, motion: Motion) -> bool {
        self.undo.seal();
        self.last = Last::Other;
        let target = self.target(motion);
        if !matches!(motion, Motion::Up(_) | Motion::Down(_)) {
            self.column = None;
        }
        let moved = target != self.cursor;
        self.cursor = target;
        moved
    }

    pub fn set_cursor(&mut self, position: Position) {
        self.undo.seal();
        self.last = Last::Other;
        self.column = None;
        self.cursor = self.buffer.clamp(position);
    }

    /// Puts the cursor at a cell of the view.
    pub fn click(&mut self, column: u16, row: u16) {
        let row = (self.top + usize::from(row)).min(self.layout.rows() - 1);
        let position = self.layout.position(row, usize::from(column), &self.buffer);
        self.set_cursor(position);
    }

    /// Deletes from the cursor to where `motion` leads; false when that is nothing.
    pub fn delete(&mut self, motion: Motion) -> bool {
        let kind = match motion {
            Motion::Left => Kind::DeletedLeft,
            Motion::Right => Kind::DeletedRight,
            _ => Kind::Other,
        };
        let range = self.covered(motion);
        let some = range.start != range.end;
        if some {
            self.edit(range, Fragment::default(), kind);
        }
        some
    }

    /// Deletes into the kill ring. To the end of a line that is empty from here on: its newline.
    pub fn kill(&mut self, motion: Motion) -> bool {
        let range = self.covered(motion);
        if range.start == range.end {
            return false;
        }
        let side = if range.end == self.cursor {
            Side::Before
        } else {
            Side::After
        };
        let joined = self.last == Last::Kill;
        let killed = self.edit(range, Fragment::default(), Kind::Other);
        self.kill_ring.push(killed, side, joined);
        self.last = Last::Kill;
        true
    }

    /// Inserts the newest kill.
    pub fn yank(&mut self) -> bool {
        let Some(fragment) = self.kill_ring.yank().cloned() else {
            return false;
        };
        let start = self.cursor;
        self.edit(start..start, fragment, Kind::Other);
        self.last = Last::Yank { start };
        true
    }

    /// Right after a yank: replaces what it inserted with the kill before it.
    pub fn yank_pop(&mut self) -> bool {
        let Last::Yank { start } = self.last else {
            return false;
        };
        let Some(fragment) = self.kill_ring.older().cloned() else {
            return false;
        };
        self.edit(start..self.cursor, fragment, Kind::Other);
        self.last = Last::Yank { start };
        true
    }

    /// What was done until now cannot be taken back.
    pub fn forget_undo(&mut self) {
        self.undo.clear();
    }

    pub fn undo(&mut self) -> bool {
        let Some((cursor, _)) = self.step_back(false) else {
            return false;
        };
        self.cursor = self.buffer.clamp(cursor);
        true
    }

    pub fn redo(&mut self) -> bool {
        self.step_back(true).is_some()
    }

    /// Takes a step back, or does it again. Gives where the cursor was before the step, and its first line.
    fn step_back(&mut self, redo: bool) -> Option<(Position, usize)> {
        let mut step = if redo {
            self.undo.redo()
        } else {
            self.undo.undo()
        }?;
        // The first edit knows where the cursor was.
        let cursor = step.first()?.cursor;
        if !redo {
            step.reverse();
        }
        let mut top = usize::MAX;
        for Done { edit, .. } in step {
            let start = edit.start;
            let (gone, back) = if redo {
                (edit.removed, edit.inserted)
            } else {
                (edit.inserted, edit.removed)
            };
            // From the end of a line on, the lines below are what changes.
            let below = gone.text.starts_with('\n') || back.text.starts_with('\n');
            top = top.min(start.line + usize::from(below));
            self.apply(start..end_of(start, &gone), back);
        }
        Some((cursor, top))
    }

    /// Shows a part of the text as selected.
    pub fn set_selection(&mut self, selection: Option<Range<Position>>) {
        self.selection = selection;
    }

    /// Rows that the text takes at `width`, at least one and at most `max`.
    pub fn height(&mut self, width: usize, max: usize) -> usize {
        self.layout.set_width(width.max(1), &self.buffer);
        self.layout.rows().clamp(1, max.max(1))
    }

    /// The rows to show, scrolled as little as needed for the cursor to be seen.
    pub fn view(&mut self, width: usize, height: usize) -> View {
        let height = height.max(1);
        self.layout.set_width(width.max(1), &self.buffer);
        let total = self.layout.rows();
        let (row, column) = self.layout.locate(self.cursor, &self.buffer);
        self.top = self
            .top
            .min(total.saturating_sub(height))
            .clamp((row + 1).saturating_sub(height), row);
        let end = total.min(self.top + height);
        let rows = if self.is_empty() && !self.placeholder.is_empty() {
            let shown = text::truncate(&self.placeholder, width);
            vec![Row::plain(&*shown, Token::Placeholder)]
        } else {
            self.layout
                .build(self.top..end, &self.buffer, self.selection.as_ref())
        };
        View {
            rows,
            cursor: (
                column.min(width.saturating_sub(1)) as u16,
                (row - self.top) as u16,
            ),
            above: self.top,
            below: total - end,
        }
    }

    /// Where `motion` leads from the cursor.
    fn target(&mut self, motion: Motion) -> Position {
        if let Some(position) = motion::target(&self.buffer, self.cursor, motion) {
            return position;
        }
        match motion {
            Motion::Up(rows) => {
                self.vertical(|row, _| row.checked_sub(rows).or((row > 0).then_some(0)))
            }
            Motion::Down(rows) => {
                self.vertical(|row, last| (row < last).then(|| row.saturating_add(rows).min(last)))
            }
            Motion::RowStart => self.layout.row_ends(self.cursor, &self.buffer).0,
            _ => self.layout.row_ends(self.cursor, &self.buffer).1,
        }
    }

    /// The position in another row at the column that the first vertical motion started from.
    fn vertical(&mut self, step: impl Fn(usize, usize) -> Option<usize>) -> Position {
        let (row, column) = self.layout.locate(self.cursor, &self.buffer);
        let wanted = *self.column.get_or_insert(column);
        match step(row, self.layout.rows() - 1) {
            Some(row) => self.layout.position(row, wanted, &self.buffer),
            None => self.cursor,
        }
    }

    /// The text between the cursor and where `motion` leads; at the end of a line, its line break.
    fn covered(&mut self, motion: Motion) -> Range<Position> {
        let column = self.column;
        let mut target = self.target(motion);
        self.column = column;
        if target == self.cursor {
            let across = match motion {
                Motion::LineEnd | Motion::RowEnd => Some(Motion::Right),
                Motion::LineStart | Motion::RowStart => Some(Motion::Left),
                _ => None,
            };
            if let Some(motion) = across {
                target = self.target(motion);
            }
        }
        self.cursor.min(target)..self.cursor.max(target)
    }

    /// One edit by the user: applied, recorded, the cursor behind it. Gives what was removed.
    fn edit(&mut self, range: Range<Position>, inserted: Fragment, kind: Kind) -> Fragment {
        let before = self.cursor;
        let edit = self.apply(range, inserted);
        let removed = edit.removed.clone();
        self.undo.record(edit, before, kind);
        removed
    }

    fn apply(&mut self, range: Range<Position>, inserted: Fragment) -> Edit {
        self.edits += 1;
        let first = range.start.line;
        let old = first..range.end.line + 1;
        let (end, edit) = self.buffer.replace(range, inserted);
        self.layout.replaced(old, first..end.line + 1, &self.buffer);
        self.cursor = self.buffer.snap(end);
        self.column = None;
        self.last = Last::Other;
        edit
    }
}

/// A large paste as a chip, the one of this number; `None` for a small one.
fn pasted(text: &str, number: usize) -> Option<Chip> {
    let lines = text.lines().count();
    let characters = text.chars().count();
    let size = if lines > CHIP_LINES {
        format!("+{lines} lines")
    } else if characters > CHIP_CHARACTERS {
        format!("{characters} chars")
    } else {
        return None;
    };
    Some(Chip {
        label: format!("[paste #{number} {size}]"),
        text: text::sanitize(text).into(),
        attachment: None,
    })
}

#[cfg(test)]
mod tests;

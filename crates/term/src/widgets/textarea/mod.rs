//! The prompt editor: text with chips, a cursor, undo, a kill ring and a soft-wrapped view.
//!
//! The cost of an edit depends on its size: a key in a text of 20,000 lines lays out one line. The
//! editor knows no keys; a keymap calls its methods.

mod buffer;
mod draft;
mod kill_ring;
mod layout;
pub mod modal;
mod motion;
mod undo;

use std::ops::Range;
use std::sync::Arc;

use self::buffer::{Buffer, Fragment, MARK, TextEdit, end_of};
use self::kill_ring::{KillRing, KillSide};
use self::layout::Layout;
use self::undo::{EditKind, Undo, UndoEdit};
use crate::text::face::Token;
use crate::text::row::Row;
use osier_base::parts::Parts;
use osier_base::text;

pub use self::buffer::{Chip, Position};
pub use self::draft::{Draft, DraftPart};
pub use self::motion::Motion;

/// A paste with more lines or characters becomes a chip.
const CHIP_LINES: usize = 10;
const CHIP_CHARACTERS: usize = 1000;

/// The width before the editor is first shown.
const INITIAL_WIDTH: usize = 80;

/// The last command, as far as the next one depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastCommand {
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
    /// Number of rows hidden above and below.
    pub above: usize,
    pub below: usize,
}

/// The multi-line editor.
///
/// ```
/// use osier_term::widgets::textarea::{Motion, TextArea};
///
/// let mut editor = TextArea::new("Type here");
/// editor.insert("hello world");
/// editor.kill(Motion::WordLeft);
/// assert_eq!(editor.text(), "hello ");
/// editor.undo();
/// assert_eq!(editor.text(), "hello world");
/// ```
#[derive(Debug, Clone)]
pub struct TextArea {
    buffer: Buffer,
    cursor: Position,
    /// The column that vertical motions aim at.
    column: Option<usize>,
    undo: Undo,
    kill_ring: KillRing,
    last: LastCommand,
    layout: Layout,
    /// First visible row.
    top: usize,
    /// Number of the last paste chip.
    pastes: usize,
    edits: u64,
    placeholder: Box<str>,
    /// The range highlighted as selected.
    selection: Option<Range<Position>>,
}

impl Default for TextArea {
    fn default() -> Self {
        Self::new("")
    }
}

impl TextArea {
    /// Creates an empty editor that shows `placeholder` while it is empty.
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
            last: LastCommand::Other,
            layout,
            top: 0,
            pastes: 0,
            edits: 0,
            placeholder: text::single_line(placeholder).into(),
            selection: None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The text to send, with every chip replaced by its text.
    pub fn text(&self) -> String {
        self.buffer.all().expand(|chip| &chip.text)
    }

    /// The text to send in parts. Chip texts are shared, so the cost is that of the typed text.
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        let all = self.buffer.all();
        let mut chips = all.chips.iter();
        for (index, text) in all.text.split(MARK).enumerate() {
            if index > 0
                && let Some(chip) = chips.next()
            {
                parts.push(Arc::clone(&chip.text), chip.attachment.is_none());
            }
            parts.push(text.into(), false);
        }
        parts
    }

    /// The number of edits. The text is unchanged while the number is.
    pub fn edits(&self) -> u64 {
        self.edits
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

    /// The part of the cursor's line before it, for completion.
    pub fn before_cursor(&self) -> &str {
        &self.buffer.line(self.cursor.line)[..self.cursor.byte]
    }

    /// Replaces everything in one undo step and moves the cursor to the end.
    pub fn set_text(&mut self, text: &str) {
        let all = Position::default()..self.buffer.end();
        self.edit(all, Fragment::plain(text), EditKind::Other);
        self.top = 0;
    }

    /// Inserts text at the cursor.
    pub fn insert(&mut self, text: &str) {
        let fragment = Fragment::plain(text);
        let kind = match text::graphemes(&fragment.text).take(2).count() {
            0 => return,
            1 => EditKind::Typed,
            _ => EditKind::Other,
        };
        self.edit(self.cursor..self.cursor, fragment, kind);
    }

    /// Inserts a paste, as a chip if it is large.
    pub fn paste(&mut self, text: &str) {
        match paste_chip(text, self.pastes + 1) {
            Some(chip) => {
                self.pastes += 1;
                self.insert_chip(chip);
            }
            None => self.insert(text),
        }
    }

    /// Replaces everything in one undo step and moves the cursor to the end. Large pastes become
    /// chips.
    pub fn set_parts(&mut self, parts: &Parts) {
        let mut draft = Draft::default();
        let mut pastes = 0;
        for part in parts.iter() {
            let chip = part.is_paste.then(|| paste_chip(&part.text, pastes + 1));
            draft.parts.push(match chip.flatten() {
                Some(chip) => {
                    pastes += 1;
                    DraftPart::Chip(chip)
                }
                None => DraftPart::Text(part.text.to_string()),
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
        self.edit(self.cursor..self.cursor, fragment, EditKind::Other);
    }

    /// Replaces a part of the text, for example to accept a completion.
    pub fn replace(&mut self, range: Range<Position>, text: &str) {
        let start = self.buffer.clamp(range.start);
        let end = self.buffer.clamp(range.end).max(start);
        self.edit(start..end, Fragment::plain(text), EditKind::Other);
    }

    /// Moves the cursor; returns false if it does not move.
    pub fn move_by(&mut self, motion: Motion) -> bool {
        self.undo.seal();
        self.last = LastCommand::Other;
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
        self.last = LastCommand::Other;
        self.column = None;
        self.cursor = self.buffer.clamp(position);
    }

    /// Moves the cursor to a cell of the view.
    pub(crate) fn click(&mut self, column: u16, row: u16) {
        let row = (self.top + usize::from(row)).min(self.layout.rows() - 1);
        let position = self.layout.position(row, usize::from(column), &self.buffer);
        self.set_cursor(position);
    }

    /// Deletes from the cursor to the target of `motion`; returns false if nothing is deleted.
    pub fn delete(&mut self, motion: Motion) -> bool {
        let kind = match motion {
            Motion::Left => EditKind::DeletedLeft,
            Motion::Right => EditKind::DeletedRight,
            _ => EditKind::Other,
        };
        let range = self.motion_range(motion);
        let some = range.start != range.end;
        if some {
            self.edit(range, Fragment::default(), kind);
        }
        some
    }

    /// Cuts from the cursor to the target of `motion` into the kill ring. At the end of a line,
    /// cuts the line break.
    pub fn kill(&mut self, motion: Motion) -> bool {
        let range = self.motion_range(motion);
        if range.start == range.end {
            return false;
        }
        self.cut(range);
        true
    }

    /// Cuts a range into the kill ring. Consecutive cuts are one entry.
    fn cut(&mut self, range: Range<Position>) {
        let side = if range.end == self.cursor {
            KillSide::Before
        } else {
            KillSide::After
        };
        let joined = self.last == LastCommand::Kill;
        let killed = self.edit(range, Fragment::default(), EditKind::Other);
        self.kill_ring.push(killed, side, joined);
        self.last = LastCommand::Kill;
    }

    /// Inserts the newest kill.
    pub fn yank(&mut self) -> bool {
        let Some(fragment) = self.kill_ring.yank().cloned() else {
            return false;
        };
        let start = self.cursor;
        self.edit(start..start, fragment, EditKind::Other);
        self.last = LastCommand::Yank { start };
        true
    }

    /// After a yank, replaces the yanked text with the previous kill.
    pub fn yank_pop(&mut self) -> bool {
        let LastCommand::Yank { start } = self.last else {
            return false;
        };
        let Some(fragment) = self.kill_ring.older().cloned() else {
            return false;
        };
        self.edit(start..self.cursor, fragment, EditKind::Other);
        self.last = LastCommand::Yank { start };
        true
    }

    /// Clears the undo history.
    pub fn forget_undo(&mut self) {
        self.undo.clear();
    }

    pub fn undo(&mut self) -> bool {
        let Some((cursor, _)) = self.step_history(false) else {
            return false;
        };
        self.cursor = self.buffer.clamp(cursor);
        true
    }

    pub fn redo(&mut self) -> bool {
        self.step_history(true).is_some()
    }

    /// Undoes or redoes one step. Returns the cursor before the step, and its first line.
    fn step_history(&mut self, redo: bool) -> Option<(Position, usize)> {
        let mut step = if redo {
            self.undo.redo()
        } else {
            self.undo.undo()
        }?;
        // The first edit stores the cursor before the step.
        let cursor = step.first()?.cursor;
        if !redo {
            step.reverse();
        }
        let mut top = usize::MAX;
        for UndoEdit { edit, .. } in step {
            let start = edit.start;
            let (gone, back) = if redo {
                (edit.removed, edit.inserted)
            } else {
                (edit.inserted, edit.removed)
            };
            // At the end of a line, the change starts in the line below.
            let below = gone.text.starts_with('\n') || back.text.starts_with('\n');
            top = top.min(start.line + usize::from(below));
            self.apply(start..end_of(start, &gone), back);
        }
        Some((cursor, top))
    }

    /// Sets the highlighted range.
    pub fn set_selection(&mut self, selection: Option<Range<Position>>) {
        self.selection = selection;
    }

    /// Number of rows of the text at `width`, from 1 to `max`.
    pub fn height(&mut self, width: usize, max: usize) -> usize {
        self.layout.set_width(width.max(1), &self.buffer);
        self.layout.rows().clamp(1, max.max(1))
    }

    /// The visible rows, scrolled as little as needed to show the cursor.
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

    /// The target of `motion` from the cursor.
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

    /// The position in another row, at the column where the vertical movement started.
    fn vertical(&mut self, step: impl Fn(usize, usize) -> Option<usize>) -> Position {
        let (row, column) = self.layout.locate(self.cursor, &self.buffer);
        let wanted = *self.column.get_or_insert(column);
        match step(row, self.layout.rows() - 1) {
            Some(row) => self.layout.position(row, wanted, &self.buffer),
            None => self.cursor,
        }
    }

    /// The text between the cursor and the target of `motion`; at the end of a line, its line
    /// break.
    fn motion_range(&mut self, motion: Motion) -> Range<Position> {
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

    /// Applies and records one edit by the user. Returns the removed text.
    fn edit(&mut self, range: Range<Position>, inserted: Fragment, kind: EditKind) -> Fragment {
        let before = self.cursor;
        let edit = self.apply(range, inserted);
        let removed = edit.removed.clone();
        self.undo.record(edit, before, kind);
        removed
    }

    fn apply(&mut self, range: Range<Position>, inserted: Fragment) -> TextEdit {
        self.edits += 1;
        let first = range.start.line;
        let old = first..range.end.line + 1;
        let (end, edit) = self.buffer.replace(range, inserted);
        self.layout.replaced(old, first..end.line + 1, &self.buffer);
        self.cursor = self.buffer.snap(end);
        self.column = None;
        self.last = LastCommand::Other;
        edit
    }
}

/// A large paste as a chip with this number; `None` for a small one.
fn paste_chip(text: &str, number: usize) -> Option<Chip> {
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

//! Selections of characters and lines.

use std::ops::Range;

use super::super::TextArea;
use super::super::buffer::Position;
use super::cluster::{after, before};
use super::operate::TextRange;
use super::table::Object;
use super::{Modal, Mode, object};

impl Modal {
    /// The selection or region; `end` is after it.
    pub fn selection(&self, area: &TextArea) -> Option<Range<Position>> {
        let anchor = area.buffer.clamp(self.anchor?);
        let (from, to) = (anchor.min(area.cursor), anchor.max(area.cursor));
        Some(match self.mode {
            Mode::VisualLine => Position::new(from.line, 0)..area.buffer.line_end(to.line),
            Mode::Visual => from..self.selection_end(area, to),
            _ => from..to,
        })
    }

    /// The end of the last cluster of a selection. After `$`, and in an empty line, it includes the
    /// line break.
    fn selection_end(&self, area: &TextArea, at: Position) -> Position {
        let line = area.line(at.line);
        let end = after(line, at.byte);
        let with_end = at.byte == end || (self.column == Some(usize::MAX) && end == line.len());
        if with_end && at == area.cursor && at.line + 1 < area.line_count() {
            return Position::new(at.line + 1, 0);
        }
        Position::new(at.line, end)
    }

    /// The selection of a visual mode.
    pub(super) fn selected(&self, area: &TextArea) -> Option<TextRange> {
        let range = self.selection(area).filter(|_| self.mode.is_visual())?;
        Some(TextRange {
            start: range.start,
            end: range.end,
            lines: self.mode == Mode::VisualLine,
        })
    }

    /// Enters, switches or leaves a visual mode.
    pub(super) fn visual(&mut self, area: &TextArea, mode: Mode) {
        // Modes do not change while an operator waits for its motion.
        if self.pending.is_some() {
            return;
        }
        self.count = None;
        if self.mode == mode {
            return self.leave_visual(area);
        }
        self.anchor.get_or_insert(area.cursor);
        self.mode = mode;
    }

    /// Extends the selection by an object.
    pub(super) fn select(&mut self, area: &mut TextArea, range: TextRange) {
        if self.anchor == Some(area.cursor) {
            self.anchor = Some(range.start);
        }
        if range.lines {
            self.mode = Mode::VisualLine;
        }
        let Position { line, byte } = range.end;
        let last = Position::new(line, before(area.line(line), byte));
        area.cursor = area.buffer.clamp(last);
    }

    /// Leaves visual mode and saves the selection.
    pub(super) fn leave_visual(&mut self, area: &TextArea) {
        if let Some(anchor) = self.anchor.take() {
            let anchor = area.buffer.clamp(anchor);
            let (mut first, last) = (anchor.min(area.cursor), anchor.max(area.cursor));
            if self.mode == Mode::VisualLine {
                first.byte = 0;
            }
            self.marks.extend([('<', first), ('>', last)]);
            let column = self.column.filter(|column| *column == usize::MAX);
            self.last_selection = Some((self.mode, anchor, area.cursor, column));
        }
        self.mode = Mode::Normal;
    }

    /// Restores the last selection.
    pub(super) fn select_again(&mut self, area: &mut TextArea) {
        let Some((mode, anchor, cursor, column)) = self.last_selection else {
            return self.cancel();
        };
        self.mode = mode;
        self.anchor = Some(area.buffer.clamp(anchor));
        area.cursor = area.buffer.clamp(cursor);
        self.column = column;
    }

    /// Swaps the cursor and the other end; returns false without a selection.
    pub(super) fn swap_ends(&mut self, area: &mut TextArea) -> bool {
        let Some(anchor) = &mut self.anchor else {
            return false;
        };
        std::mem::swap(anchor, &mut area.cursor);
        area.cursor = area.buffer.clamp(area.cursor);
        true
    }

    /// Handles a click on a cell of the view: moves the cursor, or selects the word there. Cancels
    /// the pending command and keeps a region.
    pub fn click(&mut self, area: &mut TextArea, (column, row): (u16, u16), selects_word: bool) {
        self.cancel();
        if self.mode.is_visual() {
            self.leave_visual(area);
        }
        area.click(column, row);
        self.column = None;
        self.settle(area);
        if self.mode == Mode::Insert {
            self.edited(area, true);
        }
        let object = Object::Word { big: false };
        let word = object::find(&area.buffer, area.cursor, object, false, 1);
        let Some(word) = word.filter(|word| selects_word && word.start < word.end) else {
            return;
        };
        match self.mode {
            Mode::Insert if self.modes => {}
            Mode::Insert => {
                self.anchor = Some(word.start);
                area.cursor = word.end;
            }
            _ => {
                self.mode = Mode::Visual;
                self.anchor = Some(area.cursor);
                self.select(area, word);
            }
        }
    }
}

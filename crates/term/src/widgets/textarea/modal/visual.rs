//! Selections: characters and lines, and having the last one again.

use std::ops::Range;

use super::super::TextArea;
use super::super::buffer::Position;
use super::object::Object;
use super::operate::Part;
use super::{Edit, Modal, Mode, walk};

impl Modal {
    /// The selected parts of the text, in their order; each ends behind it.
    pub fn selections(&self, area: &TextArea) -> Vec<Range<Position>> {
        self.selection(area).into_iter().collect()
    }

    /// The selected part of the text; `end` is behind it.
    pub fn selection(&self, area: &TextArea) -> Option<Range<Position>> {
        let anchor = area.buffer.clamp(self.anchor?);
        let (from, to) = (anchor.min(area.cursor), anchor.max(area.cursor));
        Some(match self.mode {
            Mode::VisualLine => {
                let end = area.line(to.line).len();
                Position::new(from.line, 0)..Position::new(to.line, end)
            }
            Mode::Visual => from..self.behind(area, to),
            _ => from..to,
        })
    }

    /// Behind a selected cluster. Where a line has none, and behind `$`, its end is selected, too.
    fn behind(&self, area: &TextArea, at: Position) -> Position {
        let line = area.line(at.line);
        let end = walk::after(line, at.byte);
        let with_end = at.byte == end || (self.column == Some(usize::MAX) && end == line.len());
        if with_end && at == area.cursor && at.line + 1 < area.line_count() {
            return Position::new(at.line + 1, 0);
        }
        Position::new(at.line, end)
    }

    pub(super) fn visual(&mut self, area: &mut TextArea, edit: Edit) {
        // A motion of another kind cannot be forced.
        if self.pending.is_some() {
            return;
        }
        let wanted = match edit {
            Edit::Visual => Mode::Visual,
            _ => Mode::VisualLine,
        };
        self.count = None;
        if self.mode == wanted {
            return self.leave_visual(area);
        }
        self.anchor.get_or_insert(area.cursor);
        self.mode = wanted;
    }

    /// Selects an object, or as far as it when more than one cluster is selected already.
    pub(super) fn select(&mut self, area: &mut TextArea, object: Object) {
        if self.anchor == Some(area.cursor) {
            self.anchor = Some(object.start);
        }
        if object.lines {
            self.mode = Mode::VisualLine;
        }
        let line = area.line(object.end.line);
        let byte = walk::before(line, object.end.byte);
        area.cursor = area.buffer.clamp(Position::new(object.end.line, byte));
    }
    /// Leaves the selection, which can be had again.
    pub(super) fn leave_visual(&mut self, area: &TextArea) {
        if let Some(anchor) = self.anchor.take() {
            let anchor = area.buffer.clamp(anchor);
            let (first, end) = (anchor.min(area.cursor), anchor.max(area.cursor));
            let (first, end) = match self.mode {
                Mode::VisualLine => (Position::new(first.line, 0), end),
                _ => (first, end),
            };
            self.marks.insert('<', first);
            self.marks.insert('>', end);
            let column = self.column.filter(|column| *column == usize::MAX);
            self.selected = Some((self.mode, anchor, area.cursor, column));
        }
        self.mode = Mode::Normal;
    }

    /// What was selected last.
    pub(super) fn select_again(&mut self, area: &mut TextArea) {
        let Some((mode, anchor, cursor, column)) = self.selected else {
            return self.fail();
        };
        self.mode = mode;
        self.anchor = Some(area.buffer.clamp(anchor));
        area.cursor = area.buffer.clamp(cursor);
        self.column = column;
    }

    pub(super) fn selected(&self, area: &TextArea) -> Option<Part> {
        let range = self.selection(area).filter(|_| self.mode.is_visual())?;
        Some(Part {
            start: range.start,
            end: range.end,
            lines: self.mode == Mode::VisualLine,
        })
    }
}

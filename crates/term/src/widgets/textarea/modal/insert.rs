//! Insert and visual mode, undo and redo, and what the application does to the text.

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::super::undo::EditKind;
use super::object::{TextRange, word};
use super::state::{Command, Edit, Extent, Insertion, Modal, Mode};
use super::text::{after_many, before, below, first_text, last, line, line_start};

impl Modal {
    /// Cancels the pending command and returns to insert mode, after the application replaced the
    /// text.
    pub fn reset(&mut self, area: &mut TextArea) {
        self.cancel();
        self.anchor = None;
        self.mode = Mode::Insert;
        self.insertion = None;
        area.undo.close_group();
    }

    /// Prepares for an edit by the application in insert mode.
    pub fn touch(&mut self, area: &mut TextArea) {
        if self.modes && self.mode == Mode::Insert && self.insertion.is_none() {
            let edit = Some(Edit("insert"));
            let insert = Command {
                edit,
                ..Command::default()
            };
            let pending = std::mem::replace(&mut self.command, insert);
            self.begin_insert(area, 1, false);
            self.command = pending;
        }
    }

    /// Records an edit or a cursor movement by the application in insert mode.
    pub fn edited(&mut self, area: &mut TextArea, moved: bool) {
        if let Some(insertion) = &mut self.insertion {
            if moved || area.cursor < insertion.start {
                insertion.start = area.cursor;
            }
            if moved {
                area.undo.open_group();
            }
        }
    }

    /// Receives the clipboard text.
    pub fn clipboard(&mut self, area: &mut TextArea, text: &str) {
        self.registers.set_clipboard(text);
        if let Some((command, behind)) = self.clipboard_put.take() {
            self.command = command;
            self.put_register(area, behind);
            self.settle(area);
        }
    }

    /// Inserts a paste at the cursor.
    pub fn paste(&mut self, area: &mut TextArea, text: &str) {
        if self.mode == Mode::Insert {
            self.touch(area);
            area.paste(text);
            return self.edited(area, false);
        }
        self.cancel();
        self.anchor = None;
        self.mode = Mode::Normal;
        self.begin(area);
        area.paste(text);
        self.settle(area);
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
        let text = area.marked_text();
        let word = word(&self.cursor(area, &text), false);
        let Some(word) = word.filter(|word| selects_word && word.start < word.end) else {
            return;
        };
        if self.mode != Mode::Insert {
            self.mode = Mode::Visual;
            self.anchor = Some(area.cursor);
            self.select(area, word);
        } else if !self.modes {
            let word = area.positions(word.bytes());
            (self.anchor, area.cursor) = (Some(word.start), word.end);
        }
    }

    /// Enters insert mode at a position in the line.
    pub(super) fn insert(&mut self, area: &mut TextArea, position: fn(&str, usize) -> usize) {
        if self.selected(area).is_none() {
            area.go(position(&area.marked_text(), area.at()));
            self.begin_insert(area, self.times(), false);
        }
    }

    /// Enters insert mode in a new line.
    pub(super) fn open_line(&mut self, area: &mut TextArea, below: bool) {
        if self.selected(area).is_none() {
            let line = line(&area.marked_text(), area.at());
            let at = if below { line.end } else { line.start };
            area.splice(at..at, Fragment::plain("\n"));
            area.go(at + usize::from(below));
            self.begin_insert(area, self.times(), true);
        }
    }

    /// Enters insert mode. The text typed there belongs to the command.
    pub(super) fn begin_insert(&mut self, area: &mut TextArea, times: usize, lines: bool) {
        self.mode = Mode::Insert;
        self.anchor = None;
        area.undo.open_group_once();
        self.insertion = Some(Insertion {
            start: area.cursor,
            times,
            lines,
            command: std::mem::take(&mut self.command),
        });
    }

    pub(super) fn leave_insert(&mut self, area: &mut TextArea) {
        self.mode = Mode::Normal;
        if let Some(insertion) = self.insertion.take() {
            let (start, end) = (area.buffer.clamp(insertion.start), area.cursor);
            let typed = area.buffer.fragment(start.min(end)..end);
            let mut again = Fragment::plain(if insertion.lines { "\n" } else { "" });
            again.append(&typed);
            for _ in 1..insertion.times {
                area.edit(area.cursor..area.cursor, again.clone(), EditKind::Other);
            }
            self.column = None;
            self.last_change = Some(Command {
                typed,
                ..insertion.command
            });
        }
        area.go(before(&area.marked_text(), area.at()));
    }

    /// Enters, switches or leaves a visual mode.
    pub(super) fn visual(&mut self, area: &TextArea, mode: Mode) {
        if self.mode == mode {
            return self.leave_visual(area);
        }
        self.anchor.get_or_insert(area.cursor);
        self.mode = mode;
    }

    /// Extends the selection by an object.
    pub(super) fn select(&mut self, area: &mut TextArea, range: TextRange) {
        if self.anchor == Some(area.cursor) {
            self.anchor = Some(area.buffer.position(range.start));
        }
        if range.lines {
            self.mode = Mode::VisualLine;
        }
        area.go(before(&area.marked_text(), range.end));
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

    /// Selects text of the size of an earlier selection from the cursor on.
    pub(super) fn select_extent(&mut self, area: &mut TextArea, extent: Extent) {
        let (text, at) = (area.marked_text(), area.at());
        self.anchor = Some(area.cursor);
        self.mode = extent.clusters.map_or(Mode::VisualLine, |_| Mode::Visual);
        let line = below(&text, at, extent.lines - 1);
        let line = line.unwrap_or_else(|| line_start(&text, text.len()));
        let start = if extent.lines == 1 { at } else { line };
        area.go(extent.clusters.map_or(line, |clusters| {
            after_many(&text, start, clusters.saturating_sub(1)).min(last(&text, start))
        }));
    }

    /// Swaps the cursor and the other end of the selection or region.
    pub(super) fn swap_ends(&mut self, area: &mut TextArea) {
        match &mut self.anchor {
            Some(anchor) => std::mem::swap(anchor, &mut area.cursor),
            None => self.unused = true,
        }
    }

    /// Undoes or redoes; the cursor moves to the change.
    pub(super) fn step_undo(&mut self, area: &mut TextArea, redo: bool) {
        for _ in 0..self.times() {
            let Some((cursor, top)) = area.step_history(redo) else {
                break;
            };
            let top = top.min(area.line_count() - 1);
            if cursor.line == top || cursor.line + 1 == top {
                area.cursor = area.buffer.clamp(cursor);
            } else {
                let top = area.offset(Position::new(top, 0));
                area.go(first_text(&area.marked_text(), top));
            }
        }
        self.anchor = None;
        if let Some(insertion) = &mut self.insertion {
            insertion.start = area.cursor;
        }
        if self.mode != Mode::Insert {
            self.mode = Mode::Normal;
        }
    }
}

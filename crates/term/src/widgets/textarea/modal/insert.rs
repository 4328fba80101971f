//! Insert mode, repetition of the last change, undo and redo.

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::super::undo::EditKind;
use super::cluster::{after, after_many, before, indent, last};
use super::operate::line_text;
use super::table::InsertAt;
use super::{Input, Insertion, Modal, Mode};

impl Modal {
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
        self.changed = true;
        self.settle(area);
    }

    pub(super) fn insert(&mut self, area: &mut TextArea, insert_at: InsertAt, times: usize) {
        let Position { line, byte } = area.cursor;
        let text = area.line(line);
        let byte = match insert_at {
            InsertAt::Cursor => byte,
            InsertAt::AfterCursor => after(text, byte),
            InsertAt::FirstText => indent(text),
            InsertAt::LineEnd | InsertAt::LineBelow => text.len(),
            InsertAt::LineAbove => 0,
        };
        let at = Position::new(line, byte);
        let opens = matches!(insert_at, InsertAt::LineBelow | InsertAt::LineAbove);
        if opens {
            area.edit(at..at, Fragment::plain("\n"), EditKind::Other);
        }
        area.cursor = match insert_at {
            InsertAt::LineBelow => Position::new(line + 1, 0),
            _ => at,
        };
        area.column = None;
        self.begin_insert(area, times, opens);
    }

    pub(super) fn begin_insert(&mut self, area: &mut TextArea, times: usize, lines: bool) {
        self.mode = Mode::Insert;
        self.anchor = None;
        self.changed = true;
        area.undo.open_group_once();
        self.insertion = Some(Insertion {
            start: area.cursor,
            times,
            lines,
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
            self.marks.insert('^', area.cursor);
            if !self.replaying {
                let leave = self.recording.pop();
                self.recording.push(Input::Text(typed));
                self.recording.extend(leave);
            }
            self.column = None;
            self.changed = true;
        }
        area.cursor.byte = before(area.line(area.cursor.line), area.cursor.byte);
    }

    /// Repeats the last change. A count replaces the recorded one.
    pub(super) fn repeat(&mut self, area: &mut TextArea) {
        let count = self.count;
        self.replaying = true;
        area.undo.open_group();
        for input in self.last_change.clone() {
            match input {
                Input::Digit(_) if count.is_some() => {}
                Input::Char('\n') if self.prompt.is_some() => self.search_key(area, true),
                Input::Char(char) | Input::Digit(char) => self.char(area, char),
                Input::Edit(edit) => {
                    self.step(area, edit);
                }
                Input::Text(text) => {
                    area.edit(area.cursor..area.cursor, text, EditKind::Other);
                }
                Input::Extent { lines, clusters } => self.select_extent(area, lines, clusters),
            }
        }
        self.replaying = false;
        self.changed = false;
        self.recording.clear();
    }

    /// Selects `lines` lines, the last one up to `clusters`, from the cursor on.
    fn select_extent(&mut self, area: &mut TextArea, lines: usize, clusters: Option<usize>) {
        let from = area.cursor;
        self.anchor = Some(from);
        self.mode = clusters.map_or(Mode::VisualLine, |_| Mode::Visual);
        let line = (from.line + lines - 1).min(area.line_count() - 1);
        let text = area.line(line);
        let start = if lines == 1 { from.byte } else { 0 };
        let byte = clusters.map_or(0, |count| {
            after_many(text, start, count.saturating_sub(1)).min(last(text))
        });
        area.cursor = area.buffer.clamp(Position::new(line, byte));
    }

    /// Undoes or redoes; the cursor moves to the change.
    pub(super) fn step_undo(&mut self, area: &mut TextArea, redo: bool, times: usize) {
        for _ in 0..times {
            let Some((cursor, top)) = area.step_history(redo) else {
                break;
            };
            let top = top.min(area.line_count() - 1);
            area.cursor = if cursor.line == top || cursor.line + 1 == top {
                area.buffer.clamp(cursor)
            } else {
                line_text(area, top)
            };
        }
        self.anchor = None;
        if let Some(insertion) = &mut self.insertion {
            insertion.start = area.cursor;
        }
        if self.mode != Mode::Insert {
            self.mode = Mode::Normal;
        }
        self.recording.clear();
    }
}

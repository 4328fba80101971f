//! Inserting text, doing a change again, and taking changes back.

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::super::undo::Kind;
use super::walk::{self, last};
use super::{Input, Inserting, Modal, Mode};

impl Modal {
    /// A paste of the terminal: text in insert mode; elsewhere it stands where the cursor is.
    pub fn paste(&mut self, area: &mut TextArea, text: &str) {
        if self.mode() == Mode::Insert {
            self.touch(area);
            area.paste(text);
            return self.edited(area, false);
        }
        self.drop_begun();
        self.anchor = None;
        self.mode = Mode::Normal;
        self.begin(area);
        area.paste(text);
        self.changed = true;
        self.settle(area);
    }

    pub(super) fn begin_insert(&mut self, area: &mut TextArea, times: usize, lines: bool) {
        self.mode = Mode::Insert;
        self.anchor = None;
        self.changed = true;
        area.undo.open_group_once();
        self.inserting = Some(Inserting {
            start: area.cursor,
            times,
            lines,
        });
    }

    pub(super) fn leave_insert(&mut self, area: &mut TextArea) {
        self.mode = Mode::Normal;
        let Some(Inserting {
            start,
            times,
            lines,
        }) = self.inserting.take()
        else {
            area.cursor.byte = walk::before(area.line(area.cursor.line), area.cursor.byte);
            return;
        };
        let (start, end) = (area.buffer.clamp(start), area.cursor);
        let typed = area.buffer.fragment(start.min(end)..end);
        for _ in 1..times {
            let mut again = Fragment::default();
            if lines {
                again.append(&Fragment::plain("\n"));
            }
            again.append(&typed);
            area.edit(area.cursor..area.cursor, again, Kind::Other);
        }
        self.marks.insert('^', area.cursor);
        if !self.replaying {
            let leave = self.recording.pop();
            self.recording.push(Input::Text(typed));
            self.recording.extend(leave);
        }
        area.cursor.byte = walk::before(area.line(area.cursor.line), area.cursor.byte);
        self.column = None;
        self.changed = true;
    }

    /// Does the last change again; a count takes the place of its own.
    pub(super) fn repeat(&mut self, area: &mut TextArea) {
        let count = self.count.take();
        let inputs = self.last_change.clone();
        self.replaying = true;
        area.undo.open_group();
        if count.is_some() {
            self.count = count;
        }
        for input in inputs {
            match input {
                Input::Digit(_) if count.is_some() => {}
                Input::Digit(digit) => self.char(area, digit),
                Input::Char('\n') if self.is_searching() => self.search_key(area, true),
                Input::Char(char) => self.char(area, char),
                Input::Edit(edit) => {
                    self.step(area, edit);
                }
                Input::Text(text) => {
                    area.edit(area.cursor..area.cursor, text, Kind::Other);
                }
                Input::Extent { lines, clusters } => self.select_extent(area, lines, clusters),
            }
        }
        self.replaying = false;
        self.changed = false;
        self.recording.clear();
    }

    /// As many lines or clusters from the cursor as a change was made of.
    fn select_extent(&mut self, area: &mut TextArea, lines: usize, clusters: Option<usize>) {
        self.anchor = Some(area.cursor);
        let line = (area.cursor.line + lines - 1).min(area.line_count() - 1);
        let text = area.line(line);
        let byte = match clusters {
            None => 0,
            Some(count) => {
                let from = if lines == 1 { area.cursor.byte } else { 0 };
                (1..count)
                    .fold(from, |byte, _| walk::after(text, byte))
                    .min(last(text))
            }
        };
        self.mode = if clusters.is_none() {
            Mode::VisualLine
        } else {
            Mode::Visual
        };
        area.cursor = area.buffer.clamp(Position::new(line, byte));
    }

    /// Undo or redo, with the cursor where the change was.
    pub(super) fn take_back(&mut self, area: &mut TextArea, redo: bool, times: usize) {
        for _ in 0..times {
            let Some((saved, top)) = area.step_back(redo) else {
                break;
            };
            let top = top.min(area.line_count() - 1);
            area.cursor = if saved.line == top || saved.line + 1 == top {
                area.buffer.clamp(saved)
            } else {
                Position::new(top, walk::first_text(area.line(top)))
            };
        }
        self.anchor = None;
        if let Some(inserting) = &mut self.inserting {
            inserting.start = area.cursor;
        }
        if self.mode != Mode::Insert {
            self.mode = Mode::Normal;
        }
        self.recording.clear();
    }
}

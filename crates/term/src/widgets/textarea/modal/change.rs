//! Changes that need no motion: characters, lines, what comes from a register, and what begins to insert.

use super::super::TextArea;
use super::super::buffer::{Fragment, Position, end_of};
use super::super::undo::Kind;
use super::motion::{Span, Target};
use super::operate::{Part, cased};
use super::register::{Content, How, is_clipboard};
use super::walk::{after, before, first_text, last};
use super::{Edit, Modal, Request};

impl Modal {
    /// Changes of their own, and what begins to insert.
    pub(super) fn change(&mut self, area: &mut TextArea, edit: Edit) {
        if let Some(part) = self.selected(area) {
            return self.change_selected(area, edit, part);
        }
        if self.pending.is_some() {
            return self.fail();
        }
        let count = self.count.take();
        let times = count.unwrap_or(1);
        let line = area.cursor.line;
        let text = area.line(line).to_owned();
        let at = area.cursor;
        let to = |byte: usize| Part {
            start: at,
            end: Position::new(line, byte),
            lines: false,
        };
        let ahead = (0..times).fold(at.byte, |byte, _| after(&text, byte));
        match edit {
            Edit::DeleteChar if ahead == at.byte => self.fail(),
            Edit::DeleteChar => self.remove(area, to(ahead), How::Deleted),
            Edit::DeleteCharBefore if at.byte == 0 => self.fail(),
            Edit::DeleteCharBefore => {
                let start = (0..times).fold(at.byte, |byte, _| before(&text, byte));
                let part = Part {
                    start: Position::new(line, start),
                    end: at,
                    lines: false,
                };
                area.cursor = part.start;
                self.remove(area, part, How::Deleted);
            }
            Edit::DeleteToEnd | Edit::ChangeToEnd => {
                let end = (line + times - 1).min(area.line_count() - 1);
                let operator = if edit == Edit::DeleteToEnd {
                    Edit::Delete
                } else {
                    Edit::Change
                };
                let at = Position::new(end, last(area.line(end)));
                let span = Span::Inclusive;
                self.operate_to(
                    area,
                    operator,
                    area.cursor,
                    Target { at, span },
                    How::Deleted,
                );
            }
            Edit::Substitute => self.apply(area, Edit::Change, to(ahead), How::Deleted),
            Edit::SubstituteLine => self.operate_lines(area, Edit::Change, times),
            Edit::YankLine => self.operate_lines(area, Edit::Yank, times),
            Edit::ToggleCaseChar => {
                if at.byte < text.len() {
                    let cased = cased(&text[at.byte..ahead], Edit::ToggleCase);
                    let end = at.byte + cased.len();
                    let old = area.buffer.fragment(at..Position::new(line, ahead));
                    self.splice(area, to(ahead), Fragment { text: cased, ..old });
                    area.cursor = area.buffer.clamp(Position::new(line, end));
                }
            }
            Edit::Join | Edit::JoinBare => self.join(area, times.max(2), edit == Edit::Join),
            Edit::PutAfter | Edit::PutBefore => {
                let register = self.register.take();
                if is_clipboard(register) {
                    self.waits = Some((edit, times));
                    self.requests.push(Request::Paste);
                } else {
                    self.put(area, edit, register, times);
                }
            }
            _ => self.insert(area, edit, times),
        }
    }

    pub(super) fn insert(&mut self, area: &mut TextArea, edit: Edit, times: usize) {
        let line = area.cursor.line;
        let text = area.line(line);
        let byte = match edit {
            Edit::InsertAtText => {
                let indent = text.len() - text.trim_start().len();
                indent.min(text.len())
            }
            Edit::Append => after(text, area.cursor.byte),
            Edit::AppendAtEnd | Edit::OpenBelow => text.len(),
            Edit::OpenAbove => 0,
            _ => area.cursor.byte,
        };
        let at = Position::new(line, byte);
        let opens = matches!(edit, Edit::OpenBelow | Edit::OpenAbove);
        if opens {
            area.edit(at..at, Fragment::plain("\n"), Kind::Other);
        }
        area.cursor = match edit {
            Edit::OpenBelow => Position::new(line + 1, 0),
            _ => at,
        };
        area.column = None;
        self.begin_insert(area, times, opens);
    }

    /// What a change means to a selection.
    pub(super) fn change_selected(&mut self, area: &mut TextArea, edit: Edit, part: Part) {
        self.count = None;
        let lines = Part {
            start: Position::new(part.start.line, 0),
            end: Position::new(part.end.line, area.line(part.end.line).len()),
            lines: true,
        };
        let (operator, part) = match edit {
            Edit::DeleteChar => (Edit::Delete, part),
            Edit::DeleteToEnd | Edit::DeleteCharBefore => (Edit::Delete, lines),
            Edit::Substitute => (Edit::Change, part),
            Edit::SubstituteLine | Edit::ChangeToEnd => (Edit::Change, lines),
            Edit::YankLine => (Edit::Yank, lines),
            Edit::ToggleCaseChar => (Edit::ToggleCase, part),
            Edit::Join | Edit::JoinBare => {
                self.note_extent(area, part);
                self.leave_visual(area);
                area.cursor = part.start;
                let count = part.end.line - part.start.line + 1;
                return self.join(area, count.max(2), edit == Edit::Join);
            }
            Edit::PutAfter | Edit::PutBefore => return self.put_over(area, part),
            _ => return,
        };
        self.note_extent(area, part);
        self.leave_visual(area);
        area.cursor = part.start;
        self.apply(area, operator, part, How::Deleted);
    }

    /// A register in the place of the selection, which goes into the unnamed one.
    pub(super) fn put_over(&mut self, area: &mut TextArea, part: Part) {
        let register = self.register.take();
        let Some(content) = self.registers.get(register).cloned() else {
            return self.fail();
        };
        self.leave_visual(area);
        area.cursor = part.start;
        self.keep(area, part, How::Deleted);
        let own_lines = content.lines && !part.lines;
        let mut new = Fragment::plain(if own_lines { "\n" } else { "" });
        new.append(&content.text);
        new.append(&Fragment::plain(if own_lines { "\n" } else { "" }));
        let start = part.start;
        let end = end_of(start, &new);
        self.splice(area, part, new);
        area.cursor = if content.lines || part.lines {
            let line = start.line + usize::from(own_lines);
            Position::new(line, first_text(area.line(line)))
        } else if end.line == start.line {
            Position::new(end.line, before(area.line(end.line), end.byte))
        } else {
            start
        };
    }

    /// Other characters in the place of those at the cursor.
    pub(super) fn replace(&mut self, area: &mut TextArea, char: char) {
        if let Some(part) = self.selected(area) {
            self.note_extent(area, part);
            self.leave_visual(area);
            let old = area.buffer.fragment(part.start..part.end);
            let new = old.text.split('\n').map(|line| {
                let clusters = osier_base::text::graphemes(line).count();
                char.to_string().repeat(clusters)
            });
            let new: Vec<String> = new.collect();
            let part = Part {
                lines: false,
                ..part
            };
            return self.splice(area, part, Fragment::plain(&new.join("\n")));
        }
        let times = self.count.take().unwrap_or(1);
        let at = area.cursor;
        let line = area.line(at.line);
        let mut end = at.byte;
        for _ in 0..times {
            if end >= line.len() {
                return self.fail();
            }
            end = after(line, end);
        }
        let part = Part {
            start: at,
            end: Position::new(at.line, end),
            lines: false,
        };
        let new = Fragment::plain(&char.to_string().repeat(times));
        let length = new.text.len();
        self.splice(area, part, new);
        let behind = area.buffer.clamp(Position::new(at.line, at.byte + length));
        area.cursor.byte = before(area.line(at.line), behind.byte);
    }

    pub(super) fn join(&mut self, area: &mut TextArea, count: usize, spaced: bool) {
        let line = area.cursor.line;
        if line + 1 >= area.line_count() {
            return self.fail();
        }
        for _ in 1..count {
            if line + 1 >= area.line_count() {
                break;
            }
            let (own, next) = (area.line(line), area.line(line + 1));
            let trimmed = next.trim_start();
            let skipped = if spaced {
                next.len() - trimmed.len()
            } else {
                0
            };
            let blank = spaced
                && !trimmed.is_empty()
                && !trimmed.starts_with(')')
                && !own.is_empty()
                && !own.ends_with([' ', '\t']);
            let start = Position::new(line, own.len());
            let end = Position::new(line + 1, skipped);
            let part = Part {
                start,
                end,
                lines: false,
            };
            self.splice(area, part, Fragment::plain(if blank { " " } else { "" }));
        }
    }

    /// Inserts a register before or behind the cursor.
    pub(super) fn put(
        &mut self,
        area: &mut TextArea,
        edit: Edit,
        register: Option<char>,
        times: usize,
    ) {
        match self.registers.get(register).cloned() {
            Some(content) => self.put_content(area, &content, (edit == Edit::PutAfter, times)),
            None => self.fail(),
        }
    }

    pub(super) fn put_content(
        &mut self,
        area: &mut TextArea,
        content: &Content,
        (behind, times): (bool, usize),
    ) {
        let cursor = area.cursor;
        let line = cursor.line;
        let mut whole = Fragment::default();
        if content.lines {
            let at = if behind {
                Position::new(line, area.line(line).len())
            } else {
                Position::new(line, 0)
            };
            for _ in 0..times {
                let newline = Fragment::plain("\n");
                if behind {
                    whole.append(&newline);
                }
                whole.append(&content.text);
                if !behind {
                    whole.append(&newline);
                }
            }
            area.edit(at..at, whole, Kind::Other);
            let first = line + usize::from(behind);
            area.cursor = Position::new(first, first_text(area.line(first)));
        } else {
            for _ in 0..times {
                whole.append(&content.text);
            }
            let byte = if behind {
                after(area.line(line), cursor.byte)
            } else {
                cursor.byte
            };
            let at = Position::new(line, byte);
            let end = end_of(at, &whole);
            area.edit(at..at, whole, Kind::Other);
            let one_line = end.line == line;
            area.cursor = if one_line {
                Position::new(line, before(area.line(line), end.byte))
            } else {
                area.buffer.clamp(at)
            };
        }
        self.changed = true;
    }
}

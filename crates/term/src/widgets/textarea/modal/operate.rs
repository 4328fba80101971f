//! Operators and changes: what is done to the text that a motion, an object or a selection covers.

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::super::undo::Kind;
use super::motion::{Span, Target};
use super::object::Object;
use super::register::{Content, How};
use super::walk::{after, first_text};
use super::{Edit, Input, Modal, Pending, Request};

/// What `>` puts in front of a line.
const INDENT: &str = "    ";

/// The part of the text that an operator works on; `end` is behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) start: Position,
    pub(super) end: Position,
    pub(super) lines: bool,
}

impl Modal {
    /// An operator: on the selection, on lines when it comes twice, else on what comes next.
    pub(super) fn operator(&mut self, area: &mut TextArea, edit: Edit) {
        if let Some(part) = self.selected(area) {
            let times = self.count.take().unwrap_or(1);
            let object = Object {
                start: part.start,
                end: part.end,
                lines: part.lines,
            };
            self.note_extent(area, part);
            self.leave_visual(area);
            area.cursor = part.start;
            for _ in 1..if is_shift(edit) { times } else { 1 } {
                self.shift_lines(area, (object.start.line, object.end.line), edit);
            }
            return self.operate_object(area, edit, object);
        }
        match self.pending {
            Some(pending) if pending.operator == edit => {
                let times = self.total().unwrap_or(1);
                self.pending = None;
                self.count = None;
                self.operate_lines(area, edit, times);
            }
            Some(_) => self.fail(),
            None => {
                let count = self.count.take();
                self.pending = Some(Pending {
                    operator: edit,
                    count,
                });
            }
        }
    }

    /// Keeps how much was selected in front of the step that works on it.
    pub(super) fn note_extent(&mut self, area: &TextArea, part: Part) {
        let from = if part.start.line == part.end.line {
            part.start.byte
        } else {
            0
        };
        let text = &area.line(part.end.line)[from..part.end.byte];
        let clusters = osier_base::text::graphemes(text).count();
        let extent = Input::Extent {
            lines: part.end.line - part.start.line + 1,
            clusters: (!part.lines).then_some(clusters),
        };
        self.recording.insert(0, extent);
    }

    /// As many lines from the cursor on; none when there are not so many.
    pub(super) fn operate_lines(&mut self, area: &mut TextArea, edit: Edit, times: usize) {
        let first = area.cursor.line;
        let end = first + times - 1;
        if end >= area.line_count() && times > 1 && first + 1 >= area.line_count() {
            return self.fail();
        }
        let end = end.min(area.line_count() - 1);
        let cursor = area.cursor;
        let part = Part {
            start: Position::new(first, 0),
            end: Position::new(end, area.line(end).len()),
            lines: true,
        };
        let text = first_text(area.line(first));
        area.cursor.byte = cursor.byte.min(text);
        let landing = area.cursor;
        self.apply(area, edit, part, How::Deleted);
        if edit == Edit::Yank {
            area.cursor = cursor;
        } else if is_case(edit) {
            area.cursor = landing;
        }
    }

    /// From the cursor to the target of a motion.
    pub(super) fn operate_to(
        &mut self,
        area: &mut TextArea,
        operator: Edit,
        from: Position,
        target: Target,
        how: How,
    ) {
        let (start, end) = (from.min(target.at), from.max(target.at));
        let mut part = Part {
            start,
            end,
            lines: target.span == Span::Lines,
        };
        let indent = |line: usize| {
            let text = area.line(line);
            text.len() - text.trim_start().len()
        };
        match target.span {
            Span::Inclusive => part.end.byte = after(area.line(end.line), end.byte),
            Span::Exclusive if end.byte == 0 && end.line > start.line => {
                // The start of a line is not reached: up to the end of the one above.
                let line = end.line - 1;
                part.end = Position::new(line, area.line(line).len());
                part.lines = start.byte <= indent(start.line);
            }
            Span::Exclusive | Span::Lines => {}
        }
        let spans = part.end.line > part.start.line;
        if operator == Edit::Delete && spans && !part.lines {
            let rest = &area.line(part.end.line)[part.end.byte..];
            part.lines = rest.trim().is_empty() && start.byte <= indent(start.line);
        }
        let landing = if part.lines && from <= target.at {
            from
        } else {
            start
        };
        area.cursor = start;
        if part.lines {
            part.start.byte = 0;
            part.end.byte = area.line(part.end.line).len();
        }
        self.apply(area, operator, part, how);
        if (operator == Edit::Yank || is_case(operator)) && part.lines {
            area.cursor = area.buffer.clamp(landing);
        }
    }

    pub(super) fn operate_object(&mut self, area: &mut TextArea, operator: Edit, object: Object) {
        let part = Part {
            start: object.start,
            end: object.end,
            lines: object.lines,
        };
        area.cursor = part.start;
        self.apply(area, operator, part, How::Deleted);
    }

    pub(super) fn apply(&mut self, area: &mut TextArea, operator: Edit, mut part: Part, how: How) {
        if is_shift(operator) {
            part.lines = true;
        }
        match operator {
            Edit::Yank => {
                self.keep(area, part, How::Copied);
                area.cursor = part.start;
            }
            Edit::Delete => self.remove(area, part, how),
            Edit::Change => {
                self.keep(area, part, how);
                // Lines that are replaced leave an empty one.
                self.splice(area, part, Fragment::default());
                self.begin_insert(area, 1, false);
            }
            Edit::Indent | Edit::Outdent => {
                self.shift_lines(area, (part.start.line, part.end.line), operator);
                let line = part.start.line;
                area.cursor = Position::new(line, first_text(area.line(line)));
            }
            _ => {
                let text = area.buffer.fragment(part.start..part.end);
                let cased = Fragment {
                    text: cased(&text.text, operator),
                    ..text
                };
                self.splice(area, part, cased);
                area.cursor = part.start;
            }
        }
    }

    pub(super) fn keep(&mut self, area: &TextArea, part: Part, how: How) {
        let text = area.buffer.fragment(part.start..part.end);
        if text.is_empty() && !part.lines {
            return;
        }
        let content = Content {
            text,
            lines: part.lines,
        };
        let copied = self.registers.store(self.register.take(), content, how);
        self.requests.extend(copied.map(Request::Copy));
    }

    /// Deletes into a register. Whole lines go with their line ends.
    pub(super) fn remove(&mut self, area: &mut TextArea, part: Part, how: How) {
        if part.start == part.end && !part.lines {
            return;
        }
        self.keep(area, part, how);
        if !part.lines {
            self.splice(area, part, Fragment::default());
            return;
        }
        let lines = area.line_count();
        let (first, end) = (part.start.line, part.end.line);
        let whole = if end + 1 < lines {
            Part {
                start: Position::new(first, 0),
                end: Position::new(end + 1, 0),
                ..part
            }
        } else if first > 0 {
            let start = Position::new(first - 1, area.line(first - 1).len());
            Part { start, ..part }
        } else {
            part
        };
        self.splice(area, whole, Fragment::default());
        let line = first.min(area.line_count() - 1);
        area.cursor = Position::new(line, first_text(area.line(line)));
        self.lines_gone(first, end);
    }

    /// Marks of deleted lines are gone; those below stay on their lines.
    fn lines_gone(&mut self, first: usize, end: usize) {
        let jump = '\'';
        self.marks
            .retain(|name, mark| *name == jump || !(first..=end).contains(&mark.line));
        for mark in self.marks.values_mut().filter(|mark| mark.line > end) {
            mark.line -= end - first + 1;
        }
    }

    /// Puts `text` in the place of a part; the cursor stays at its start.
    pub(super) fn splice(&mut self, area: &mut TextArea, part: Part, text: Fragment) {
        let start = part.start;
        if part.start != part.end || !text.is_empty() {
            area.edit(part.start..part.end, text, Kind::Other);
        }
        area.cursor = area.buffer.clamp(start);
        self.changed = true;
    }

    fn shift_lines(&mut self, area: &mut TextArea, (first, end): (usize, usize), edit: Edit) {
        for line in first..=end.min(area.line_count() - 1) {
            let text = area.line(line);
            if text.is_empty() {
                continue;
            }
            let start = Position::new(line, 0);
            let (stop, inserted) = if edit == Edit::Indent {
                (0, INDENT)
            } else {
                let blanks = text
                    .bytes()
                    .take(INDENT.len())
                    .take_while(|byte| *byte == b' ')
                    .count();
                (if text.starts_with('\t') { 1 } else { blanks }, "")
            };
            let part = Part {
                start,
                end: Position::new(line, stop),
                lines: false,
            };
            self.splice(area, part, Fragment::plain(inserted));
        }
        self.changed = true;
    }
}

fn is_case(edit: Edit) -> bool {
    matches!(edit, Edit::ToggleCase | Edit::Uppercase | Edit::Lowercase)
}

fn is_shift(edit: Edit) -> bool {
    matches!(edit, Edit::Indent | Edit::Outdent)
}

/// A text in another case.
pub(super) fn cased(text: &str, how: Edit) -> String {
    text.chars()
        .flat_map(|char| {
            let up = match how {
                Edit::Uppercase => true,
                Edit::Lowercase => false,
                _ => !char.is_uppercase(),
            };
            // One letter becomes one letter: what is longer would move all that follows.
            let mut other: Vec<char> = if up {
                char.to_uppercase().collect()
            } else {
                char.to_lowercase().collect()
            };
            if other.len() != 1 {
                other = vec![char];
            }
            other
        })
        .collect()
}

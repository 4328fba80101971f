//! Operators and changes of the text that a motion, a text object, a selection or a count covers.

use super::super::TextArea;
use super::super::buffer::{Buffer, Fragment, Position, end_of};
use super::super::undo::EditKind;
use super::cluster::{after, after_many, before, first_text, indent};
use super::motion::{MotionSpan, Target};
use super::register::{RegisterContent, StoreKind, is_clipboard};
use super::table::{Case, Edit, Move, Operator};
use super::{EditorRequest, Input, Modal, Pending, motion};

/// Inserted by `>` at the start of a line.
const INDENT: &str = "    ";

/// A part of the text; `end` is after its last cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextRange {
    pub(super) start: Position,
    pub(super) end: Position,
    /// Complete lines.
    pub(super) lines: bool,
}

impl TextRange {
    pub(super) fn new(start: Position, end: Position) -> Self {
        let lines = false;
        Self { start, end, lines }
    }

    pub(super) fn in_line(line: usize, start: usize, end: usize) -> Self {
        Self::new(Position::new(line, start), Position::new(line, end))
    }

    pub(super) fn lines(buffer: &Buffer, first: usize, last: usize) -> Self {
        Self {
            start: Position::new(first, 0),
            end: buffer.line_end(last),
            lines: true,
        }
    }
}

impl Modal {
    /// Applies an operator to the selection, to lines if it is repeated, or else waits for a
    /// motion.
    pub(super) fn operator(&mut self, area: &mut TextArea, operator: Operator) {
        if let Some(range) = self.selected(area) {
            let times = self.count.take().unwrap_or(1);
            let shifts = matches!(operator, Operator::Indent | Operator::Outdent);
            self.end_selection(area, range);
            for _ in 1..if shifts { times } else { 1 } {
                self.shift_lines(area, range, operator);
            }
            return self.apply(area, operator, range, StoreKind::Deleted);
        }
        match self.pending {
            Some(pending) if pending.operator == operator => {
                let times = self.total().unwrap_or(1);
                self.pending = None;
                self.count = None;
                self.operate_lines(area, operator, times);
            }
            Some(_) => self.cancel(),
            None => {
                let count = self.count.take();
                self.pending = Some(Pending { operator, count });
            }
        }
    }

    /// Leaves visual mode before a change and records the size of the selection for repetition.
    fn end_selection(&mut self, area: &mut TextArea, range: TextRange) {
        let one_line = range.start.line == range.end.line;
        let from = if one_line { range.start.byte } else { 0 };
        let text = &area.line(range.end.line)[from..range.end.byte];
        let clusters = osier_base::text::graphemes(text).count();
        let extent = Input::Extent {
            lines: range.end.line - range.start.line + 1,
            clusters: (!range.lines).then_some(clusters),
        };
        self.recording.insert(0, extent);
        self.leave_visual(area);
        area.cursor = range.start;
    }

    /// Applies an operator to `times` lines from the cursor on.
    fn operate_lines(&mut self, area: &mut TextArea, operator: Operator, times: usize) {
        let cursor = area.cursor;
        let last_line = area.line_count() - 1;
        if times > 1 && cursor.line == last_line {
            return self.cancel();
        }
        let end = (cursor.line + times - 1).min(last_line);
        area.cursor.byte = cursor.byte.min(first_text(area.line(cursor.line)));
        let text = area.cursor;
        let range = TextRange::lines(&area.buffer, cursor.line, end);
        self.apply(area, operator, range, StoreKind::Deleted);
        match operator {
            Operator::Copy => area.cursor = cursor,
            Operator::Case(_) => area.cursor = text,
            _ => {}
        }
    }

    /// Applies an operator from the cursor to the target of a motion.
    pub(super) fn operate_to(
        &mut self,
        area: &mut TextArea,
        operator: Operator,
        target: Target,
        kind: StoreKind,
    ) {
        let from = area.cursor;
        let mut range = TextRange {
            start: from.min(target.at),
            end: from.max(target.at),
            lines: target.span == MotionSpan::Lines,
        };
        let start = range.start;
        let leads = start.byte <= indent(area.line(start.line));
        match target.span {
            MotionSpan::Inclusive => {
                range.end.byte = after(area.line(range.end.line), range.end.byte);
            }
            // A target at the start of a line covers only up to the end of the line above.
            MotionSpan::Exclusive if range.end.byte == 0 && range.end.line > start.line => {
                range.end = area.buffer.line_end(range.end.line - 1);
                range.lines = leads;
            }
            MotionSpan::Exclusive | MotionSpan::Lines => {}
        }
        if operator == Operator::Delete && range.end.line > start.line && !range.lines {
            let rest = &area.line(range.end.line)[range.end.byte..];
            range.lines = rest.trim().is_empty() && leads;
        }
        if range.lines {
            range = TextRange::lines(&area.buffer, start.line, range.end.line);
        }
        area.cursor = start;
        self.apply(area, operator, range, kind);
        if range.lines && matches!(operator, Operator::Copy | Operator::Case(_)) {
            area.cursor = area.buffer.clamp(start);
        }
    }

    /// Applies an operator to a range.
    pub(super) fn apply(
        &mut self,
        area: &mut TextArea,
        operator: Operator,
        range: TextRange,
        kind: StoreKind,
    ) {
        match operator {
            Operator::Copy => {
                self.store(area, range, StoreKind::Copied);
                area.cursor = range.start;
            }
            Operator::Delete => self.remove(area, range, kind),
            Operator::Change => {
                self.store(area, range, kind);
                self.splice(area, range, Fragment::default());
                self.begin_insert(area, 1, false);
            }
            Operator::Indent | Operator::Outdent => {
                self.shift_lines(area, range, operator);
                area.cursor = line_text(area, range.start.line);
            }
            Operator::Case(case) => {
                let converted = in_case(&area.buffer.fragment(range.start..range.end), case);
                self.splice(area, range, converted);
            }
        }
    }

    fn store(&mut self, area: &TextArea, range: TextRange, kind: StoreKind) {
        let text = area.buffer.fragment(range.start..range.end);
        if text.is_empty() && !range.lines {
            return;
        }
        let lines = range.lines;
        let content = RegisterContent { text, lines };
        let copied = self.registers.store(self.register.take(), content, kind);
        self.requests.extend(copied.map(EditorRequest::Copy));
    }

    /// Deletes a range into a register. Complete lines include their line breaks.
    fn remove(&mut self, area: &mut TextArea, mut range: TextRange, kind: StoreKind) {
        if range.start == range.end && !range.lines {
            return;
        }
        self.store(area, range, kind);
        let (first, last) = (range.start.line, range.end.line);
        if range.lines && last + 1 < area.line_count() {
            range.end = Position::new(last + 1, 0);
        } else if range.lines && first > 0 {
            range.start = area.buffer.line_end(first - 1);
        }
        self.splice(area, range, Fragment::default());
        if range.lines {
            area.cursor = line_text(area, first.min(area.line_count() - 1));
            self.marks
                .retain(|name, mark| *name == '\'' || !(first..=last).contains(&mark.line));
            for mark in self.marks.values_mut().filter(|mark| mark.line > last) {
                mark.line -= last - first + 1;
            }
        }
    }

    /// Replaces a range with `text` and moves the cursor to its start.
    fn splice(&mut self, area: &mut TextArea, range: TextRange, text: Fragment) {
        if range.start != range.end || !text.is_empty() {
            area.edit(range.start..range.end, text, EditKind::Other);
        }
        area.cursor = area.buffer.clamp(range.start);
        self.changed = true;
    }

    fn shift_lines(&mut self, area: &mut TextArea, range: TextRange, operator: Operator) {
        for line in range.start.line..=range.end.line {
            let text = area.line(line);
            let (end, inserted) = match operator {
                _ if text.is_empty() => continue,
                Operator::Indent => (0, INDENT),
                _ if text.starts_with('\t') => (1, ""),
                _ => {
                    let spaces = text.len() - text.trim_start_matches(' ').len();
                    (spaces.min(INDENT.len()), "")
                }
            };
            let range = TextRange::in_line(line, 0, end);
            self.splice(area, range, Fragment::plain(inserted));
        }
        self.changed = true;
    }

    /// Makes a change that needs no motion, of the selection or of `count` elements.
    pub(super) fn change(&mut self, area: &mut TextArea, edit: Edit) {
        if let Some(range) = self.selected(area) {
            return self.change_selected(area, edit, range);
        }
        if self.pending.is_some() {
            return self.cancel();
        }
        let times = self.count.take().unwrap_or(1);
        let at = area.cursor;
        let text = area.line(at.line);
        match edit {
            Edit::Chars(operator) => {
                let end = after_many(text, at.byte, times);
                if end == at.byte && operator != Operator::Change {
                    return self.cancel();
                }
                let rest = text.len() - end;
                let range = TextRange::in_line(at.line, at.byte, end);
                self.apply(area, operator, range, StoreKind::Deleted);
                if let Operator::Case(_) = operator {
                    let byte = area.line(at.line).len() - rest;
                    area.cursor = area.buffer.clamp(Position::new(at.line, byte));
                }
            }
            Edit::DeleteCharBefore if at.byte == 0 => self.cancel(),
            Edit::DeleteCharBefore => {
                let start = (0..times).fold(at.byte, |byte, _| before(text, byte));
                let range = TextRange::in_line(at.line, start, at.byte);
                area.cursor = range.start;
                self.remove(area, range, StoreKind::Deleted);
            }
            Edit::ToEnd(operator) => {
                let times = times.min(area.line_count() - at.line);
                let target = motion::target(&area.buffer, at, Move::LineEnd, Some(times), None);
                if let Some(target) = target {
                    self.operate_to(area, operator, target, StoreKind::Deleted);
                }
            }
            Edit::Lines(operator) => self.operate_lines(area, operator, times),
            Edit::Join { spaced } => self.join(area, times.max(2), spaced),
            Edit::Put { after } => {
                let register = self.register.take();
                if is_clipboard(register) {
                    self.clipboard_put = Some((after, times));
                    self.requests.push(EditorRequest::Paste);
                } else {
                    self.put(area, after, register, times);
                }
            }
            Edit::Insert(insert_at) => self.insert(area, insert_at, times),
            _ => {}
        }
    }

    fn change_selected(&mut self, area: &mut TextArea, edit: Edit, range: TextRange) {
        self.count = None;
        let lines = TextRange::lines(&area.buffer, range.start.line, range.end.line);
        let (operator, covered) = match edit {
            Edit::Chars(operator) => (operator, range),
            Edit::ToEnd(operator) | Edit::Lines(operator) => (operator, lines),
            Edit::DeleteCharBefore => (Operator::Delete, lines),
            Edit::Join { spaced } => {
                self.end_selection(area, range);
                let count = range.end.line - range.start.line + 1;
                return self.join(area, count.max(2), spaced);
            }
            Edit::Put { .. } => return self.put_over(area, range),
            _ => return,
        };
        self.end_selection(area, covered);
        self.apply(area, operator, covered, StoreKind::Deleted);
    }

    /// Replaces the selection with a register; the selected text goes to the unnamed register.
    fn put_over(&mut self, area: &mut TextArea, range: TextRange) {
        let register = self.register.take();
        let Some(content) = self.registers.get(register).cloned() else {
            return self.cancel();
        };
        self.leave_visual(area);
        area.cursor = range.start;
        self.store(area, range, StoreKind::Deleted);
        let own_lines = content.lines && !range.lines;
        let newline = Fragment::plain(if own_lines { "\n" } else { "" });
        let mut new = newline.clone();
        new.append(&content.text);
        new.append(&newline);
        let end = end_of(range.start, &new);
        self.splice(area, range, new);
        if content.lines || range.lines {
            area.cursor = line_text(area, range.start.line + usize::from(own_lines));
        } else if end.line == range.start.line {
            area.cursor.byte = before(area.line(end.line), end.byte);
        }
    }

    /// Replaces every selected cluster, or `count` clusters at the cursor, with a character.
    pub(super) fn replace(&mut self, area: &mut TextArea, char: char) {
        if let Some(range) = self.selected(area) {
            self.end_selection(area, range);
            let old = area.buffer.fragment(range.start..range.end);
            let new: Vec<String> = old
                .text
                .split('\n')
                .map(|line| repeated(char, osier_base::text::graphemes(line).count()))
                .collect();
            return self.splice(area, range, Fragment::plain(&new.join("\n")));
        }
        let times = self.count.take().unwrap_or(1);
        let at = area.cursor;
        let line = area.line(at.line);
        let end = after_many(line, at.byte, times);
        if after_many(line, at.byte, times - 1) == line.len() {
            return self.cancel();
        }
        let new = Fragment::plain(&repeated(char, times));
        let end_of_new = Position::new(at.line, at.byte + new.text.len());
        self.splice(area, TextRange::in_line(at.line, at.byte, end), new);
        let end = area.buffer.clamp(end_of_new);
        area.cursor.byte = before(area.line(at.line), end.byte);
    }

    fn join(&mut self, area: &mut TextArea, count: usize, spaced: bool) {
        let line = area.cursor.line;
        let joins = (count - 1).min(area.line_count() - 1 - line);
        if joins == 0 {
            return self.cancel();
        }
        for _ in 0..joins {
            let (own, next) = (area.line(line), area.line(line + 1));
            let skipped = if spaced { indent(next) } else { 0 };
            let rest = &next[skipped..];
            let has_space = spaced
                && !(rest.is_empty() || rest.starts_with(')'))
                && !(own.is_empty() || own.ends_with([' ', '\t']));
            let range = TextRange::new(
                Position::new(line, own.len()),
                Position::new(line + 1, skipped),
            );
            self.splice(
                area,
                range,
                Fragment::plain(if has_space { " " } else { "" }),
            );
        }
    }

    /// Inserts a register before or after the cursor.
    pub(super) fn put(
        &mut self,
        area: &mut TextArea,
        behind: bool,
        register: Option<char>,
        times: usize,
    ) {
        let Some(content) = self.registers.get(register).cloned() else {
            return self.cancel();
        };
        let Position { line, byte } = area.cursor;
        let text = area.line(line);
        let newline = Fragment::plain("\n");
        let mut new = Fragment::default();
        for _ in 0..times {
            if content.lines && behind {
                new.append(&newline);
            }
            new.append(&content.text);
            if content.lines && !behind {
                new.append(&newline);
            }
        }
        let byte = match (content.lines, behind) {
            (true, true) => text.len(),
            (true, false) => 0,
            (false, true) => after(text, byte),
            (false, false) => byte,
        };
        let at = Position::new(line, byte);
        let end = end_of(at, &new);
        area.edit(at..at, new, EditKind::Other);
        area.cursor = if content.lines {
            line_text(area, line + usize::from(behind))
        } else if end.line == line {
            Position::new(line, before(area.line(line), end.byte))
        } else {
            area.buffer.clamp(at)
        };
        self.changed = true;
    }
}

/// The first text of a line.
pub(super) fn line_text(area: &TextArea, line: usize) -> Position {
    Position::new(line, first_text(area.line(line)))
}

fn repeated(char: char, times: usize) -> String {
    char.to_string().repeat(times)
}

/// A text in another case.
pub(super) fn in_case(old: &Fragment, case: Case) -> Fragment {
    let mut has_capital = false;
    let text = old.text.chars().map(|char| {
        let upper = match case {
            Case::Upper => true,
            Case::Lower => false,
            Case::Toggle => !char.is_uppercase(),
            Case::Capital => char.is_alphabetic() && !std::mem::replace(&mut has_capital, true),
        };
        // One letter must stay one letter, so that the marks of chips stay in place.
        if upper {
            single(char.to_uppercase()).unwrap_or(char)
        } else {
            single(char.to_lowercase()).unwrap_or(char)
        }
    });
    Fragment {
        text: text.collect(),
        chips: old.chips.clone(),
    }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let char = chars.next()?;
    chars.next().is_none().then_some(char)
}

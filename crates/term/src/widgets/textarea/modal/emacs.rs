//! Actions of the keymap `emacs`: the region, numeric arguments, and changes of words, lines and
//! spaces.

use super::super::buffer::{Fragment, Position};
use super::super::kill_ring::KillSide;
use super::super::undo::EditKind;
use super::super::{LastCommand, Motion, TextArea};
use super::cluster::{after, before, indent};
use super::operate::{TextRange, in_case};
use super::table::{Case, LocalEdit, Object, RegionEdit};
use super::{Modal, Outcome, object};

impl Modal {
    /// Runs an action on the region. Unused if there is none.
    pub(super) fn region(&mut self, area: &mut TextArea, edit: RegionEdit) -> Outcome {
        match edit {
            RegionEdit::Mark => self.anchor = Some(area.cursor),
            RegionEdit::MarkWord => self.anchor = Some(area.target(Motion::WordRight)),
            RegionEdit::MarkAll => {
                self.anchor = Some(area.buffer.end());
                area.cursor = Position::default();
            }
            RegionEdit::MarkParagraph => {
                let found = object::find(&area.buffer, area.cursor, Object::Paragraph, false, 1);
                let Some(found) = found else {
                    return Outcome::Unused;
                };
                self.anchor = Some(found.end);
                area.cursor = found.start;
            }
            RegionEdit::Exchange if self.swap_ends(area) => {}
            RegionEdit::Drop if self.anchor.take().is_some() => {}
            RegionEdit::Kill | RegionEdit::Copy | RegionEdit::Case(_)
                if self.change_region(area, edit) => {}
            _ => return Outcome::Unused,
        }
        Outcome::Done
    }

    /// Copies, cuts or converts the region; returns false if there is none.
    fn change_region(&mut self, area: &mut TextArea, edit: RegionEdit) -> bool {
        let Some(range) = self.selection(area) else {
            return false;
        };
        self.anchor = None;
        let text = area.buffer.fragment(range.clone());
        if let RegionEdit::Case(case) = edit {
            let cursor = area.cursor;
            area.edit(range, in_case(&text, case), EditKind::Other);
            area.cursor = area.buffer.clamp(cursor);
            return true;
        }
        if edit == RegionEdit::Kill {
            area.edit(range, Fragment::default(), EditKind::Other);
        }
        area.kill_ring.push(text, KillSide::After, false);
        true
    }

    /// Starts a numeric argument, or multiplies the current one by four.
    pub(super) fn multiply_count(&mut self) {
        let again = self.universal && self.count.is_none();
        self.fours = if again { self.fours + 1 } else { 1 };
        self.universal = true;
        self.count = None;
    }

    /// Takes the numeric argument for the next action.
    pub fn take_times(&mut self) -> Option<usize> {
        let times = self.times()?;
        (self.universal, self.fours, self.count) = (false, 0, None);
        Some(times)
    }

    pub(super) fn times(&self) -> Option<usize> {
        let fours = 4_usize.pow(self.fours.min(5));
        self.universal.then(|| self.count.unwrap_or(fours))
    }

    /// Cuts up to and including the next `char`, or the one that the count says.
    pub(super) fn zap(&mut self, area: &mut TextArea, char: char) {
        let times = self.count.take().unwrap_or(1);
        let from = area.cursor;
        let mut found = (from.line..area.line_count()).flat_map(|line| {
            let start = if line == from.line { from.byte } else { 0 };
            let matches = area.line(line)[start..].match_indices(char);
            matches.map(move |(at, found)| Position::new(line, start + at + found.len()))
        });
        match times.checked_sub(1).and_then(|before| found.nth(before)) {
            Some(end) => area.kill_range(from, end),
            None => self.cancel(),
        }
    }
}

impl TextArea {
    /// Changes words, lines or spaces at the cursor.
    pub(super) fn change_locally(&mut self, edit: LocalEdit) {
        match edit {
            LocalEdit::KillLine => self.kill_line(),
            LocalEdit::OpenLine => {
                let at = self.cursor;
                self.edit(at..at, Fragment::plain("\n"), EditKind::Other);
                self.cursor = at;
            }
            LocalEdit::JoinAbove => self.join_above(),
            LocalEdit::TransposeChars => self.transpose_chars(),
            LocalEdit::TransposeWords => self.transpose_words(),
            LocalEdit::TransposeLines => self.transpose_lines(),
            LocalEdit::CaseWord(case) => self.case_word(case),
            LocalEdit::DeleteSpace => self.set_space(""),
            LocalEdit::OneSpace => self.set_space(" "),
        }
        self.cursor = self.buffer.clamp(self.cursor);
    }

    /// Cuts a range. Consecutive cuts are one entry of the kill ring.
    fn kill_range(&mut self, start: Position, end: Position) {
        let joined = self.last == LastCommand::Kill;
        let killed = self.edit(start..end, Fragment::default(), EditKind::Other);
        self.kill_ring.push(killed, KillSide::After, joined);
        self.last = LastCommand::Kill;
    }

    fn kill_line(&mut self) {
        let line = self.cursor.line;
        let end = if line + 1 < self.line_count() {
            Position::new(line + 1, 0)
        } else {
            self.buffer.end()
        };
        self.kill_range(Position::new(line, 0), end);
    }

    fn join_above(&mut self) {
        let line = self.cursor.line;
        let Some(above) = line.checked_sub(1) else {
            return;
        };
        let (start, skipped) = (self.line(above).trim_end().len(), indent(self.line(line)));
        let rest = &self.line(line)[skipped..];
        let has_space = start > 0 && !(rest.is_empty() || rest.starts_with(')'));
        let start = Position::new(above, start);
        let space = Fragment::plain(if has_space { " " } else { "" });
        self.edit(start..Position::new(line, skipped), space, EditKind::Other);
        self.cursor = start;
    }

    /// Swaps the clusters before and after the cursor, or the last two at the end of a line.
    fn transpose_chars(&mut self) {
        let Position { line, byte } = self.cursor;
        let text = self.line(line);
        let middle = if byte >= text.len() {
            before(text, byte)
        } else {
            byte
        };
        let (start, end) = (before(text, middle), after(text, middle));
        if start < middle && middle < end {
            let first = TextRange::in_line(line, start, middle);
            self.swap(first, TextRange::in_line(line, middle, end));
        }
    }

    /// Swaps the word before the cursor with the one after it.
    fn transpose_words(&mut self) {
        let origin = self.cursor;
        let end = self.target(Motion::WordRight);
        self.cursor = end;
        let second = TextRange::new(self.target(Motion::WordLeft), end);
        self.cursor = second.start;
        let start = self.target(Motion::WordLeft);
        self.cursor = start;
        let first = TextRange::new(start, self.target(Motion::WordRight));
        self.cursor = origin;
        let apart = first.start < first.end && first.end <= second.start;
        if apart && second.start < end && start.line == end.line {
            self.swap(first, second);
        }
    }

    /// Swaps the line with the one above and moves the cursor below both.
    fn transpose_lines(&mut self) {
        let line = self.cursor.line.max(1);
        if line >= self.line_count() {
            return;
        }
        let first = TextRange::lines(&self.buffer, line - 1, line - 1);
        self.swap(first, TextRange::lines(&self.buffer, line, line));
        if line + 1 < self.line_count() {
            self.cursor = Position::new(line + 1, 0);
        }
    }

    /// Swaps two parts of the text and moves the cursor after them.
    fn swap(&mut self, first: TextRange, second: TextRange) {
        let mut new = self.buffer.fragment(second.start..second.end);
        new.append(&self.buffer.fragment(first.end..second.start));
        new.append(&self.buffer.fragment(first.start..first.end));
        self.edit(first.start..second.end, new, EditKind::Other);
    }

    fn case_word(&mut self, case: Case) {
        let start = self.cursor;
        let end = self.target(Motion::WordRight);
        if start != end {
            let word = in_case(&self.buffer.fragment(start..end), case);
            self.edit(start..end, word, EditKind::Other);
        }
    }

    /// Replaces the spaces around the cursor.
    fn set_space(&mut self, space: &str) {
        let Position { line, byte } = self.cursor;
        let text = self.line(line);
        let blanks = [' ', '\t'];
        let start = text[..byte].trim_end_matches(blanks).len();
        let end = text.len() - text[byte..].trim_start_matches(blanks).len();
        if &text[start..end] != space {
            let range = Position::new(line, start)..Position::new(line, end);
            self.edit(range, Fragment::plain(space), EditKind::Other);
        }
    }
}

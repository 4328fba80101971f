//! Actions of the keymap `emacs`: the region, numeric arguments, and changes of words, lines and
//! spaces.

use std::ops::Range;

use super::super::buffer::{Fragment, Position};
use super::super::kill_ring::KillSide;
use super::super::undo::EditKind;
use super::super::{Motion, TextArea};
use super::change::in_case;
use super::motion::Case;
use super::object::paragraph_lines;
use super::state::Modal;
use super::text::{after, before, below, indent, line, line_start};

impl Modal {
    pub(super) fn mark_paragraph(&mut self, area: &mut TextArea) {
        let text = area.marked_text();
        if let Some(found) = paragraph_lines(&self.cursor(area, &text)) {
            let found = area.positions(found.bytes());
            (self.anchor, area.cursor) = (Some(found.end), found.start);
        }
    }

    /// Copies or cuts the region. Unused if there is none.
    pub(super) fn kill_region(&mut self, area: &mut TextArea, cuts: bool) {
        let Some(range) = self.take_region(area) else {
            return;
        };
        let text = area.buffer.fragment(range.clone());
        if cuts {
            area.edit(range, Fragment::default(), EditKind::Other);
        }
        area.kill_ring.push(text, KillSide::After, false);
    }

    pub(super) fn case_region(&mut self, area: &mut TextArea, case: Case) {
        let Some(range) = self.take_region(area) else {
            return;
        };
        let cursor = area.cursor;
        let bytes = area.offset(range.start)..area.offset(range.end);
        area.rewrite(bytes, |text| in_case(text, case));
        area.cursor = area.buffer.clamp(cursor);
    }

    fn take_region(&mut self, area: &TextArea) -> Option<Range<Position>> {
        let range = self.selection(area);
        self.anchor = None;
        self.unused = range.is_none();
        range
    }

    /// Starts a numeric argument, or multiplies the current one by four.
    pub(super) fn multiply_count(&mut self) {
        let again = self.universal && self.command.count.is_none();
        self.fours = if again { self.fours + 1 } else { 1 };
        self.universal = true;
        self.command.count = None;
    }

    /// Returns the numeric argument for the next action, and clears it.
    pub fn take_times(&mut self) -> Option<usize> {
        let times = self.argument_times()?;
        (self.universal, self.fours, self.command.count) = (false, 0, None);
        Some(times)
    }

    /// The numeric argument.
    pub(super) fn argument_times(&self) -> Option<usize> {
        let fours = 4_usize.pow(self.fours.min(5));
        self.universal.then(|| self.command.count.unwrap_or(fours))
    }

    /// Cuts up to and including the next `char`, or the one that the count says.
    pub(super) fn zap(&mut self, area: &mut TextArea, char: char) {
        let (text, at) = (area.marked_text(), area.at());
        match text[at..].match_indices(char).nth(self.times() - 1) {
            Some((start, found)) => area.cut(area.positions(at..at + start + found.len())),
            None => self.cancel(),
        }
    }
}

impl TextArea {
    pub(super) fn kill_lines(&mut self) {
        let text = self.marked_text();
        let line = line(&text, self.at());
        let end = (line.end + 1).min(text.len());
        self.cut(self.positions(line.start..end));
    }

    /// Breaks the line after the cursor.
    pub(super) fn break_line(&mut self) {
        let at = self.at();
        self.splice(at..at, Fragment::plain("\n"));
        self.go(at);
    }

    /// Swaps the clusters before and after the cursor, or the last two at the end of a line.
    pub(super) fn transpose_chars(&mut self) {
        let (text, at) = (self.marked_text(), self.at());
        let middle = if after(&text, at) == at {
            before(&text, at)
        } else {
            at
        };
        let (start, end) = (before(&text, middle), after(&text, middle));
        if start < middle && middle < end {
            self.swap(start..middle, middle..end);
        }
    }

    pub(super) fn case_word(&mut self, case: Case) {
        let end = self.target(Motion::WordRight);
        self.rewrite(self.at()..self.offset(end), |word| in_case(word, case));
    }

    /// Joins the line to the one above.
    pub(super) fn join_above(&mut self) {
        let text = self.marked_text();
        let line = line(&text, self.at());
        let Some(above) = text[..line.start].strip_suffix('\n') else {
            return;
        };
        let blank = |char: char| char != '\n' && char.is_whitespace();
        let (start, end) = (
            above.trim_end_matches(blank).len(),
            indent(&text, line.start),
        );
        let rest = &text[end..line.end];
        let needs_none = rest.is_empty() || rest.starts_with(')') || before(&text, start) == start;
        let space = Fragment::plain(if needs_none { "" } else { " " });
        self.splice(start..end, space);
        self.go(start);
    }

    /// Swaps the word before the cursor with the word after it.
    pub(super) fn transpose_words(&mut self) {
        let origin = self.cursor;
        let mut word = |motion| {
            self.cursor = self.target(motion);
            self.at()
        };
        let second_end = word(Motion::WordRight);
        let second = word(Motion::WordLeft);
        let first = word(Motion::WordLeft);
        let first_end = word(Motion::WordRight);
        self.cursor = origin;
        let text = self.marked_text();
        let apart = first < first_end && first_end <= second && second < second_end;
        if apart && !text[first..second_end].contains('\n') {
            self.swap(first..first_end, second..second_end);
        }
    }

    /// Swaps the line with the one above and moves the cursor below both.
    pub(super) fn transpose_lines(&mut self) {
        let (text, at) = (self.marked_text(), self.at());
        let is_first = line_start(&text, at) == 0;
        let Some(second) = below(&text, at, usize::from(is_first)) else {
            return;
        };
        let second = line(&text, second);
        self.swap(line(&text, second.start - 1), second.clone());
        if second.end < text.len() {
            self.go(second.end + 1);
        }
    }

    /// Swaps two parts of the text and moves the cursor after them.
    fn swap(&mut self, first: Range<usize>, second: Range<usize>) {
        let mut new = self.fragment(second.clone());
        new.append(&self.fragment(first.end..second.start));
        new.append(&self.fragment(first.clone()));
        self.splice(first.start..second.end, new);
    }

    /// Replaces the spaces around the cursor.
    pub(super) fn set_space(&mut self, space: &str) {
        let (text, at) = (self.marked_text(), self.at());
        let blanks = [' ', '\t'];
        let start = text[..at].trim_end_matches(blanks).len();
        let end = text.len() - text[at..].trim_start_matches(blanks).len();
        if &text[start..end] != space {
            self.splice(start..end, Fragment::plain(space));
        }
    }
}

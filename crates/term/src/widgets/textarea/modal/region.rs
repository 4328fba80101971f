//! A region from a mark to the cursor, and what is done to words, blanks and lines without modes.

use super::super::buffer::{Fragment, Position};
use super::super::kill_ring::Side;
use super::super::undo::Kind;
use super::super::{Last, Motion, TextArea};
use super::operate::cased;
use super::walk::{after, before};
use super::{Awaiting, Edit, Modal, Mode, Outcome, object};

pub(super) fn is_region(edit: Edit) -> bool {
    edit as usize >= Edit::Mark as usize
}

/// Steps that are done again for a number in front of them.
pub(super) fn repeats(edit: Edit) -> bool {
    matches!(
        edit,
        Edit::KillLine
            | Edit::TransposeChars
            | Edit::TransposeWords
            | Edit::TransposeLines
            | Edit::UppercaseWord
            | Edit::LowercaseWord
            | Edit::CapitalizeWord
            | Edit::JoinAbove
            | Edit::OpenLine
    )
}

impl Modal {
    pub(super) fn region(&mut self, area: &mut TextArea, edit: Edit) -> Outcome {
        match edit {
            Edit::Mark => self.anchor = Some(area.cursor),
            Edit::ExchangeMark => match &mut self.anchor {
                Some(anchor) => std::mem::swap(anchor, &mut area.cursor),
                None => return Outcome::Unused,
            },
            Edit::MarkAll => {
                self.anchor = Some(area.buffer.end());
                area.cursor = Position::default();
            }
            Edit::DropMark => {
                let had = self.anchor.take().is_some();
                return if had { Outcome::Done } else { Outcome::Unused };
            }
            Edit::KillRegion | Edit::CopyRegion => {
                let Some(range) = self.selection(area) else {
                    return Outcome::Unused;
                };
                self.anchor = None;
                let text = area.buffer.fragment(range.clone());
                if edit == Edit::KillRegion {
                    area.edit(range, Fragment::default(), Kind::Other);
                }
                area.kill_ring.push(text, Side::After, false);
            }
            Edit::KillLine => kill_line(area),
            Edit::TransposeChars => transpose_chars(area),
            Edit::TransposeWords => transpose_words(area),
            Edit::UppercaseWord | Edit::LowercaseWord | Edit::CapitalizeWord => {
                case_word(area, edit);
            }
            Edit::DeleteSpace => spaces(area, ""),
            Edit::OneSpace => spaces(area, " "),
            Edit::JoinAbove => join_above(area),
            Edit::OpenLine => {
                let at = area.cursor;
                area.edit(at..at, Fragment::plain("\n"), Kind::Other);
                area.cursor = at;
            }
            Edit::TransposeLines => transpose_lines(area),
            Edit::MarkWord => {
                let end = area.target(Motion::WordRight);
                self.anchor = Some(end);
            }
            Edit::MarkParagraph => {
                let found = object::find(&area.buffer, area.cursor, Edit::InnerParagraph, 1);
                let Some(found) = found else {
                    return Outcome::Unused;
                };
                self.anchor = Some(found.end);
                area.cursor = found.start;
            }
            Edit::UppercaseRegion | Edit::LowercaseRegion => {
                let Some(range) = self.selection(area) else {
                    return Outcome::Unused;
                };
                let case = if edit == Edit::UppercaseRegion {
                    Edit::Uppercase
                } else {
                    Edit::Lowercase
                };
                self.anchor = None;
                let (cursor, old) = (area.cursor, area.buffer.fragment(range.clone()));
                let text = cased(&old.text, case);
                area.edit(range, Fragment { text, ..old }, Kind::Other);
                area.cursor = cursor;
            }
            Edit::Times => self.count_times(),
            Edit::Digit => self.universal = true,
            Edit::FindText | Edit::FindTextBack => self.find_text(area, edit == Edit::FindTextBack),
            _ => return Outcome::Unused,
        }
        area.cursor = area.buffer.clamp(area.cursor);
        Outcome::Done
    }

    /// A number for the next step; another time before it, four times as many.
    fn count_times(&mut self) {
        let again = self.universal && self.count.is_none();
        self.fours = if again { self.fours + 1 } else { 1 };
        self.universal = true;
        self.count = None;
    }

    /// How often the next step is meant, where a number was given for it.
    pub fn take_times(&mut self) -> Option<usize> {
        let times = self.times()?;
        (self.universal, self.fours, self.count) = (false, 0, None);
        Some(times)
    }

    pub(super) fn times(&self) -> Option<usize> {
        let fours = 4_usize.pow(self.fours.min(5));
        self.universal.then(|| self.count.unwrap_or(fours))
    }

    /// A character up to which is cut, so many of it.
    pub(super) fn zap(&mut self, area: &mut TextArea, char: char) {
        let times = self.count.take().unwrap_or(1);
        let from = area.cursor;
        let mut left = times;
        for line in from.line..area.line_count() {
            let start = if line == from.line { from.byte } else { 0 };
            for (at, found) in area.line(line)[start..].match_indices(char) {
                left -= 1;
                if left == 0 {
                    let end = Position::new(line, start + at + found.len());
                    let joined = area.last == Last::Kill;
                    let killed = area.edit(from..end, Fragment::default(), Kind::Other);
                    area.kill_ring.push(killed, Side::After, joined);
                    area.last = Last::Kill;
                    return;
                }
            }
        }
        self.fail();
    }

    /// Begins a search that goes along with what is typed.
    fn find_text(&mut self, area: &TextArea, back: bool) {
        self.awaiting = Some(Awaiting::Typing {
            back,
            typed: String::new(),
            origin: area.cursor,
        });
    }

    /// The key that began the search, pressed in it: the next hit.
    pub fn find_more(&mut self, area: &mut TextArea, back: bool) {
        if let Some(Awaiting::Typing { typed, .. }) = self.awaiting.take() {
            self.search_again(area, back);
            let origin = area.cursor;
            self.awaiting = Some(Awaiting::Typing {
                back,
                typed,
                origin,
            });
        }
    }

    /// The mouse puts the cursor at a cell of the view, or selects the word there; what was begun is dropped, a
    /// mark stays.
    pub fn click(&mut self, area: &mut TextArea, (column, row): (u16, u16), selects_word: bool) {
        self.drop_begun();
        if self.mode.is_visual() {
            self.leave_visual(area);
        }
        area.click(column, row);
        self.column = None;
        self.settle(area);
        if self.mode == Mode::Insert {
            self.edited(area, true);
        }
        let word = object::find(&area.buffer, area.cursor, Edit::InnerWord, 1);
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

    /// Ends the search that is being typed, where it is.
    pub fn end_search(&mut self) {
        self.awaiting = None;
        self.recording.clear();
    }
}

fn kill_line(area: &mut TextArea) {
    let line = area.cursor.line;
    let start = Position::new(line, 0);
    let end = if line + 1 < area.line_count() {
        Position::new(line + 1, 0)
    } else {
        Position::new(line, area.line(line).len())
    };
    let joined = area.last == Last::Kill;
    let killed = area.edit(start..end, Fragment::default(), Kind::Other);
    area.kill_ring.push(killed, Side::After, joined);
    area.last = Last::Kill;
}

/// The clusters on both sides of the cursor; at the end of a line the two before it.
fn transpose_chars(area: &mut TextArea) {
    let (line, at) = (area.cursor.line, area.cursor.byte);
    let text = area.line(line);
    let middle = if at >= text.len() {
        before(text, at)
    } else {
        at
    };
    let (start, end) = (before(text, middle), after(text, middle));
    if start == middle || end == middle {
        return;
    }
    swap(area, (line, start, middle), (line, middle, end));
}

/// The word before the cursor and the one behind it.
fn transpose_words(area: &mut TextArea) {
    let origin = area.cursor;
    let word = |area: &mut TextArea, from: Position, forward: bool| {
        area.cursor = from;
        let (there, back) = if forward {
            (Motion::WordRight, Motion::WordLeft)
        } else {
            (Motion::WordLeft, Motion::WordRight)
        };
        area.cursor = area.target(there);
        let far = area.cursor;
        area.cursor = area.target(back);
        (far.min(area.cursor), far.max(area.cursor))
    };
    let (second, second_end) = word(area, origin, true);
    let (first, first_end) = word(area, second, false);
    area.cursor = origin;
    let apart = first < first_end && first_end <= second && second < second_end;
    if apart && first.line == second_end.line && first.line == second.line {
        let line = first.line;
        swap(
            area,
            (line, first.byte, first_end.byte),
            (line, second.byte, second_end.byte),
        );
    }
}

/// Two parts of a line change places; the cursor goes behind them.
fn swap(
    area: &mut TextArea,
    (line, a, a_end): (usize, usize, usize),
    (_, b, b_end): (usize, usize, usize),
) {
    let part = |from, to| {
        area.buffer
            .fragment(Position::new(line, from)..Position::new(line, to))
    };
    let mut new = part(b, b_end);
    new.append(&part(a_end, b));
    new.append(&part(a, a_end));
    area.edit(
        Position::new(line, a)..Position::new(line, b_end),
        new,
        Kind::Other,
    );
}

fn case_word(area: &mut TextArea, edit: Edit) {
    let start = area.cursor;
    let end = area.target(Motion::WordRight);
    let old = area.buffer.fragment(start..end);
    let text = match edit {
        Edit::UppercaseWord => cased(&old.text, Edit::Uppercase),
        Edit::LowercaseWord => cased(&old.text, Edit::Lowercase),
        _ => {
            let small = cased(&old.text, Edit::Lowercase);
            let first = small.find(char::is_alphabetic).unwrap_or(small.len());
            let (lead, word) = small.split_at(first);
            let length = word.chars().next().map_or(0, char::len_utf8);
            let (letter, rest) = word.split_at(length);
            format!("{lead}{}{rest}", cased(letter, Edit::Uppercase))
        }
    };
    if start != end {
        area.edit(start..end, Fragment { text, ..old }, Kind::Other);
    }
}

/// The line above changes places with this one; the cursor goes below both.
fn transpose_lines(area: &mut TextArea) {
    let line = area.cursor.line.max(1);
    if line >= area.line_count() {
        return;
    }
    let whole = |line: usize| Position::new(line, 0)..Position::new(line, area.line(line).len());
    let mut new = area.buffer.fragment(whole(line));
    new.append(&Fragment::plain("\n"));
    new.append(&area.buffer.fragment(whole(line - 1)));
    let range = whole(line - 1).start..whole(line).end;
    area.edit(range, new, Kind::Other);
    area.cursor = if line + 1 < area.line_count() {
        Position::new(line + 1, 0)
    } else {
        area.cursor
    };
}

/// Puts `with` in the place of the blanks around the cursor.
fn spaces(area: &mut TextArea, with: &str) {
    let (line, at) = (area.cursor.line, area.cursor.byte);
    let text = area.line(line);
    let start = text[..at].trim_end_matches([' ', '\t']).len();
    let end = text.len() - text[at..].trim_start_matches([' ', '\t']).len();
    if &text[start..end] != with {
        let range = Position::new(line, start)..Position::new(line, end);
        area.edit(range, Fragment::plain(with), Kind::Other);
    }
}

fn join_above(area: &mut TextArea) {
    let line = area.cursor.line;
    if line == 0 {
        return;
    }
    let (above, own) = (area.line(line - 1), area.line(line));
    let start = above.trim_end_matches([' ', '\t']).len();
    let skipped = own.len() - own.trim_start_matches([' ', '\t']).len();
    let blank = start > 0 && skipped < own.len() && !own[skipped..].starts_with(')');
    let range = Position::new(line - 1, start)..Position::new(line, skipped);
    area.edit(
        range,
        Fragment::plain(if blank { " " } else { "" }),
        Kind::Other,
    );
    area.cursor = Position::new(line - 1, start);
}

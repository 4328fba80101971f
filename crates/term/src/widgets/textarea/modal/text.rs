//! The text as one string with a mark for every chip: lines, clusters, words, sentences and
//! brackets. A position is the byte offset of a cluster; a cluster never spans lines.

use std::iter::successors;
use std::ops::Range;

use super::super::TextArea;
use super::super::buffer::{Buffer, Fragment, MARK, Position, element_at, element_before};
use super::super::undo::EditKind;
use osier_base::text;

impl Buffer {
    fn offset(&self, position: Position) -> usize {
        let above = self.lines().iter().take(position.line);
        above.map(|line| line.text.len() + 1).sum::<usize>() + position.byte
    }

    /// The nearest position at or before `offset`.
    pub(super) fn position(&self, offset: usize) -> Position {
        let mut position = Position::new(0, offset);
        for line in self.lines() {
            if position.byte <= line.text.len() {
                break;
            }
            position = Position::new(position.line + 1, position.byte - line.text.len() - 1);
        }
        self.clamp(position)
    }
}

impl TextArea {
    pub(super) fn marked_text(&self) -> String {
        let lines = self.buffer.lines().iter().map(|line| line.text.as_str());
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn offset(&self, position: Position) -> usize {
        self.buffer.offset(self.buffer.clamp(position))
    }

    /// The cursor as an offset.
    pub(super) fn at(&self) -> usize {
        self.offset(self.cursor)
    }

    pub(super) fn go(&mut self, at: usize) {
        self.cursor = self.buffer.position(at);
    }

    pub(super) fn positions(&self, range: Range<usize>) -> Range<Position> {
        self.buffer.position(range.start)..self.buffer.position(range.end)
    }

    pub(super) fn fragment(&self, range: Range<usize>) -> Fragment {
        self.buffer.fragment(self.positions(range))
    }

    /// Replaces a range and moves the cursor after the new text.
    pub(super) fn splice(&mut self, range: Range<usize>, new: Fragment) {
        self.edit(self.positions(range), new, EditKind::Other);
    }

    /// Rewrites a range and moves the cursor after it. The new text has the same chips.
    pub(super) fn rewrite(&mut self, range: Range<usize>, new: impl FnOnce(&str) -> String) {
        let old = self.fragment(range.clone());
        let text = new(&old.text);
        if text == old.text {
            return self.go(range.end);
        }
        let chips = old.chips;
        self.splice(range, Fragment { text, chips });
    }
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |newline| at + newline)
}

pub(super) fn line(text: &str, at: usize) -> Range<usize> {
    line_start(text, at)..line_end(text, at)
}

pub(super) fn is_empty_line(text: &str, at: usize) -> bool {
    line(text, at).is_empty()
}

/// The start of the line that is `lines` below, if there is one.
pub(super) fn below(text: &str, at: usize, lines: usize) -> Option<usize> {
    let mut newlines = text[at..].match_indices('\n');
    match lines.checked_sub(1) {
        None => Some(line_start(text, at)),
        Some(earlier) => Some(at + newlines.nth(earlier)?.0 + 1),
    }
}

/// The start of the line that is `lines` above, if there is one.
pub(super) fn above(text: &str, at: usize, lines: usize) -> Option<usize> {
    let start = line_start(text, at);
    (0..lines).try_fold(start, |start, _| {
        Some(line_start(text, start.checked_sub(1)?))
    })
}

/// The start of the cluster before `at`; `at` at the start of a line.
pub(super) fn before(text: &str, at: usize) -> usize {
    let line = &text[line_start(text, at)..at];
    at - element_before(line, line.len()).map_or(0, str::len)
}

/// The end of the cluster at `at`; `at` at the end of a line.
pub(super) fn after(text: &str, at: usize) -> usize {
    at + element_at(&text[at..line_end(text, at)], 0).map_or(0, str::len)
}

/// The end of `times` clusters from `at` on.
pub(super) fn after_many(text: &str, at: usize, times: usize) -> usize {
    (0..times).fold(at, |at, _| after(text, at))
}

/// The last cluster of the line.
pub(super) fn last(text: &str, at: usize) -> usize {
    before(text, line_end(text, at))
}

/// The end of the white space at the start of the line.
pub(super) fn indent(text: &str, at: usize) -> usize {
    let line = line(text, at);
    line.end - text[line].trim_start().len()
}

/// The first cluster of the line that is not blank; the last one of a blank line.
pub(super) fn first_text(text: &str, at: usize) -> usize {
    indent(text, at).min(last(text, at))
}

/// The cluster of the line at a column; the last one of a shorter line.
pub(super) fn at_column(text: &str, at: usize, column: usize) -> usize {
    let line = line(text, at);
    let mut columns = 0;
    let mut clusters = text::graphemes(&text[line.clone()]);
    let found = clusters.find(|(_, cluster)| {
        columns += text::grapheme_width(cluster).max(1);
        columns > column
    });
    found.map_or_else(|| last(text, at), |(byte, _)| line.start + byte)
}

/// The clusters and line breaks after `at`, and the end of the text.
pub(super) fn forward(text: &str, at: usize) -> impl Iterator<Item = usize> {
    let next = |at: &usize| match after(text, *at) {
        end if end == *at => (end < text.len()).then_some(end + 1),
        end => Some(end),
    };
    successors(Some(at), next).skip(1)
}

/// The clusters and line breaks before `at`.
pub(super) fn backward(text: &str, at: usize) -> impl Iterator<Item = usize> {
    let next = |at: &usize| match before(text, *at) {
        start if start == *at => start.checked_sub(1),
        start => Some(start),
    };
    successors(Some(at), next).skip(1)
}

/// The characters from `at` on in one direction, including the one at `at`.
pub(super) fn chars(
    text: &str,
    at: usize,
    back: bool,
) -> Box<dyn Iterator<Item = (usize, char)> + '_> {
    if back {
        return Box::new(text[..after(text, at)].char_indices().rev());
    }
    let chars = text[at..].char_indices();
    Box::new(chars.map(move |(byte, char)| (at + byte, char)))
}

/// The class of a cluster. A word ends where the class changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Blank,
    Punctuation,
    Word,
    Chip,
    Script(u8),
}

/// The class of the cluster at `at`; blank at the end of a line. For a WORD (`big`), all text has
/// one class.
pub(super) fn class(text: &str, at: usize, big: bool) -> Class {
    match text[at..].chars().next() {
        None => Class::Blank,
        Some(char) if char.is_whitespace() => Class::Blank,
        Some(_) if big => Class::Word,
        Some(MARK) => Class::Chip,
        Some('_') => Class::Word,
        Some('\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}') => {
            Class::Punctuation
        }
        Some('\u{3040}'..='\u{309f}') => Class::Script(1),
        Some('\u{30a0}'..='\u{30ff}') => Class::Script(2),
        Some('\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3fffd}') => Class::Script(3),
        Some('\u{ac00}'..='\u{d7a3}') => Class::Script(4),
        Some('\u{1f000}'..='\u{1faff}') => Class::Script(5),
        Some(char) if char.is_ascii_punctuation() => Class::Punctuation,
        Some(_) => Class::Word,
    }
}

/// Whether a word starts at `at`. An empty line is a word too.
pub(super) fn starts_word(text: &str, at: usize, big: bool) -> bool {
    let (class_here, before) = (class(text, at, big), before(text, at));
    let is_new = before == at || class(text, before, big) != class_here;
    (class_here != Class::Blank && is_new) || is_empty_line(text, at)
}

/// Whether the cluster at `at` is the last one of a word.
pub(super) fn ends_word(text: &str, at: usize, big: bool) -> bool {
    let class_here = class(text, at, big);
    class_here != Class::Blank && class(text, after(text, at), big) != class_here
}

/// The end of the clusters of one class from `at` on.
pub(super) fn run_end(text: &str, at: usize, big: bool) -> usize {
    let end = line_end(text, at);
    let class_here = class(text, at, big);
    let mut later = forward(text, at).take_while(|later| *later < end);
    later
        .find(|later| class(text, *later, big) != class_here)
        .unwrap_or(end)
}

/// A part of the text. Objects and blanks alternate.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) range: Range<usize>,
    pub(super) blank: bool,
}

/// The words and blanks of the line; one empty word for an empty line.
pub(super) fn runs(text: &str, at: usize, big: bool) -> Vec<Segment> {
    let line = line(text, at);
    let starts = successors(Some(line.start), |start| {
        Some(run_end(text, *start, big)).filter(|end| *end < line.end)
    });
    let segment = |start| Segment {
        range: start..run_end(text, start, big),
        blank: start < line.end && class(text, start, big) == Class::Blank,
    };
    starts.map(segment).collect()
}

/// The sentences of the text. A sentence ends at `.`, `!` or `?` and any closing quotes or
/// brackets, before a blank or the end of the line. Consecutive empty lines are one sentence.
pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let (mut ends, mut was_empty) = (false, false);
    for (at, char) in text.char_indices().chain([(text.len(), '\n')]) {
        if char == '\n' && is_empty_line(text, at) {
            found.extend(open.take());
            match found.last_mut() {
                Some(run) if was_empty => run.end = at,
                _ => found.push(at..at),
            }
            was_empty = true;
            continue;
        }
        if matches!(char, ' ' | '\t' | '\n') {
            found.extend(open.take_if(|_| ends));
        } else {
            open.get_or_insert(at..at).end = at + char.len_utf8();
        }
        let closes = ends && matches!(char, ')' | ']' | '"' | '\'');
        ends = matches!(char, '.' | '!' | '?') || closes;
        was_empty = false;
    }
    found.extend(open);
    found
}

/// The match of the bracket at `at`.
pub(super) fn partner(
    text: &str,
    at: usize,
    (open, close): (char, char),
    back: bool,
) -> Option<usize> {
    let (own, other) = if back { (close, open) } else { (open, close) };
    let mut depth = 0_usize;
    chars(text, at, back).find_map(|(at, char)| {
        if char == own {
            depth += 1;
        } else if char == other {
            depth = depth.saturating_sub(1);
            return (depth == 0).then_some(at);
        }
        None
    })
}

//! Targets of motions: pure functions of a buffer and a position. Motions by screen row are handled
//! by the layout.

use unicode_segmentation::UnicodeSegmentation;

use super::buffer::{Buffer, MARK, Position, element_at, element_before};
use osier_base::text;

/// A cursor movement, or the text that a deletion or a kill covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    Left,
    Right,
    /// To the start of this or the previous word.
    WordLeft,
    /// Past the end of this or the next word.
    WordRight,
    /// To the start of the next word.
    NextWord,
    /// Up by screen rows.
    Up(usize),
    /// Down by screen rows.
    Down(usize),
    LineStart,
    /// To the first character of the line that is not a space.
    LineText,
    LineEnd,
    RowStart,
    RowEnd,
    BufferStart,
    BufferEnd,
}

/// The target of a motion that does not depend on rows; `None` if it does.
pub(super) fn target(buffer: &Buffer, from: Position, motion: Motion) -> Option<Position> {
    let text = buffer.line(from.line);
    Some(match motion {
        Motion::Left => match element_before(text, from.byte) {
            Some(element) => Position::new(from.line, from.byte - element.len()),
            None => previous_line_end(buffer, from),
        },
        Motion::Right => match element_at(text, from.byte) {
            Some(element) => Position::new(from.line, from.byte + element.len()),
            None => next_line_start(buffer, from),
        },
        Motion::WordLeft => match word_left(text, from.byte) {
            Some(byte) => Position::new(from.line, byte),
            None if from.byte > 0 => Position::new(from.line, 0),
            None => previous_line_end(buffer, from),
        },
        Motion::WordRight => match word_right(text, from.byte) {
            Some(byte) => Position::new(from.line, byte),
            None if from.byte < text.len() => Position::new(from.line, text.len()),
            None => next_line_start(buffer, from),
        },
        Motion::NextWord => match next_word(text, from.byte) {
            Some(byte) => Position::new(from.line, byte),
            None if from.byte < text.len() && from.line + 1 == buffer.lines().len() => {
                Position::new(from.line, text.len())
            }
            None => next_line_start(buffer, from),
        },
        Motion::LineStart => Position::new(from.line, 0),
        Motion::LineText => {
            let byte = text::graphemes(text)
                .find(|(_, cluster)| !cluster.chars().all(char::is_whitespace));
            Position::new(from.line, byte.map_or(text.len(), |(byte, _)| byte))
        }
        Motion::LineEnd => Position::new(from.line, text.len()),
        Motion::BufferStart => Position::default(),
        Motion::BufferEnd => buffer.end(),
        Motion::Up(_) | Motion::Down(_) | Motion::RowStart | Motion::RowEnd => return None,
    })
}

/// Start of the last word before `byte`.
pub(in crate::widgets) fn word_left(text: &str, byte: usize) -> Option<usize> {
    segments(&text[..byte])
        .into_iter()
        .rev()
        .find(|(_, segment)| !is_space(segment))
        .map(|(start, _)| start)
}

/// End of the first word after `byte`.
pub(in crate::widgets) fn word_right(text: &str, byte: usize) -> Option<usize> {
    segments(&text[byte..])
        .into_iter()
        .find(|(_, segment)| !is_space(segment))
        .map(|(start, segment)| byte + start + segment.len())
}

/// Start of the first word that starts after `byte`.
fn next_word(text: &str, byte: usize) -> Option<usize> {
    segments(&text[byte..])
        .into_iter()
        .find(|(start, segment)| *start > 0 && !is_space(segment))
        .map(|(start, _)| byte + start)
}

/// Words, runs of spaces, runs of ASCII punctuation, and chips. Word boundaries are those of
/// Unicode, except that ASCII punctuation always ends a word, so that `don't` and `a.b` are edited
/// part by part. An underscore is part of a name.
fn segments(line: &str) -> Vec<(usize, &str)> {
    let mut segments: Vec<(usize, &str)> = Vec::new();
    for (start, bound) in line.split_word_bound_indices() {
        let mut at = 0;
        while at < bound.len() {
            let rest = &bound[at..];
            let kind = SegmentKind::of(rest);
            let length = text::graphemes(rest)
                .find(|(_, cluster)| SegmentKind::of(cluster) != kind)
                .map_or(rest.len(), |(end, _)| end);
            let range = start + at..start + at + length;
            at += length;
            if let Some((from, last)) = segments.last_mut()
                && kind.joins()
                && SegmentKind::of(last) == kind
            {
                *last = &line[*from..range.end];
                continue;
            }
            segments.push((range.start, &line[range]));
        }
    }
    segments
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentKind {
    Space,
    Punctuation,
    Chip,
    Word,
}

impl SegmentKind {
    fn of(text: &str) -> Self {
        text.chars().next().map_or(Self::Word, Self::of_char)
    }

    fn of_char(char: char) -> Self {
        match char {
            MARK => Self::Chip,
            '_' => Self::Word,
            char if char.is_whitespace() => Self::Space,
            char if char.is_ascii_punctuation() => Self::Punctuation,
            _ => Self::Word,
        }
    }

    /// Whether adjacent parts of this kind are one segment.
    fn joins(self) -> bool {
        matches!(self, Self::Space | Self::Punctuation)
    }
}

fn is_space(segment: &str) -> bool {
    SegmentKind::of(segment) == SegmentKind::Space
}

fn previous_line_end(buffer: &Buffer, from: Position) -> Position {
    match from.line.checked_sub(1) {
        Some(line) => Position::new(line, buffer.line(line).len()),
        None => from,
    }
}

fn next_line_start(buffer: &Buffer, from: Position) -> Position {
    if from.line + 1 < buffer.lines().len() {
        Position::new(from.line + 1, 0)
    } else {
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(text: &str, step: impl Fn(&str, usize) -> Option<usize>, from: usize) -> Vec<usize> {
        std::iter::successors(Some(from), |at| step(text, *at))
            .skip(1)
            .collect()
    }

    #[test]
    fn words_end_at_ascii_punctuation_and_spaces() {
        let text = "foo.bar_baz  (don't) 漢字x";
        assert_eq!(
            stops(text, word_right, 0),
            [3, 4, 11, 14, 17, 18, 19, 20, 24, 27, 28]
        );
        assert_eq!(
            stops(text, word_left, text.len()),
            [27, 24, 21, 19, 18, 17, 14, 13, 4, 3, 0]
        );
    }

    #[test]
    fn chip_is_a_separate_word() {
        let text = "ab\u{fffc}\u{fffc}cd";
        assert_eq!(stops(text, word_right, 0), [2, 5, 8, 10]);
    }
}

//! Grapheme clusters of a line: their neighbours, classes and words.

use super::super::buffer::{Buffer, MARK, Position, element_at, element_before};
use osier_base::text;

/// The class of a cluster. A word ends where the class changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Blank,
    Punctuation,
    Word,
    Chip,
    Script(u8),
}

/// The class of the cluster at `byte`; blank at the end of the line. For a WORD (`big`), all text
/// has one class.
pub(super) fn class_at(line: &str, byte: usize, big: bool) -> Class {
    let char = element_at(line, byte).and_then(|element| element.chars().next());
    match char {
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

/// The start of the cluster before `byte`; 0 at the start of the line.
pub(super) fn before(line: &str, byte: usize) -> usize {
    byte - element_before(line, byte).map_or(0, str::len)
}

/// The end of the cluster at `byte`; the end of the line after the last.
pub(super) fn after(line: &str, byte: usize) -> usize {
    byte + element_at(line, byte).map_or(0, str::len)
}

/// The end of `times` clusters from `byte` on.
pub(super) fn after_many(line: &str, byte: usize, times: usize) -> usize {
    (0..times).fold(byte, |byte, _| after(line, byte))
}

/// The start of the last cluster.
pub(super) fn last(line: &str) -> usize {
    before(line, line.len())
}

/// Bytes of white space at the start.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The first cluster that is not blank; the last one of a blank line.
pub(super) fn first_text(line: &str) -> usize {
    indent(line).min(last(line))
}

/// The cluster at a column; the last one of a shorter line.
pub(super) fn at_column(line: &str, column: usize) -> usize {
    let mut at = 0;
    for (byte, cluster) in text::graphemes(line) {
        at += text::grapheme_width(cluster).max(1);
        if at > column {
            return byte;
        }
    }
    last(line)
}

/// Consecutive clusters of one class.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClusterRun {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) blank: bool,
}

/// The runs of a line; one empty run for an empty line.
pub(super) fn runs(line: &str, big: bool) -> Vec<ClusterRun> {
    let mut runs = Vec::new();
    let mut end = 0;
    while end < line.len() || runs.is_empty() {
        let (start, class) = (end, class_at(line, end, big));
        while end < line.len() && class_at(line, end, big) == class {
            end = after(line, end);
        }
        let blank = class == Class::Blank && start < end;
        runs.push(ClusterRun { start, end, blank });
    }
    runs
}

/// The first and last cluster of a word. An empty line is a word too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) start: Position,
    pub(super) last: Position,
}

/// The words of a line.
pub(super) fn words(
    buffer: &Buffer,
    line: usize,
    big: bool,
) -> impl DoubleEndedIterator<Item = Word> {
    let text = buffer.line(line);
    runs(text, big)
        .into_iter()
        .filter(|run| !run.blank)
        .map(move |run| Word {
            start: Position::new(line, run.start),
            last: Position::new(line, before(text, run.end)),
        })
}

/// The characters from a position on in one direction, including the one at the position.
pub(super) fn chars(
    buffer: &Buffer,
    from: Position,
    back: bool,
) -> Box<dyn Iterator<Item = (Position, char)> + '_> {
    let of_line = move |line: usize| {
        let chars = buffer.line(line).char_indices();
        chars.map(move |(byte, char)| (Position::new(line, byte), char))
    };
    if back {
        let end = after(buffer.line(from.line), from.byte);
        let end = Position::new(from.line, end);
        let lines = (0..=from.line).rev();
        let chars = lines.flat_map(move |line| of_line(line).rev());
        return Box::new(chars.filter(move |(at, _)| *at < end));
    }
    let lines = from.line..buffer.lines().len();
    Box::new(lines.flat_map(of_line).filter(move |(at, _)| *at >= from))
}

//! Sentences: they end at `.`, `!` or `?` with whatever closes behind it, in front of a blank or the end of the
//! line, and at empty lines, which are sentences of their own.

use super::super::buffer::{Buffer, Position};
use super::object::Object;
use super::walk::last;

/// A sentence, and the blanks up to the next one.
#[derive(Debug, Clone, Copy)]
struct Sentence {
    start: Position,
    /// Behind its last character.
    end: Position,
}

/// All sentences of the text, in their order.
fn sentences(buffer: &Buffer) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    let mut open: Option<Sentence> = None;
    let mut was_empty = false;
    for (line, source) in buffer.lines().iter().enumerate() {
        let text = &*source.text;
        if text.is_empty() {
            found.extend(open.take());
            let at = Position::new(line, 0);
            match found.last_mut() {
                Some(run) if was_empty => run.end = at,
                _ => found.push(Sentence { start: at, end: at }),
            }
            was_empty = true;
            continue;
        }
        was_empty = false;
        let mut ending = false;
        for (byte, char) in text.char_indices() {
            let blank = matches!(char, ' ' | '\t');
            if blank && ending {
                found.extend(open.take());
            }
            if !blank {
                let at = Position::new(line, byte);
                let sentence = open.get_or_insert(Sentence { start: at, end: at });
                sentence.end = Position::new(line, byte + char.len_utf8());
            }
            let closes = ending && matches!(char, ')' | ']' | '"' | '\'');
            ending = matches!(char, '.' | '!' | '?') || closes;
        }
        if ending {
            found.extend(open.take());
        }
    }
    found.extend(open);
    found
}

/// The start of a later sentence; the end of the text behind the last one.
pub(super) fn forward(buffer: &Buffer, from: Position, times: usize) -> Option<Position> {
    let end = buffer.end();
    let end = Position::new(end.line, last(buffer.line(end.line)));
    if from >= end {
        return None;
    }
    let sentences = sentences(buffer);
    let later = sentences.iter().map(|found| found.start);
    let later: Vec<Position> = later
        .filter(|start| *start > from && *start <= end)
        .collect();
    match later.get(times - 1) {
        None if later.len() + 1 == times => Some(end),
        found => found.copied(),
    }
}

/// The start of the sentence, or of one before it.
pub(super) fn back(buffer: &Buffer, from: Position, times: usize) -> Option<Position> {
    // From below, the nearest of empty lines is meant.
    let place = |found: &Sentence| match buffer.line(found.start.line) {
        "" => found.end,
        _ => found.start,
    };
    let sentences = sentences(buffer);
    let earlier = sentences.iter().rev().map(place);
    let earlier: Vec<Position> = earlier.filter(|start| *start < from).collect();
    earlier.get(times - 1).copied()
}

/// The sentence at a place, or the blanks between two; the whole of it has the blanks behind it, or those before
/// it where there are none.
pub(super) fn object(buffer: &Buffer, at: Position, whole: bool, times: usize) -> Option<Object> {
    let sentences = sentences(buffer);
    // Sentences and the blanks between them take turns.
    let mut pieces: Vec<(Position, Position, bool)> = Vec::new();
    for (place, found) in sentences.iter().enumerate() {
        let next = sentences.get(place + 1).map(|next| next.start);
        // Of several empty lines each is one.
        let is_empty = buffer.line(found.start.line).is_empty();
        let end = if is_empty { found.start } else { found.end };
        pieces.push((found.start, end, false));
        let has_blanks = next.is_some_and(|next| {
            next.line == found.end.line && next > found.end
                || next.line > found.end.line && buffer.line(found.end.line).len() > found.end.byte
        });
        if has_blanks && let Some(next) = next {
            let end = if next.line > found.end.line {
                Position::new(found.end.line, buffer.line(found.end.line).len())
            } else {
                next
            };
            pieces.push((found.end, end, true));
        }
    }
    let first = pieces.iter().rposition(|(start, ..)| *start <= at)?;
    let mut last = first;
    let begins_blank = pieces[first].2;
    if whole {
        for round in 0..times {
            last += usize::from(round > 0);
            pieces.get(last)?;
            if pieces[last].2 || pieces.get(last + 1).is_some_and(|(.., blank)| *blank) {
                last += 1;
            }
        }
        last = last.min(pieces.len() - 1);
    } else {
        last = (first + times - 1).min(pieces.len() - 1);
    }
    let end = pieces.get(last)?.1;
    let lacks = whole && !begins_blank && !pieces[last].2;
    let before = first.checked_sub(1).map(|before| pieces[before]);
    let start = match before {
        Some((start, _, true)) if lacks => start,
        _ => pieces[first].0,
    };
    Some(Object {
        start,
        end,
        lines: false,
    })
}

/// A sentence that fills its lines is those lines to an operator.
pub(super) fn with_lines(buffer: &Buffer, object: Object) -> Object {
    let line = buffer.line(object.start.line);
    let indent = line.len() - line.trim_start().len();
    let ends = object.end.byte == buffer.line(object.end.line).len();
    let goes_on = object.end.line + 1 < buffer.lines().len();
    Object {
        lines: object.start.byte <= indent && ends && goes_on,
        ..object
    }
}

//! Text objects: words, what is in quotes and brackets, paragraphs. Pure: a text, a place and a count give the
//! part that is meant.

use super::super::buffer::{Buffer, Position};
use super::motion::partner;
use super::walk::{Class, Step, Walk, after, class};
use super::{Edit, markup, sentence};

/// A part of the text; `end` is behind its last cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) start: Position,
    pub(super) end: Position,
    pub(super) lines: bool,
}

/// What an object is, and whether it has what is around it.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Word { big: bool },
    Paragraph,
    Quote(char),
    Pair(char, char),
    Sentence,
    Tag,
}

/// Inner and whole objects in pairs.
const KINDS: &[(Edit, Edit, Kind)] = &[
    (Edit::InnerWord, Edit::AWord, Kind::Word { big: false }),
    (Edit::InnerBigWord, Edit::ABigWord, Kind::Word { big: true }),
    (Edit::InnerParagraph, Edit::AParagraph, Kind::Paragraph),
    (Edit::InnerDoubleQuote, Edit::ADoubleQuote, Kind::Quote('"')),
    (
        Edit::InnerSingleQuote,
        Edit::ASingleQuote,
        Kind::Quote('\''),
    ),
    (Edit::InnerBacktick, Edit::ABacktick, Kind::Quote('`')),
    (
        Edit::InnerParenthesis,
        Edit::AParenthesis,
        Kind::Pair('(', ')'),
    ),
    (Edit::InnerBracket, Edit::ABracket, Kind::Pair('[', ']')),
    (Edit::InnerBrace, Edit::ABrace, Kind::Pair('{', '}')),
    (Edit::InnerAngle, Edit::AnAngle, Kind::Pair('<', '>')),
    (Edit::InnerSentence, Edit::ASentence, Kind::Sentence),
    (Edit::InnerTag, Edit::ATag, Kind::Tag),
];

/// Whether a step names an object.
pub(super) fn is_object(edit: Edit) -> bool {
    KINDS
        .iter()
        .any(|(inner, whole, _)| *inner == edit || *whole == edit)
}

/// The object at a place; `None` when there is none.
pub(super) fn find(buffer: &Buffer, at: Position, edit: Edit, times: usize) -> Option<Object> {
    let (inner, _, kind) = KINDS
        .iter()
        .find(|(inner, whole, _)| *inner == edit || *whole == edit)?;
    let whole = *inner != edit;
    match *kind {
        Kind::Word { big } => word(buffer, at, big, whole, times),
        Kind::Paragraph => paragraph(buffer, at, whole, times),
        Kind::Quote(quote) => quoted(buffer, at, quote, whole),
        Kind::Sentence => sentence::object(buffer, at, whole, times),
        Kind::Tag => markup::object(buffer, at, whole, times),
        Kind::Pair(open, close) => bracketed(buffer, at, (open, close), whole, times),
    }
}

/// Runs of one class in a line, as (start, end, is blank).
fn runs(line: &str, big: bool) -> Vec<(usize, usize, bool)> {
    let mut runs: Vec<(usize, usize, Class)> = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let end = after(line, at);
        let class = class(&line[at..end], big);
        match runs.last_mut() {
            Some((_, last, known)) if *known == class => *last = end,
            _ => runs.push((at, end, class)),
        }
        at = end;
    }
    runs.into_iter()
        .map(|(start, end, class)| (start, end, class == Class::Blank))
        .collect()
}

fn word(buffer: &Buffer, at: Position, big: bool, whole: bool, times: usize) -> Option<Object> {
    let line = buffer.line(at.line);
    let runs = runs(line, big);
    let object = |start, end| Object {
        start: Position::new(at.line, start),
        end: Position::new(at.line, end),
        lines: false,
    };
    if runs.is_empty() {
        return Some(object(0, 0));
    }
    let first = runs
        .iter()
        .position(|(start, end, _)| (*start..*end).contains(&at.byte))?;
    if !whole {
        let last = first + times - 1;
        return Some(object(runs[first].0, runs.get(last)?.1));
    }
    // A word and the blanks behind it, or blanks and the word behind them.
    let leads = runs[first].2;
    let mut last = first;
    for round in 0..times {
        if round > 0 {
            last += 1;
        }
        runs.get(last)?;
        if leads || runs.get(last + 1).is_some_and(|(.., blank)| *blank) {
            last += 1;
        }
        runs.get(last).filter(|_| leads || last < runs.len())?;
    }
    let end = runs.get(last)?.1;
    let trailing = leads || runs[last].2;
    let start = match first.checked_sub(1).map(|before| runs[before]) {
        // The indent of a line stays.
        Some((start, _, true)) if !trailing && start > 0 => start,
        _ => runs[first].0,
    };
    Some(object(start, end))
}

fn paragraph(buffer: &Buffer, at: Position, whole: bool, times: usize) -> Option<Object> {
    let count = buffer.lines().len();
    let is_blank = |line: usize| buffer.line(line).trim().is_empty();
    let block_end = |mut line: usize| {
        let blank = is_blank(line);
        while line + 1 < count && is_blank(line + 1) == blank {
            line += 1;
        }
        line
    };
    let blank = is_blank(at.line);
    let mut start = at.line;
    while start > 0 && is_blank(start - 1) == blank {
        start -= 1;
    }
    let mut end = block_end(at.line);
    for round in 0..times {
        if round > 0 {
            end = Some(end + 1).filter(|next| *next < count).map(block_end)?;
        }
        if !whole {
            continue;
        }
        if end + 1 < count {
            end = block_end(end + 1);
        } else if blank {
            return None;
        } else {
            while start > 0 && is_blank(start - 1) {
                start -= 1;
            }
        }
    }
    Some(Object {
        start: Position::new(start, 0),
        end: Position::new(end, buffer.line(end).len()),
        lines: true,
    })
}

fn quoted(buffer: &Buffer, at: Position, quote: char, whole: bool) -> Option<Object> {
    let line = buffer.line(at.line);
    let mut escaped = false;
    let mut quotes = Vec::new();
    for (place, char) in line.char_indices() {
        if char == quote && !escaped {
            quotes.push(place);
        }
        escaped = char == '\\' && !escaped;
    }
    let pair = quotes.chunks_exact(2).find(|pair| pair[1] >= at.byte);
    // Between two pairs is a pair of its own to who looks back from there.
    let between = quotes
        .windows(2)
        .find(|pair| pair[0] <= at.byte && pair[1] >= at.byte);
    let pair = match pair {
        Some(pair) => pair,
        None => between?,
    };
    let (open, close) = (pair[0], pair[1]);
    let (mut start, mut end) = (open + quote.len_utf8(), close);
    if whole {
        (start, end) = (open, close + quote.len_utf8());
        let blanks = |text: &str| text.len() - text.trim_start().len();
        let behind = blanks(&line[end..]);
        end += behind;
        if behind == 0 {
            start = line[..start].trim_end().len();
        }
    }
    Some(Object {
        start: Position::new(at.line, start),
        end: Position::new(at.line, end),
        lines: false,
    })
}

fn bracketed(
    buffer: &Buffer,
    at: Position,
    (open, close): (char, char),
    whole: bool,
    times: usize,
) -> Option<Object> {
    // Without one around the place, the next one is meant.
    let around = enclosing(buffer, at, (open, close));
    let mut start = around.or_else(|| next(buffer, at, open))?;
    for _ in 1..times {
        let mut walk = Walk::new(buffer, start, false);
        walk.back();
        if walk.at == start {
            return None;
        }
        start = enclosing(buffer, walk.at, (open, close))?;
    }
    let end = partner(buffer, start, (open, close), true)?;
    if whole {
        let end = Position::new(end.line, end.byte + close.len_utf8());
        return Some(Object {
            start,
            end,
            lines: false,
        });
    }
    let mut inner = Position::new(start.line, start.byte + open.len_utf8());
    let mut close_at = end;
    // Brackets that stand on lines of their own hold whole lines.
    if inner.byte == buffer.line(inner.line).len() && inner.line < close_at.line {
        inner = Position::new(inner.line + 1, 0);
    }
    let lead = &buffer.line(close_at.line)[..close_at.byte];
    if lead.trim().is_empty() && close_at.line > inner.line {
        let line = close_at.line - 1;
        let text = buffer.line(line);
        close_at = Position::new(line, text.len());
        let lines = inner.byte == 0;
        return Some(Object {
            start: inner,
            end: close_at,
            lines,
        });
    }
    Some(Object {
        start: inner,
        end: close_at,
        lines: false,
    })
}

fn next(buffer: &Buffer, at: Position, open: char) -> Option<Position> {
    let mut walk = Walk::new(buffer, at, false);
    while walk.element().and_then(|element| element.chars().next()) != Some(open) {
        if walk.forward() == Step::Stuck {
            return None;
        }
    }
    Some(walk.at)
}

/// The opening bracket around a place.
fn enclosing(buffer: &Buffer, at: Position, (open, close): (char, char)) -> Option<Position> {
    let mut walk = Walk::new(buffer, at, false);
    let first = |walk: &Walk<'_>| walk.element().and_then(|element| element.chars().next());
    if first(&walk) == Some(close) {
        return partner(buffer, at, (open, close), false);
    }
    let mut depth = 0_usize;
    loop {
        match first(&walk) {
            Some(char) if char == open && depth == 0 => return Some(walk.at),
            Some(char) if char == open => depth -= 1,
            Some(char) if char == close => depth += 1,
            _ => {}
        }
        if walk.back() == Step::Stuck {
            return None;
        }
    }
}

//! Text objects: words, paragraphs, sentences, tags, quotes and brackets. Pure: a text, a position
//! and a count determine a range.

use super::super::buffer::{Buffer, Position};
use super::cluster::{chars, indent, last, runs};
use super::motion::partner;
use super::operate::TextRange;
use super::table::Object;

/// The object at a position, if there is one.
pub(super) fn find(
    buffer: &Buffer,
    at: Position,
    object: Object,
    around: bool,
    times: usize,
) -> Option<TextRange> {
    match object {
        Object::Word { big } => word(buffer, at, big, around, times),
        Object::Paragraph => paragraph(buffer, at, around, times),
        Object::Sentence => sentence(buffer, at, around, times),
        Object::Tag => tag(buffer, at, around, times),
        Object::Quotes(quote) => quoted(buffer.line(at.line), at, quote, around),
        Object::Brackets(open, close) => bracketed(buffer, at, (open, close), around, times),
    }
}

/// A segment of a text in which objects and blanks alternate.
struct Segment {
    start: Position,
    end: Position,
    blank: bool,
}

/// Covers `times` segments from the one at a position on. Around an object, includes the blanks
/// after it or, without any, those before it. Around blanks, includes the object after them.
fn cover(segments: &[Segment], at: Position, around: bool, times: usize) -> Option<TextRange> {
    let first = segments.iter().rposition(|segment| segment.start <= at)?;
    let mut last = first;
    for round in 0..times {
        last += usize::from(round > 0);
        let segment = segments.get(last)?;
        let next_is_blank = segments.get(last + 1).is_some_and(|next| next.blank);
        last += usize::from(around && (segment.blank || next_is_blank));
    }
    let (start, end) = (&segments[first], segments.get(last)?);
    let lead = first.checked_sub(1).map(|before| &segments[before]);
    // The indent of a line stays.
    let lead = lead.filter(|lead| lead.blank && lead.start.byte > 0);
    let lead = lead.filter(|_| around && !start.blank && !end.blank);
    Some(TextRange::new(lead.unwrap_or(start).start, end.end))
}

fn word(buffer: &Buffer, at: Position, big: bool, around: bool, times: usize) -> Option<TextRange> {
    let runs = runs(buffer.line(at.line), big).into_iter();
    let segments = runs.map(|run| Segment {
        start: Position::new(at.line, run.start),
        end: Position::new(at.line, run.end),
        blank: run.blank,
    });
    cover(&segments.collect::<Vec<_>>(), at, around, times)
}

fn paragraph(buffer: &Buffer, at: Position, around: bool, times: usize) -> Option<TextRange> {
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
        if !around {
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
    Some(TextRange::lines(buffer, start, end))
}

fn quoted(line: &str, at: Position, quote: char, around: bool) -> Option<TextRange> {
    let mut escaped = false;
    let mut quotes = Vec::new();
    for (byte, char) in line.char_indices() {
        if char == quote && !escaped {
            quotes.push(byte);
        }
        escaped = char == '\\' && !escaped;
    }
    let mut pairs = quotes.chunks_exact(2);
    let pair = pairs.find(|pair| pair[1] >= at.byte).or_else(|| {
        let mut neighbours = quotes.windows(2);
        neighbours.find(|pair| pair[0] <= at.byte && pair[1] >= at.byte)
    })?;
    let (open, close) = (pair[0], pair[1]);
    if !around {
        return Some(TextRange::in_line(at.line, open + quote.len_utf8(), close));
    }
    let end = close + quote.len_utf8();
    let blanks = indent(&line[end..]);
    let start = if blanks == 0 {
        line[..open].trim_end().len()
    } else {
        open
    };
    Some(TextRange::in_line(at.line, start, end + blanks))
}

fn bracketed(
    buffer: &Buffer,
    at: Position,
    pair: (char, char),
    around: bool,
    times: usize,
) -> Option<TextRange> {
    // If no brackets enclose the position, use the next ones.
    let from = match enclosing(buffer, at, pair).next() {
        Some(_) => at,
        None => {
            chars(buffer, at, false)
                .find(|(_, char)| *char == pair.0)?
                .0
        }
    };
    let start = enclosing(buffer, from, pair).nth(times - 1)?;
    let end = partner(buffer, start, pair, false)?;
    if around {
        let end = Position::new(end.line, end.byte + pair.1.len_utf8());
        return Some(TextRange::new(start, end));
    }
    let mut inner = Position::new(start.line, start.byte + pair.0.len_utf8());
    // Brackets on lines of their own enclose complete lines.
    if inner == buffer.line_end(inner.line) && inner.line < end.line {
        inner = Position::new(inner.line + 1, 0);
    }
    if end.byte <= indent(buffer.line(end.line)) && end.line > inner.line {
        return Some(TextRange {
            start: inner,
            end: buffer.line_end(end.line - 1),
            lines: inner.byte == 0,
        });
    }
    Some(TextRange::new(inner, end))
}

/// The opening brackets around a position, innermost first.
fn enclosing(
    buffer: &Buffer,
    at: Position,
    (open, close): (char, char),
) -> impl Iterator<Item = Position> {
    let mut depth = 0_usize;
    chars(buffer, at, true).filter_map(move |(position, char)| {
        if char == close && position != at {
            depth += 1;
        } else if char == open {
            if depth == 0 {
                return Some(position);
            }
            depth -= 1;
        }
        None
    })
}

/// An opening or closing tag in the text.
#[derive(Debug)]
struct Tag<'a> {
    name: &'a str,
    closes: bool,
    range: TextRange,
}

/// The tags of the text, without self-closing ones.
fn tags(buffer: &Buffer) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    for (line, source) in buffer.lines().iter().enumerate() {
        let text = &*source.text;
        for (start, _) in text.match_indices('<') {
            let inner = &text[start + 1..];
            let closes = inner.starts_with('/');
            let inner = &inner[usize::from(closes)..];
            let ends_name = |char: char| char.is_whitespace() || matches!(char, '>' | '/' | '<');
            let (name, rest) = inner.split_at(inner.find(ends_name).unwrap_or(inner.len()));
            let Some(end) = rest.find('>') else { continue };
            let is_single = rest[..end].contains('<') || rest[..end].ends_with('/');
            if name.starts_with(char::is_alphabetic) && !is_single {
                let end = text.len() - rest.len() + end + 1;
                tags.push(Tag {
                    name,
                    closes,
                    range: TextRange::in_line(line, start, end),
                });
            }
        }
    }
    tags
}

/// The text between the tags around a position, or with the tags. A count selects outer tags.
fn tag(buffer: &Buffer, at: Position, around: bool, times: usize) -> Option<TextRange> {
    let mut open: Vec<Tag<'_>> = Vec::new();
    let mut pairs: Vec<(TextRange, TextRange)> = Vec::new();
    for tag in tags(buffer) {
        if !tag.closes {
            open.push(tag);
            continue;
        }
        let Some(opening) = open.iter().rposition(|known| known.name == tag.name) else {
            continue;
        };
        let start = open[opening].range;
        open.truncate(opening);
        if start.start <= at && at < tag.range.end {
            pairs.push((start, tag.range));
        }
    }
    let (open, close) = pairs.get(times - 1)?;
    Some(if around {
        TextRange::new(open.start, close.end)
    } else {
        TextRange::new(open.end, close.start)
    })
}

/// The sentences of the text. A sentence ends at `.`, `!` or `?` and any closing quotes or
/// brackets, before a blank or the end of the line. Consecutive empty lines are one sentence.
fn sentences(buffer: &Buffer) -> Vec<TextRange> {
    let mut found: Vec<TextRange> = Vec::new();
    let mut open: Option<TextRange> = None;
    let mut was_empty = false;
    for (line, source) in buffer.lines().iter().enumerate() {
        let text = &*source.text;
        if text.is_empty() {
            found.extend(open.take());
            let at = Position::new(line, 0);
            match found.last_mut() {
                Some(run) if was_empty => run.end = at,
                _ => found.push(TextRange::new(at, at)),
            }
            was_empty = true;
            continue;
        }
        was_empty = false;
        let mut ends = false;
        for (byte, char) in text.char_indices() {
            let blank = matches!(char, ' ' | '\t');
            if blank && ends {
                found.extend(open.take());
            }
            if !blank {
                let at = Position::new(line, byte);
                let sentence = open.get_or_insert(TextRange::new(at, at));
                sentence.end = Position::new(line, byte + char.len_utf8());
            }
            let closes = ends && matches!(char, ')' | ']' | '"' | '\'');
            ends = matches!(char, '.' | '!' | '?') || closes;
        }
        if ends {
            found.extend(open.take());
        }
    }
    found.extend(open);
    found
}

/// The start of a later sentence; after the last one, the end of the text.
pub(super) fn next_sentence(buffer: &Buffer, from: Position, times: usize) -> Option<Position> {
    let end = buffer.end();
    let end = Position::new(end.line, last(buffer.line(end.line)));
    let later = sentences(buffer).into_iter().map(|found| found.start);
    let later = later.filter(|start| *start > from && *start <= end);
    let later: Vec<Position> = later.chain((from < end).then_some(end)).collect();
    later.get(times - 1).copied()
}

/// The start of the sentence, or of an earlier one.
pub(super) fn previous_sentence(buffer: &Buffer, from: Position, times: usize) -> Option<Position> {
    // Backwards, the last empty line counts.
    let start = |found: &TextRange| match buffer.line(found.start.line) {
        "" => found.end,
        _ => found.start,
    };
    let sentences = sentences(buffer);
    let earlier = sentences.iter().rev().map(start);
    earlier.filter(|start| *start < from).nth(times - 1)
}

/// The sentence at a position, or the blanks between two.
fn sentence(buffer: &Buffer, at: Position, around: bool, times: usize) -> Option<TextRange> {
    let sentences = sentences(buffer);
    let mut segments = Vec::new();
    for (index, found) in sentences.iter().enumerate() {
        let is_empty = buffer.line(found.start.line).is_empty();
        segments.push(Segment {
            start: found.start,
            end: if is_empty { found.start } else { found.end },
            blank: false,
        });
        let next = sentences.get(index + 1);
        let blank_end = next.map(|next| next.start.min(buffer.line_end(found.end.line)));
        if let Some(end) = blank_end.filter(|end| *end > found.end) {
            segments.push(Segment {
                start: found.end,
                end,
                blank: true,
            });
        }
    }
    // An inner object takes as many segments as exist.
    let later = segments.iter().filter(|segment| segment.start > at).count();
    let times = if around { times } else { times.min(later + 1) };
    cover(&segments, at, around, times)
}

/// Marks a sentence that fills its lines as complete lines, for operators.
pub(super) fn with_lines(buffer: &Buffer, range: TextRange) -> TextRange {
    let fills = range.start.byte <= indent(buffer.line(range.start.line))
        && range.end == buffer.line_end(range.end.line);
    TextRange {
        lines: fills && range.end.line + 1 < buffer.lines().len(),
        ..range
    }
}

//! Text objects: pure functions from a cursor in a text to a range.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::motion::Cursor;
use super::text::{
    Segment, chars, indent, is_empty_line, line, line_end, line_start, partner, runs, sentences,
};

/// A part of the text; `end` is after its last cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextRange {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Complete lines, without the line break of the last one.
    pub(super) lines: bool,
}

impl From<Range<usize>> for TextRange {
    fn from(Range { start, end }: Range<usize>) -> Self {
        let lines = false;
        Self { start, end, lines }
    }
}

impl TextRange {
    /// The lines from that of `start` to that of `end`.
    pub(super) fn lines(text: &str, start: usize, end: usize) -> Self {
        Self {
            start: line_start(text, start),
            end: line_end(text, end),
            lines: true,
        }
    }

    pub(super) fn bytes(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A word, or the blanks between two.
pub(super) fn word(c: &Cursor<'_>, big: bool) -> Option<TextRange> {
    cover(c, &runs(c.text, c.at, big))
}

/// A paragraph, or the blank lines between two.
pub(super) fn paragraph_lines(c: &Cursor<'_>) -> Option<TextRange> {
    let mut blocks: Vec<Segment> = Vec::new();
    let mut start = 0;
    for line in c.text.split('\n') {
        let (end, blank) = (start + line.len(), line.trim().is_empty());
        match blocks.last_mut().filter(|block| block.blank == blank) {
            Some(block) => block.range.end = end,
            None => blocks.push(Segment {
                range: start..end,
                blank,
            }),
        }
        start = end + 1;
    }
    let range = cover(c, &blocks)?;
    Some(TextRange::lines(c.text, range.start, range.end))
}

/// Covers as many segments as the count says, from the segment at the cursor on. Around an object, includes the blanks
/// after it or, if there are none, the blanks before it. Around blanks, includes the object after them.
fn cover(c: &Cursor<'_>, segments: &[Segment]) -> Option<TextRange> {
    let first = segments
        .iter()
        .rposition(|segment| segment.range.start <= c.at)?;
    let mut last = first;
    for round in 0..c.times() {
        last += usize::from(round > 0);
        let segment = segments.get(last)?;
        let next_is_blank = segments.get(last + 1).is_some_and(|next| next.blank);
        last += usize::from(c.around && (segment.blank || next_is_blank));
    }
    let (start, end) = (&segments[first], segments.get(last)?);
    let lead = first.checked_sub(1).map(|before| &segments[before]);
    // The indent of a line stays.
    let is_indent = |lead: &Range<usize>| {
        lead.start == line_start(c.text, lead.start) && lead.end < line_end(c.text, lead.start)
    };
    let lead = lead.filter(|lead| lead.blank && !is_indent(&lead.range));
    let lead = lead.filter(|_| c.around && !start.blank && !end.blank);
    Some(TextRange::from(
        lead.unwrap_or(start).range.start..end.range.end,
    ))
}

/// The sentence at a position, or the blanks between two.
pub(super) fn sentence(c: &Cursor<'_>) -> Option<TextRange> {
    let (text, sentences) = (c.text, sentences(c.text));
    let mut segments = Vec::new();
    for (index, found) in sentences.iter().enumerate() {
        let is_empty = is_empty_line(text, found.start);
        let range = if is_empty {
            found.start..found.start
        } else {
            found.clone()
        };
        segments.push(Segment {
            range,
            blank: false,
        });
        let next = sentences.get(index + 1);
        let blank_end = next.map(|next| next.start.min(line_end(text, found.end)));
        if let Some(end) = blank_end.filter(|end| *end > found.end) {
            let range = found.end..end;
            segments.push(Segment { range, blank: true });
        }
    }
    // An inner object takes as many segments as exist.
    let later = segments
        .iter()
        .filter(|segment| segment.range.start > c.at)
        .count();
    let count = if c.around {
        c.count
    } else {
        Some(c.times().min(later + 1))
    };
    let range = cover(&Cursor { count, ..*c }, &segments)?;
    // An operator takes a sentence that fills its lines as complete lines.
    let lines = c.operator.is_some()
        && range.start <= indent(text, range.start)
        && range.end == line_end(text, range.end)
        && range.end < text.len();
    Some(TextRange { lines, ..range })
}

pub(super) fn quoted(c: &Cursor<'_>, quote: char) -> Option<TextRange> {
    let Cursor { text, at, .. } = *c;
    let line = line(text, at);
    let mut escaped = false;
    let mut quotes = Vec::new();
    for (byte, char) in text[line.clone()].char_indices() {
        if char == quote && !escaped {
            quotes.push(line.start + byte);
        }
        escaped = char == '\\' && !escaped;
    }
    let mut pairs = quotes.chunks_exact(2);
    let pair = pairs.find(|pair| pair[1] >= at).or_else(|| {
        let mut neighbours = quotes.windows(2);
        neighbours.find(|pair| pair[0] <= at && pair[1] >= at)
    })?;
    let (open, close) = (pair[0], pair[1]);
    if !c.around {
        return Some((open + 1..close).into());
    }
    let rest = &text[close + 1..line.end];
    let end = line.end - rest.trim_start().len();
    let trimmed = text[line.start..open].trim_end().len();
    let start = if end == close + 1 {
        line.start + trimmed
    } else {
        open
    };
    Some((start..end).into())
}

pub(super) fn bracketed(c: &Cursor<'_>, pair: (char, char)) -> Option<TextRange> {
    let Cursor { text, at, .. } = *c;
    // If no brackets enclose the position, use the next ones.
    let from = match enclosing(text, at, pair).next() {
        Some(_) => at,
        None => at + text[at..].find(pair.0)?,
    };
    let start = enclosing(text, from, pair).nth(c.times() - 1)?;
    let end = partner(text, start, pair, false)?;
    if c.around {
        return Some((start..end + 1).into());
    }
    let mut inner = TextRange::from(start + 1..end);
    // Brackets on lines of their own enclose complete lines.
    if inner.start == line_end(text, inner.start) && inner.start < end {
        inner.start += 1;
    }
    let end_line = line_start(text, end);
    if end <= indent(text, end) && end_line > inner.start {
        inner.end = end_line - 1;
        inner.lines = inner.start == line_start(text, inner.start);
    }
    Some(inner)
}

/// The opening brackets around a position, innermost first.
fn enclosing(text: &str, at: usize, (open, close): (char, char)) -> impl Iterator<Item = usize> {
    let mut depth = 0_usize;
    chars(text, at, true).filter_map(move |(position, char)| {
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

/// An opening, closing or single tag.
static TAG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<(/?)(\p{Alphabetic}[^\s<>/]*)([^<>\n]*)>").ok());

/// The text between the tags around a position, or with the tags. A count selects outer tags.
pub(super) fn tag(c: &Cursor<'_>) -> Option<TextRange> {
    let mut open: Vec<(&str, Range<usize>)> = Vec::new();
    let mut pairs = Vec::new();
    for tag in TAG.as_ref()?.captures_iter(c.text) {
        let (range, name) = (tag.get(0)?.range(), tag.get(2)?.as_str());
        if tag[3].ends_with('/') {
            continue;
        }
        if tag[1].is_empty() {
            open.push((name, range));
            continue;
        }
        let Some(opening) = open.iter().rposition(|(known, _)| *known == name) else {
            continue;
        };
        let start = open[opening].1.clone();
        open.truncate(opening);
        if start.start <= c.at && c.at < range.end {
            pairs.push((start, range));
        }
    }
    let (open, close) = pairs.get(c.times() - 1)?;
    let inner = open.end..close.start;
    Some(
        if c.around {
            open.start..close.end
        } else {
            inner
        }
        .into(),
    )
}

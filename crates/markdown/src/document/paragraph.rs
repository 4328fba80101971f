//! Very long open paragraphs: a model that writes one line for minutes, a log without a blank line.
//!
//! While such a paragraph is open it is drawn in parts. The last row of a part is not full, so the
//! next part begins with it. A delta costs only the last part. The parts are only a view: a
//! complete paragraph is laid out at once, so that emphasis that begins in one part and ends in
//! another is drawn as in any other paragraph.

use std::borrow::Cow;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::{LONG, Markdown, PART};
use crate::blocks::{Leaf, Scan, line_start};
use crate::context::Carry;
use crate::dialect::Dialect;
use crate::open_context::open_paragraph;
use crate::parse::{begins_block, parse};
use crate::unit::{Body, Part, Text, Unit, prose};
use osier_base::text;
use osier_term::face::Token;
use osier_term::row::{Row, Span};

/// Approximate bytes of a part.
const LENGTH: usize = 4 * 1024;

impl Markdown {
    /// Splits the end of the open paragraph into parts until little is left.
    pub(super) fn split_paragraph(&mut self) {
        if self.finished || self.source.len() < self.retry_length {
            return;
        }
        while let Some(part) = self.next_part() {
            let index = self.units.len() + self.view.len();
            if let Some(last) = self.view.last_mut().or(self.units.last_mut()) {
                last.invalidate();
            }
            self.ends.truncate(index.saturating_sub(1));
            self.read_partial(part.source.start);
            self.view.push(part);
        }
    }

    /// Removes the parts of the open paragraph.
    pub(super) fn join(&mut self) {
        self.retry_length = 0;
        if self.view.is_empty() {
            return;
        }
        self.view.clear();
        if let Some(last) = self.units.last_mut() {
            last.invalidate();
        }
        self.ends.truncate(self.units.len().saturating_sub(1));
    }

    fn next_part(&mut self) -> Option<Unit> {
        let open = self.view.last().or(self.units.last())?;
        let start = open.source.start;
        let end = if self.shows_partial {
            self.source.len()
        } else {
            self.line
        };
        if !matches!(open.body, Body::Text(_)) || end < start + LONG {
            return None;
        }
        // Small blocks can be above the paragraph.
        let head = text::head_bytes(&self.source[start..end], PART + LONG);
        let part = match text::sanitize(head) {
            Cow::Borrowed(_) => self.part_in(open, head),
            Cow::Owned(_) => None,
        };
        if part.is_none() {
            self.retry_length = self.source.len() + LENGTH;
        }
        part
    }

    /// The next part, which begins in `head`, the start of the text of `open`.
    fn part_in(&self, open: &Unit, head: &str) -> Option<Unit> {
        let opener = open.opener();
        let text = [opener, head].concat();
        let split = split_place(&text, opener.len())?;
        let above = &text[..split];
        self.parsed.set(self.parsed.get() + text.len() + split);
        let (mut rows, context) = open_paragraph(above, open.block(prose(self.width), &[]));
        let mut carry = carry(&rows.pop()?);
        if above.ends_with([' ', '\n', '\t', '>']) {
            carry.spans.push(Span::new(" ", Token::Text));
        }
        // The character after the split keeps the containers open.
        let behind = text[split..].chars().next()?;
        let above = &text[..split + behind.len_utf8()];
        let mut scan = Scan::new(above, opener.len());
        scan.by_ref().for_each(drop);
        let context = context
            .filter(|context| scan.leaf() == Leaf::Paragraph && context.depth() == scan.depth())?;
        let part = Part {
            opener: scan.opener(true).into(),
            context,
            after_blank: false,
            carry: Some(carry),
        };
        let at = open.source.start + split - opener.len();
        Some(Unit::part(open.kind, at, part, Body::Text(Text::default())))
    }
}

/// The text of a row.
fn carry(row: &Row) -> Carry {
    let mut columns = usize::from(row.decoration);
    let mut spans = Vec::new();
    for span in &row.spans {
        let decoration = text::prefix_of_width(&span.text, columns);
        columns -= text::width(decoration);
        let text = &span.text[decoration.len()..];
        if !text.is_empty() {
            spans.push(Span {
                text: text.into(),
                ..span.clone()
            });
        }
    }
    Carry {
        spans,
        continues: row.continues,
    }
}

/// A place in the last paragraph of `text` that lets the text after it be parsed alone: the start
/// of a word, outside of emphasis and links if possible.
fn split_place(text: &str, opener: usize) -> Option<usize> {
    let mut paragraph = opener;
    let mut depth = 0_usize;
    let mut places: [Option<usize>; 4] = [None; 4];
    for (event, range) in parse(&Dialect::new(text), &|_| None) {
        if begins_block(&event) {
            (paragraph, depth, places) = (range.start.max(opener), 0, [None; 4]);
        }
        if range.start > paragraph + LENGTH {
            break;
        }
        match event {
            Event::Start(
                Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Link { .. }
                | Tag::Image { .. },
            ) => depth += 1,
            Event::End(
                TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Link
                | TagEnd::Image,
            ) => depth = depth.saturating_sub(1),
            Event::Text(_) if range.start >= opener => {
                let end = text.floor_char_boundary(range.end.min(paragraph + LENGTH));
                let words = places_in(text, range.start, end);
                let rank = usize::from(depth > 0);
                places[rank] = words.0.or(places[rank]);
                places[2 + rank] = words.1.or(places[2 + rank]);
            }
            _ => {}
        }
    }
    let mut places = places.into_iter().flatten();
    places.find(|place| *place > paragraph + LENGTH / 2)
}

/// The last start of a word in a range, and the last place inside of a word.
fn places_in(text: &str, start: usize, end: usize) -> (Option<usize>, Option<usize>) {
    let Some(part) = text.get(start..end) else {
        return (None, None);
    };
    let is_word = |at: &usize| starts_word(&text[*at..]);
    let line = line_start(text, start);
    let is_first = text[line..start].ends_with([' ', '\t', '>']) || line == start;
    let first = is_first.then_some(start).filter(is_word);
    let word = part.rmatch_indices(' ').map(|(at, _)| start + at + 1);
    let word = word.filter(|at| *at < end).find(is_word).or(first);
    let mut inside = part.char_indices().rev().map(|(at, _)| start + at);
    let inside = inside.find(|at| *at > start && is_word(at));
    (word, inside)
}

/// Whether a block that begins like this can only be a paragraph.
fn starts_word(text: &str) -> bool {
    let is_number = |text: &str| {
        let behind = text.trim_start_matches(|char: char| char.is_ascii_digit());
        behind.len() < text.len() && behind.starts_with(['.', ')'])
    };
    text.starts_with(char::is_alphanumeric) && !is_number(text)
}

#[cfg(test)]
mod tests;

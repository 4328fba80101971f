//! Motions: pure functions from a cursor in a text to a target and the text that an operator covers.

use std::iter::{once, successors};

use super::text::{
    Class, above, after, after_many, backward, before, below, chars, class, ends_word, first_text,
    forward, is_empty_line, last, line, line_end, line_start, partner, run_end, sentences,
    starts_word,
};

/// A change of the text that a motion, an object or a selection covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Copy,
    Indent,
    Outdent,
    Case(Case),
}

/// A conversion of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
    Toggle,
    Capital,
}

/// The cursor in a text, with the count and the operator of the command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) count: Option<usize>,
    pub(super) operator: Option<Operator>,
    /// Whether a text object includes its surroundings.
    pub(super) around: bool,
}

impl Cursor<'_> {
    pub(super) fn times(&self) -> usize {
        self.count.unwrap_or(1)
    }
}

/// How an operator with a motion covers text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MotionSpan {
    /// Up to the target.
    Exclusive,
    /// Including the cluster at the target.
    Inclusive,
    Lines,
}

/// The target of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) at: usize,
    pub(super) span: MotionSpan,
}

#[expect(clippy::unnecessary_wraps, reason = "it is the result of motions")]
pub(super) fn to(at: usize) -> Option<Target> {
    let span = MotionSpan::Exclusive;
    Some(Target { at, span })
}

#[expect(clippy::unnecessary_wraps, reason = "it is the result of motions")]
pub(super) fn onto(at: usize) -> Option<Target> {
    let span = MotionSpan::Inclusive;
    Some(Target { at, span })
}

/// The first text of the line at `at`.
#[expect(clippy::unnecessary_wraps, reason = "it is the result of motions")]
pub(super) fn line_of(c: &Cursor<'_>, at: usize) -> Option<Target> {
    let (at, span) = (first_text(c.text, at), MotionSpan::Lines);
    Some(Target { at, span })
}

/// The last cluster of the text. It belongs to the text that an operator covers.
fn text_end(c: &Cursor<'_>) -> Option<Target> {
    let at = before(c.text, c.text.len());
    if at == c.text.len() { to(at) } else { onto(at) }
}

pub(super) fn left(c: &Cursor<'_>) -> Option<Target> {
    let at = (0..c.times()).fold(c.at, |at, _| before(c.text, at));
    to(at).filter(|_| at < c.at || c.operator.is_some())
}

pub(super) fn right(c: &Cursor<'_>) -> Option<Target> {
    let end = c
        .operator
        .map_or_else(|| last(c.text, c.at), |_| line_end(c.text, c.at));
    let at = after_many(c.text, c.at, c.times()).min(end);
    to(at).filter(|_| at > c.at || c.operator == Some(Operator::Change))
}

pub(super) fn last_in_line(c: &Cursor<'_>) -> Option<Target> {
    onto(last(c.text, below(c.text, c.at, c.times() - 1)?))
}

pub(super) fn last_text(c: &Cursor<'_>) -> Option<Target> {
    let last_line = line_start(c.text, c.text.len());
    let line = line(
        c.text,
        below(c.text, c.at, c.times() - 1).unwrap_or(last_line),
    );
    let trimmed = c.text[line.clone()].trim_end().len();
    onto(before(c.text, line.start + trimmed))
}

/// A line by its number; the last one of a shorter text.
pub(super) fn nth_line(c: &Cursor<'_>, nth: usize) -> Option<Target> {
    let line = below(c.text, 0, nth.saturating_sub(1));
    line_of(c, line.unwrap_or(c.text.len()))
}

pub(super) fn word_end(c: &Cursor<'_>, big: bool) -> Option<Target> {
    let mut ends = forward(c.text, c.at).filter(|at| ends_word(c.text, *at, big));
    onto(ends.nth(c.times() - 1)?)
}

pub(super) fn word_start_back(c: &Cursor<'_>, big: bool) -> Option<Target> {
    let starts = backward(c.text, c.at).filter(|at| starts_word(c.text, *at, big));
    // Before the first word, blanks lead to the start of the text.
    let lead = class(c.text, 0, big) == Class::Blank && !is_empty_line(c.text, 0) && c.at > 0;
    to(starts.chain(lead.then_some(0)).nth(c.times() - 1)?)
}

pub(super) fn word_end_back(c: &Cursor<'_>, big: bool) -> Option<Target> {
    let ends = |at: &usize| ends_word(c.text, *at, big) || is_empty_line(c.text, *at);
    let lead = !is_empty_line(c.text, 0) && c.at > 0;
    let mut ends = backward(c.text, c.at).filter(ends).chain(lead.then_some(0));
    onto(ends.nth(c.times() - 1)?)
}

/// The start of a later word. After an operator, the target stays in the line of the last word.
pub(super) fn word_start(c: &Cursor<'_>, big: bool) -> Option<Target> {
    let Cursor {
        text,
        at: from,
        operator,
        ..
    } = *c;
    if operator == Some(Operator::Change) && class(text, from, big) != Class::Blank {
        let ends = once(from).chain(forward(text, from));
        let mut ends = ends.filter(|at| ends_word(text, *at, big));
        return onto(ends.nth(c.times() - 1)?);
    }
    let mut starts = forward(text, from).filter(|at| starts_word(text, *at, big));
    let before_last = match c.times().checked_sub(2) {
        Some(earlier) => starts.nth(earlier),
        None => Some(from),
    };
    if let Some(at) = before_last.filter(|_| operator.is_some()) {
        let run_end = match class(text, at, big) {
            Class::Blank => after(text, at),
            _ => run_end(text, at, big),
        };
        if is_empty_line(text, at) && at < text.len() {
            return to(at + 1);
        }
        if run_end > at && run_end == line_end(text, at) {
            return onto(last(text, at));
        }
    }
    if let Some(start) = starts.next() {
        return to(start);
    }
    let leads = |end: &Target| match end.span {
        MotionSpan::Inclusive => true,
        _ => operator.is_some() && end.at > from,
    };
    text_end(c).filter(leads)
}

/// The empty line that ends a paragraph, or the end of the text.
pub(super) fn paragraph(c: &Cursor<'_>, back: bool) -> Option<Target> {
    let step = if back { above } else { below };
    let mut in_text = false;
    let ends_text = |start: &usize| {
        let is_empty = is_empty_line(c.text, *start);
        std::mem::replace(&mut in_text, !is_empty) && is_empty
    };
    let lines = successors(Some(line_start(c.text, c.at)), |start| {
        step(c.text, *start, 1)
    });
    let ends = lines.filter(ends_text).filter_map(to);
    let end = if back { to(0) } else { text_end(c) };
    ends.chain(end).nth(c.times() - 1)
}

pub(super) fn next_sentence(c: &Cursor<'_>) -> Option<Target> {
    let end = text_end(c)?;
    let later = sentences(c.text).into_iter().map(|sentence| sentence.start);
    let later = later.filter(|start| *start > c.at && *start <= end.at);
    let mut starts = later.chain((c.at < end.at).then_some(end.at));
    let at = starts.nth(c.times() - 1)?;
    if at == end.at { Some(end) } else { to(at) }
}

pub(super) fn previous_sentence(c: &Cursor<'_>) -> Option<Target> {
    // Backwards, the last empty line counts.
    let earlier = sentences(c.text).into_iter().rev().map(|sentence| {
        let is_empty = is_empty_line(c.text, sentence.end);
        if is_empty {
            sentence.end
        } else {
            sentence.start
        }
    });
    to(earlier.filter(|start| *start < c.at).nth(c.times() - 1)?)
}

/// The match of the first bracket in the line at or after the cursor.
pub(super) fn matching(c: &Cursor<'_>) -> Option<Target> {
    let end = line_end(c.text, c.at);
    let pairs = [('(', ')'), ('[', ']'), ('{', '}')];
    chars(&c.text[..end], c.at, false).find_map(|(at, char)| {
        let mut pairs = pairs.iter();
        let pair = pairs.find(|(open, close)| char == *open || char == *close)?;
        Some(onto(partner(c.text, at, *pair, char == pair.1)?))
    })?
}

/// A search for a character in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) char: char,
    pub(super) back: bool,
    /// Stops before the character.
    pub(super) till: bool,
}

impl Find {
    pub(super) fn target(self, c: &Cursor<'_>, again: bool) -> Option<Target> {
        let (text, line) = (c.text, line(c.text, c.at));
        let step = if self.back { before } else { after };
        // The last search may have stopped directly before the character.
        let skips = again && self.till && c.times() == 1;
        let start = if skips { step(text, c.at) } else { c.at };
        let at = (0..c.times()).try_fold(start, |at, _| {
            if self.back {
                return Some(line.start + text[line.start..at].rfind(self.char)?);
            }
            let next = after(text, at);
            Some(next + text[next..line.end].find(self.char)?)
        })?;
        match (self.till, self.back) {
            (true, true) => to(after(text, at)),
            (true, false) => onto(before(text, at)),
            (false, true) => to(at),
            (false, false) => onto(at),
        }
    }
}

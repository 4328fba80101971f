//! Targets of motions. Pure: a text, a position and a count determine the target and the text that
//! an operator covers.

use super::super::buffer::{Buffer, Position};
use super::cluster::{
    Class, after, after_many, at_column, before, chars, class_at, first_text, last, runs, words,
};
use super::object;
use super::table::{Move, Operator};

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
    pub(super) at: Position,
    pub(super) span: MotionSpan,
}

impl Target {
    pub(super) fn exclusive(at: Position) -> Self {
        let span = MotionSpan::Exclusive;
        Self { at, span }
    }

    pub(super) fn inclusive(at: Position) -> Self {
        let span = MotionSpan::Inclusive;
        Self { at, span }
    }

    /// The first text of a line.
    pub(super) fn line(buffer: &Buffer, line: usize) -> Self {
        let at = Position::new(line, first_text(buffer.line(line)));
        let span = MotionSpan::Lines;
        Self { at, span }
    }
}

/// A search for a character in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) char: char,
    pub(super) back: bool,
    /// Stops before the character.
    pub(super) till: bool,
}

/// Whether a motion is a jump, which sets the jump mark and deletes into the numbered registers.
pub(super) fn is_jump(motion: Move) -> bool {
    matches!(
        motion,
        Move::Matching
            | Move::Paragraph { .. }
            | Move::Sentence { .. }
            | Move::FirstLine
            | Move::LastLine
    )
}

/// The target of a motion, alone or after an operator, if there is one.
pub(super) fn target(
    buffer: &Buffer,
    from: Position,
    motion: Move,
    count: Option<usize>,
    operator: Option<Operator>,
) -> Option<Target> {
    let times = count.unwrap_or(1);
    let line = buffer.line(from.line);
    let last_line = buffer.lines().len() - 1;
    let here = |byte| Target::exclusive(Position::new(from.line, byte));
    let down = |lines: usize| {
        let below = from.line.checked_add(lines)?;
        (below <= last_line).then_some(below)
    };
    Some(match motion {
        Move::Left => {
            let byte = (0..times).fold(from.byte, |byte, _| before(line, byte));
            if byte == from.byte && operator.is_none() {
                return None;
            }
            here(byte)
        }
        Move::Right => {
            let end = operator.map_or_else(|| last(line), |_| line.len());
            let byte = after_many(line, from.byte, times).min(end);
            if byte == from.byte {
                return None;
            }
            here(byte)
        }
        Move::LineStart => here(0),
        Move::FirstText => here(first_text(line)),
        Move::LineEnd => {
            let below = down(times - 1)?;
            Target::inclusive(Position::new(below, last(buffer.line(below))))
        }
        Move::LastText => {
            let below = (from.line + times - 1).min(last_line);
            let trimmed = buffer.line(below).trim_end();
            Target::inclusive(Position::new(below, last(trimmed)))
        }
        Move::Column => here(at_column(line, times - 1)),
        Move::LineAbove => Target::line(buffer, from.line.checked_sub(times)?),
        Move::LineBelow => Target::line(buffer, down(times)?),
        Move::ThisLine => Target::line(buffer, down(times - 1)?),
        Move::FirstLine => Target::line(buffer, (times - 1).min(last_line)),
        Move::LastLine => {
            let line = count.map_or(last_line, |count| count.saturating_sub(1));
            Target::line(buffer, line.min(last_line))
        }
        Move::WordStart { back: false, big } => {
            return word_start(buffer, from, big, times, operator);
        }
        Move::WordEnd { back: false, big } => {
            let mut ends = word_ends(buffer, from, big).filter(|end| *end > from);
            Target::inclusive(ends.nth(times - 1)?)
        }
        Move::WordStart { back: true, big } => {
            Target::exclusive(word_back(buffer, from, big, times, false)?)
        }
        Move::WordEnd { back: true, big } => {
            Target::inclusive(word_back(buffer, from, big, times, true)?)
        }
        Move::Paragraph { back } => return paragraph(buffer, from, back, times),
        // The end of the text belongs to the last sentence.
        Move::Sentence { back: false } => match object::next_sentence(buffer, from, times)? {
            at if at == text_end(buffer).at => text_end(buffer),
            at => Target::exclusive(at),
        },
        Move::Sentence { back: true } => {
            Target::exclusive(object::previous_sentence(buffer, from, times)?)
        }
        Move::Matching => Target::inclusive(matching(buffer, from)?),
    })
}

/// The start of a later word. After an operator, the target stays in the line of the last word.
fn word_start(
    buffer: &Buffer,
    from: Position,
    big: bool,
    times: usize,
    operator: Option<Operator>,
) -> Option<Target> {
    let class = |at: Position| class_at(buffer.line(at.line), at.byte, big);
    if operator == Some(Operator::Change) && class(from) != Class::Blank {
        let mut ends = word_ends(buffer, from, big).filter(|end| *end >= from);
        return Some(Target::inclusive(ends.nth(times - 1)?));
    }
    let mut starts = (from.line..buffer.lines().len())
        .flat_map(|line| words(buffer, line, big))
        .map(|word| word.start)
        .filter(|start| *start > from);
    let before_last = match times.checked_sub(2) {
        Some(earlier) => starts.nth(earlier),
        None => Some(from),
    };
    if let Some(at) = before_last.filter(|_| operator.is_some()) {
        let line = buffer.line(at.line);
        let run_end = match class(at) {
            Class::Blank => after(line, at.byte),
            _ => runs(line, big)
                .iter()
                .find(|run| run.end > at.byte)
                .map_or(0, |run| run.end),
        };
        if line.is_empty() && at.line + 1 < buffer.lines().len() {
            return Some(Target::exclusive(Position::new(at.line + 1, 0)));
        }
        if !line.is_empty() && run_end == line.len() {
            return Some(Target::inclusive(Position::new(at.line, last(line))));
        }
    }
    if let Some(start) = starts.next() {
        return Some(Target::exclusive(start));
    }
    let end = text_end(buffer);
    let leads = end.span == MotionSpan::Inclusive || (operator.is_some() && end.at > from);
    leads.then_some(end)
}

/// The ends of the words from the line of a position on.
fn word_ends(buffer: &Buffer, from: Position, big: bool) -> impl Iterator<Item = Position> {
    (from.line..buffer.lines().len())
        .filter(|line| !buffer.line(*line).is_empty())
        .flat_map(move |line| words(buffer, line, big))
        .map(|word| word.last)
}

/// The start or the end of an earlier word; before the first one, the start of the text.
fn word_back(
    buffer: &Buffer,
    from: Position,
    big: bool,
    times: usize,
    ends: bool,
) -> Option<Position> {
    let words = (0..=from.line)
        .rev()
        .flat_map(|line| words(buffer, line, big).rev())
        .map(|word| if ends { word.last } else { word.start });
    let start = Position::default();
    let has_lead = ends || class_at(buffer.line(0), 0, big) == Class::Blank;
    let has_lead = has_lead && !buffer.line(0).is_empty();
    words
        .chain(has_lead.then_some(start))
        .filter(|at| *at < from)
        .nth(times - 1)
}

/// The empty line that ends a paragraph, or the end of the text.
fn paragraph(buffer: &Buffer, from: Position, back: bool, times: usize) -> Option<Target> {
    let count = buffer.lines().len();
    let mut found = 0;
    let mut in_text = false;
    let lines = if back {
        from.line + 1
    } else {
        count - from.line
    };
    for step in 0..lines {
        let line = if back {
            from.line - step
        } else {
            from.line + step
        };
        let is_empty = buffer.line(line).is_empty();
        found += usize::from(is_empty && in_text);
        if is_empty && in_text && found == times {
            return Some(Target::exclusive(Position::new(line, 0)));
        }
        in_text = !is_empty;
    }
    let end = || {
        if back {
            Target::exclusive(Position::default())
        } else {
            text_end(buffer)
        }
    };
    (found + 1 == times).then(end)
}

/// The last cluster of the text.
fn text_end(buffer: &Buffer) -> Target {
    let line = buffer.lines().len() - 1;
    let text = buffer.line(line);
    let at = Position::new(line, last(text));
    if text.is_empty() {
        Target::exclusive(at)
    } else {
        Target::inclusive(at)
    }
}

/// The match of the first bracket in the line at or after the position.
fn matching(buffer: &Buffer, from: Position) -> Option<Position> {
    let mut chars = chars(buffer, from, false).take_while(|(at, _)| at.line == from.line);
    let pairs = [('(', ')'), ('[', ']'), ('{', '}')];
    chars.find_map(|(at, char)| {
        let pair = pairs
            .iter()
            .find(|(open, close)| char == *open || char == *close)?;
        Some(partner(buffer, at, *pair, char == pair.1))
    })?
}

/// The match of the bracket at `from`.
pub(super) fn partner(
    buffer: &Buffer,
    from: Position,
    (open, close): (char, char),
    back: bool,
) -> Option<Position> {
    let (own, other) = if back { (close, open) } else { (open, close) };
    let mut depth = 0_usize;
    chars(buffer, from, back).find_map(|(at, char)| {
        if char == own {
            depth += 1;
        } else if char == other {
            depth = depth.saturating_sub(1);
            return (depth == 0).then_some(at);
        }
        None
    })
}

/// The position of a character in its line.
pub(super) fn find(
    line: &str,
    from: usize,
    find: Find,
    times: usize,
    again: bool,
) -> Option<usize> {
    let mut at = from;
    // The last search may have stopped directly before the character.
    if again && find.till && times == 1 {
        at = if find.back {
            before(line, at)
        } else {
            after(line, at)
        };
    }
    for _ in 0..times {
        at = if find.back {
            line[..at].rfind(find.char)?
        } else {
            let next = after(line, at);
            next + line[next..].find(find.char)?
        };
    }
    Some(match (find.till, find.back) {
        (false, _) => at,
        (true, true) => after(line, at),
        (true, false) => before(line, at),
    })
}

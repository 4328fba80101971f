//! Where the motions of normal mode lead. Pure: a text, a place and a count give another place, and how an
//! operator covers what lies between.

use super::super::buffer::{Buffer, Position};
use super::moving::at_column;
use super::walk::{Class, Step, Walk, after, before, first_text, last};
use super::{Edit, sentence};

/// How a motion covers text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// Up to the target.
    Exclusive,
    /// With the cluster at the target.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// A target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) at: Position,
    pub(super) span: Span,
}

/// Whether a motion waits for an operator, and for the one that replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Move,
    Operate,
    Change,
}

/// A character that is looked for in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) char: char,
    pub(super) back: bool,
    /// Stops one short of it.
    pub(super) till: bool,
}

/// The target of a motion; `None` when there is none.
pub(super) fn target(
    buffer: &Buffer,
    from: Position,
    edit: Edit,
    count: Option<usize>,
    purpose: Purpose,
) -> Option<Target> {
    let times = count.unwrap_or(1);
    let line = buffer.line(from.line);
    let spans = |at, span| Target { at, span };
    let exclusive = |at| spans(at, Span::Exclusive);
    let inclusive = |at| spans(at, Span::Inclusive);
    let here = |byte| Position::new(from.line, byte);
    Some(match edit {
        Edit::Left => {
            let byte = (0..times).fold(from.byte, |byte, _| before(line, byte));
            if byte == from.byte && purpose == Purpose::Move {
                return None;
            }
            exclusive(here(byte))
        }
        Edit::Right => {
            let byte = (0..times).fold(from.byte, |byte, _| after(line, byte));
            let most = if purpose == Purpose::Move {
                last(line)
            } else {
                line.len()
            };
            if byte.min(most) == from.byte {
                return None;
            }
            exclusive(here(byte.min(most)))
        }
        Edit::LineStart => exclusive(here(0)),
        Edit::LineText => exclusive(here(first_text(line))),
        Edit::LineEnd => {
            let below = from.line.checked_add(times - 1)?;
            let end = last_line(buffer).ge(&below).then(|| buffer.line(below))?;
            inclusive(Position::new(below, last(end)))
        }
        Edit::LineLastText => {
            let below = (from.line + times - 1).min(last_line(buffer));
            let trimmed = buffer.line(below).trim_end();
            inclusive(Position::new(below, last(trimmed)))
        }
        Edit::Column => exclusive(here(at_column(line, times - 1))),
        Edit::LineUpText => lines(buffer, from.line.checked_sub(times)?),
        Edit::LineDownText => lines(buffer, down(buffer, from.line, times)?),
        Edit::ThisLineText => lines(buffer, down(buffer, from.line, times - 1)?),
        Edit::FirstLine => lines(buffer, (times - 1).min(last_line(buffer))),
        Edit::LastLine => {
            let wanted = count.map_or(usize::MAX, |count| count.saturating_sub(1));
            lines(buffer, wanted.min(last_line(buffer)))
        }
        Edit::WordForward | Edit::BigWordForward => {
            return word_forward(buffer, from, edit == Edit::BigWordForward, times, purpose);
        }
        Edit::WordBack | Edit::BigWordBack => {
            exclusive(word_back(buffer, from, edit == Edit::BigWordBack, times)?)
        }
        Edit::WordEnd | Edit::BigWordEnd => {
            let big = edit == Edit::BigWordEnd;
            inclusive(word_end(buffer, from, big, times, false)?)
        }
        Edit::WordEndBack | Edit::BigWordEndBack => {
            let big = edit == Edit::BigWordEndBack;
            inclusive(word_end_back(buffer, from, big, times)?)
        }
        Edit::ParagraphForward | Edit::ParagraphBack => {
            return paragraph(buffer, from, edit == Edit::ParagraphBack, times);
        }
        // The end of the text belongs to the last sentence.
        Edit::SentenceForward => match sentence::forward(buffer, from, times)? {
            at if at == edge(buffer, false).at => edge(buffer, false),
            at => exclusive(at),
        },
        Edit::SentenceBack => exclusive(sentence::back(buffer, from, times)?),
        Edit::Matching => inclusive(matching(buffer, from)?),
        _ => return None,
    })
}

fn last_line(buffer: &Buffer) -> usize {
    buffer.lines().len() - 1
}

fn down(buffer: &Buffer, line: usize, times: usize) -> Option<usize> {
    let below = line.checked_add(times)?;
    (below <= last_line(buffer)).then_some(below)
}

/// The first text of a line, as a target of whole lines.
pub(super) fn lines(buffer: &Buffer, line: usize) -> Target {
    let at = Position::new(line, first_text(buffer.line(line)));
    Target {
        at,
        span: Span::Lines,
    }
}

/// A word is left at the end of a line: nobody who deletes a word means the start of the next line.
fn word_forward(
    buffer: &Buffer,
    from: Position,
    big: bool,
    times: usize,
    purpose: Purpose,
) -> Option<Target> {
    let mut walk = Walk::new(buffer, from, big);
    if purpose == Purpose::Change && walk.class() != Class::Blank {
        let at = word_end(buffer, from, big, times, true)?;
        return Some(Target {
            at,
            span: Span::Inclusive,
        });
    }
    let operates = purpose != Purpose::Move;
    let found = step_words(&mut walk, times, operates);
    // On the end of a line there is nothing to stand on.
    let text = walk.line();
    if walk.at > from && walk.at.byte > 0 && walk.at.byte >= text.len() {
        walk.at.byte = last(text);
        return Some(Target {
            at: walk.at,
            span: Span::Inclusive,
        });
    }
    if !found && (!operates || walk.at == from) {
        return None;
    }
    Some(Target {
        at: walk.at,
        span: Span::Exclusive,
    })
}

/// Moves to the start of a later word; false when the text ends before that.
fn step_words(walk: &mut Walk<'_>, times: usize, operates: bool) -> bool {
    for left in (0..times).rev() {
        let class = walk.class();
        let on_last_line = walk.is_last_line();
        let step = walk.forward();
        if step == Step::Stuck || (step != Step::Inside && on_last_line) {
            return false;
        }
        let crosses = |step| step != Step::Inside && operates && left == 0;
        if crosses(step) {
            return true;
        }
        if class != Class::Blank {
            while walk.class() == class {
                let step = walk.forward();
                if step == Step::Stuck || crosses(step) {
                    return true;
                }
            }
        }
        while walk.class() == Class::Blank {
            if walk.at.byte == 0 && walk.is_empty_line() {
                break;
            }
            let on_last_line = walk.is_last_line();
            let step = walk.forward();
            if step == Step::Stuck || (step != Step::Inside && on_last_line) {
                return true;
            }
        }
    }
    true
}

fn word_back(buffer: &Buffer, from: Position, big: bool, times: usize) -> Option<Position> {
    let mut walk = Walk::new(buffer, from, big);
    for _ in 0..times {
        if walk.back() == Step::Stuck {
            return None;
        }
        let mut on_empty = false;
        while walk.class() == Class::Blank {
            if walk.is_empty_line() {
                on_empty = true;
                break;
            }
            if walk.back() == Step::Stuck {
                return Some(walk.at);
            }
        }
        let class = walk.class();
        if !on_empty && walk.skip_back(class) {
            walk.forward();
        }
    }
    Some(walk.at)
}

/// `stays` when the end of the word the place is on counts.
pub(super) fn word_end(
    buffer: &Buffer,
    from: Position,
    big: bool,
    times: usize,
    mut stays: bool,
) -> Option<Position> {
    let mut walk = Walk::new(buffer, from, big);
    for _ in 0..times {
        let class = walk.class();
        if walk.forward() == Step::Stuck {
            return None;
        }
        if walk.class() == class && class != Class::Blank {
            walk.skip(class);
        } else if !stays || class == Class::Blank {
            while walk.class() == Class::Blank {
                if walk.forward() == Step::Stuck {
                    return None;
                }
            }
            let class = walk.class();
            walk.skip(class);
        }
        walk.back();
        stays = false;
    }
    Some(walk.at)
}

fn word_end_back(buffer: &Buffer, from: Position, big: bool, times: usize) -> Option<Position> {
    let mut walk = Walk::new(buffer, from, big);
    for _ in 0..times {
        let class = walk.class();
        if walk.back() == Step::Stuck {
            return None;
        }
        if class != Class::Blank {
            while walk.class() == class {
                if walk.back() == Step::Stuck {
                    return Some(walk.at);
                }
            }
        }
        while walk.class() == Class::Blank {
            if walk.is_empty_line() {
                break;
            }
            if walk.back() == Step::Stuck {
                return Some(walk.at);
            }
        }
    }
    Some(walk.at)
}

fn paragraph(buffer: &Buffer, from: Position, back: bool, times: usize) -> Option<Target> {
    let mut line = from.line;
    let end = last_line(buffer);
    for round in 0..times {
        let mut seen_text = false;
        loop {
            let blank = buffer.line(line).is_empty();
            if blank && seen_text {
                break;
            }
            seen_text |= !blank;
            let next = if back {
                line.checked_sub(1)
            } else {
                Some(line + 1).filter(|next| *next <= end)
            };
            let Some(next) = next else {
                if round + 1 < times {
                    return None;
                }
                return Some(edge(buffer, back));
            };
            line = next;
        }
    }
    Some(Target {
        at: Position::new(line, 0),
        span: Span::Exclusive,
    })
}

/// The first or the last cluster of the text.
fn edge(buffer: &Buffer, start: bool) -> Target {
    if start {
        return Target {
            at: Position::default(),
            span: Span::Exclusive,
        };
    }
    let line = last_line(buffer);
    let text = buffer.line(line);
    let span = if text.is_empty() {
        Span::Exclusive
    } else {
        Span::Inclusive
    };
    Target {
        at: Position::new(line, last(text)),
        span,
    }
}

const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// The partner of the first bracket at or behind the place in its line.
fn matching(buffer: &Buffer, from: Position) -> Option<Position> {
    let text = buffer.line(from.line);
    let (at, char) = text[from.byte..].char_indices().find(|(_, char)| {
        PAIRS
            .iter()
            .any(|(open, close)| char == open || char == close)
    })?;
    let place = Position::new(from.line, from.byte + at);
    let (open, close) = *PAIRS
        .iter()
        .find(|(open, close)| char == *open || char == *close)?;
    partner(buffer, place, (open, close), char == open)
}

/// The other bracket of a pair, from the one at `from`.
pub(super) fn partner(
    buffer: &Buffer,
    from: Position,
    (open, close): (char, char),
    forward: bool,
) -> Option<Position> {
    let mut walk = Walk::new(buffer, from, false);
    let mut depth = 0_usize;
    loop {
        match walk.element().and_then(|element| element.chars().next()) {
            Some(char) if char == (if forward { open } else { close }) => depth += 1,
            Some(char) if char == (if forward { close } else { open }) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(walk.at);
                }
            }
            _ => {}
        }
        let step = if forward { walk.forward() } else { walk.back() };
        if step == Step::Stuck {
            return None;
        }
    }
}

/// The place of a character in its line.
pub(super) fn find(
    line: &str,
    from: usize,
    find: Find,
    times: usize,
    again: bool,
) -> Option<usize> {
    let mut at = from;
    // What stands right beside was found the time before.
    let skips = again && find.till && times == 1;
    if skips {
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
            next + line.get(next..)?.find(find.char)?
        };
    }
    Some(match (find.till, find.back) {
        (false, _) => at,
        (true, true) => after(line, at),
        (true, false) => before(line, at),
    })
}

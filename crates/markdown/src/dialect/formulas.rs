//! Decides which dollars, `\(` and `\[` begin formulas. Shell text and prices have the same
//! characters, so unclear cases are shown as source.

use std::ops::Range;

use super::rules::NEUTRAL;
use super::survey::Survey;
use crate::optional::is_formula;
use osier_base::text::head_bytes;

/// Maximum bytes between `\(` and its end.
const NEAR: usize = 512;

pub(super) fn may_occur(source: &str) -> bool {
    source.contains('$') || source.contains("\\(") || source.contains("\\[")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `$`, `$$` or more.
    Dollars(usize),
    /// `\(` or `\[`.
    Open(u8),
    /// `\)` or `\]`.
    Close(u8),
}

/// A delimiter in plain text.
#[derive(Debug, Clone, Copy)]
struct Mark {
    at: usize,
    kind: Kind,
    /// The stretch of plain text that contains the mark.
    stretch: usize,
    in_cell: bool,
}

impl Mark {
    fn length(self) -> usize {
        match self.kind {
            Kind::Dollars(count) => count,
            Kind::Open(_) | Kind::Close(_) => 2,
        }
    }

    fn end(self) -> usize {
        self.at + self.length()
    }
}

/// Writes `$$` for the delimiters of formulas that Markdown does not know, and neutralizes
/// delimiters that are text.
pub(super) fn prepare(source: &str, survey: &Survey, links: &[Range<usize>], parsed: &mut [u8]) {
    let marks = marks(source, survey, links);
    let mut index = 0;
    while let Some(mark) = marks.get(index).copied() {
        let pair = partner(mark, &marks[index + 1..]);
        index += 1;
        match (mark.kind, pair) {
            (Kind::Dollars(_), Some((end, passed))) if is_dollar_pair(source, mark, end) => {
                index += passed;
            }
            (Kind::Dollars(count), _) => parsed[mark.at..mark.at + count].fill(NEUTRAL),
            (Kind::Open(_), Some((end, passed))) if is_bracket_pair(source, mark, end) => {
                parsed[mark.at..mark.end()].fill(b'$');
                parsed[end.at..end.end()].fill(b'$');
                index += passed;
            }
            (Kind::Open(_), end) if keeps_backslash(source, mark, end.map(|(end, _)| end)) => {
                parsed[mark.at] = NEUTRAL;
                if let Some((end, _)) = end {
                    parsed[end.at] = NEUTRAL;
                }
            }
            _ => {}
        }
    }
}

/// The delimiters in plain text outside of links.
fn marks(source: &str, survey: &Survey, links: &[Range<usize>]) -> Vec<Mark> {
    let bytes = source.as_bytes();
    let mut marks: Vec<Mark> = Vec::new();
    let mut links = links.iter().peekable();
    for plain in &survey.plain {
        for at in plain.range.clone() {
            let byte = bytes[at];
            if !matches!(byte, b'$' | b'(' | b')' | b'[' | b']') {
                continue;
            }
            while links.next_if(|link| link.end <= at).is_some() {}
            if links.peek().is_some_and(|link| link.contains(&at)) {
                continue;
            }
            let is_escaped = backslashes(&bytes[..at]) % 2 == 1;
            let kind = match byte {
                b'$' if is_escaped => continue,
                b'$' => Kind::Dollars(1),
                _ if !is_escaped => continue,
                b'(' | b'[' => Kind::Open(byte),
                b')' => Kind::Close(b'('),
                _ => Kind::Close(b'['),
            };
            let begins = at - usize::from(byte != b'$');
            match marks.last_mut() {
                Some(Mark {
                    kind: Kind::Dollars(count),
                    at: first,
                    ..
                }) if byte == b'$' && *first + *count == at => {
                    *count += 1;
                }
                _ => marks.push(Mark {
                    at: begins,
                    kind,
                    stretch: plain.stretch,
                    in_cell: plain.in_cell,
                }),
            }
        }
    }
    marks
}

fn backslashes(before: &[u8]) -> usize {
    before
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count()
}

/// The delimiter that can end the formula that `mark` begins, and how many of `marks` the formula
/// uses.
fn partner(mark: Mark, marks: &[Mark]) -> Option<(Mark, usize)> {
    let is_end = |end: &Mark| match (mark.kind, end.kind) {
        (Kind::Dollars(count @ (1 | 2)), Kind::Dollars(end)) => count == end,
        (Kind::Open(open), Kind::Close(close)) => open == close,
        _ => false,
    };
    // A formula contains no other delimiters.
    let found = match mark.kind {
        Kind::Dollars(_) => marks
            .iter()
            .position(|other| matches!(other.kind, Kind::Dollars(_)))?,
        _ => 0,
    };
    let end = marks.get(found).filter(|end| is_end(end))?;
    (end.stretch == mark.stretch).then_some((*end, found + 1))
}

/// Whether two dollars enclose a formula: by Pandoc's rules, and if no word, variable or path is
/// next to them.
fn is_dollar_pair(source: &str, open: Mark, close: Mark) -> bool {
    let inner = &source[open.end()..close.at];
    let before = source[..open.at].chars().next_back();
    let after = source[close.end()..].chars().next();
    let is_single = open.length() == 1;
    let is_spaced = inner.starts_with(char::is_whitespace) || inner.ends_with(char::is_whitespace);
    let is_shell_before = |char: char| char.is_alphanumeric() || "$\\})];=@#%&/_\"'".contains(char);
    let is_shell_after = |char: char| char.is_alphanumeric() || "$\\{([_=/\"'".contains(char);
    let touches_shell = before.is_some_and(is_shell_before) || after.is_some_and(is_shell_after);
    let is_open = is_single && is_spaced || touches_shell;
    !is_open && is_formula(inner)
}

fn is_bracket_pair(source: &str, open: Mark, close: Mark) -> bool {
    !is_glued(source, open) && is_formula(&source[open.end()..close.at])
}

/// Whether the character directly before the delimiter shows that this is no formula: `f\(x\)`,
/// `'\(a\)'`, `s/\(a\)/b/`.
fn is_glued(source: &str, open: Mark) -> bool {
    let before = source[..open.at].chars().next_back();
    before.is_some_and(|char| char.is_alphanumeric() || "'\"/_$=\\".contains(char))
}

/// Whether the backslash of `\(` is shown, although Markdown treats it as an escape: in patterns
/// and paths of a shell, and in a formula without its end.
fn keeps_backslash(source: &str, open: Mark, close: Option<Mark>) -> bool {
    if let Some(close) = close {
        let inner = &source[open.end()..close.at];
        return is_glued(source, open) || inner.contains("\\|") || inner.contains("\\+");
    }
    let near = head_bytes(&source[open.end()..], NEAR);
    let is_end = |char: &char| *char == '\n' || *char == '|' && open.in_cell;
    let mut line = near.chars().take_while(|char| !is_end(char));
    !line.any(|char| matches!(char, ')' | ']'))
}

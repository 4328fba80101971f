//! `:s`: every hit of a pattern becomes another text. One edit, however many lines it touches.

use std::ops::RangeInclusive;

use regex::Captures;

use super::super::TextArea;
use super::super::buffer::{Fragment, MARK, Position};
use super::super::undo::Kind;
use super::Modal;
use super::command::to_line;

/// A part of what is put in the place of a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// What a group has found; 0 is all of it.
    Group(usize),
    /// The case of the next character, and of all up to an end.
    Case(Case),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    UpperNext,
    LowerNext,
    Upper,
    Lower,
    End,
}

/// What is put in the place of a hit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Replacement(Vec<Piece>);

impl Replacement {
    /// Reads one as Vim does: `&`, `\1`, `\r`, `\u`, and `~` for the one before.
    pub(super) fn read(text: &str, before: Option<&Self>) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut literal = String::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            let piece = match char {
                '&' => Some(Piece::Group(0)),
                '~' => {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.extend(before.iter().flat_map(|before| before.0.clone()));
                    continue;
                }
                '\\' => match chars.next() {
                    Some(digit @ '0'..='9') => Some(Piece::Group(digit as usize - '0' as usize)),
                    Some('u') => Some(Piece::Case(Case::UpperNext)),
                    Some('l') => Some(Piece::Case(Case::LowerNext)),
                    Some('U') => Some(Piece::Case(Case::Upper)),
                    Some('L') => Some(Piece::Case(Case::Lower)),
                    Some('e' | 'E') => Some(Piece::Case(Case::End)),
                    Some('r' | 'n') => {
                        literal.push('\n');
                        None
                    }
                    Some('t') => {
                        literal.push('\t');
                        None
                    }
                    Some(other) => {
                        literal.push(other);
                        None
                    }
                    None => {
                        literal.push('\\');
                        None
                    }
                },
                char => {
                    literal.push(char);
                    None
                }
            };
            if let Some(piece) = piece {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(piece);
            }
        }
        pieces.push(Piece::Text(literal));
        Self(pieces)
    }

    /// The text for one hit.
    fn text(&self, hit: &Captures<'_>) -> String {
        let mut out = String::new();
        let (mut next, mut all) = (None, None);
        for piece in &self.0 {
            let text = match piece {
                Piece::Text(text) => text,
                Piece::Group(group) => hit.get(*group).map_or("", |found| found.as_str()),
                Piece::Case(Case::End) => {
                    (next, all) = (None, None);
                    continue;
                }
                Piece::Case(case @ (Case::UpperNext | Case::LowerNext)) => {
                    next = Some(*case);
                    continue;
                }
                Piece::Case(case) => {
                    all = Some(*case);
                    continue;
                }
            };
            for char in text.chars() {
                match next.take().or(all) {
                    Some(Case::UpperNext | Case::Upper) => out.extend(char.to_uppercase()),
                    Some(Case::LowerNext | Case::Lower) => out.extend(char.to_lowercase()),
                    _ => out.push(char),
                }
            }
        }
        out
    }
}

impl Modal {
    /// Does the last substitution in these lines; with `g` every hit of a line, else the first.
    pub(super) fn substitute(
        &mut self,
        area: &mut TextArea,
        lines: RangeInclusive<usize>,
        flags: &str,
    ) -> Result<(), &'static str> {
        let Some(substitution) = &mut self.substitution else {
            return Err("there is no substitution before this one");
        };
        let mut all = substitution.all && flags.contains('&');
        let mut only_counts = false;
        let mut silent = false;
        let mut pattern = substitution.pattern.clone();
        for flag in flags.chars() {
            match flag {
                'g' => all = !all,
                'n' => only_counts = true,
                'e' => silent = true,
                'i' | 'I' => {
                    let exact = flag == 'I';
                    let built = regex::RegexBuilder::new(pattern.as_str())
                        .case_insensitive(!exact)
                        .build();
                    pattern = built.map_err(|_| "that pattern is wrong")?;
                }
                '&' => {}
                _ => return Err("flags are `g`, `i`, `I`, `n`, `e` and `&`"),
            }
        }
        substitution.all = all;
        let with = substitution.with.clone();
        let mut found = Found::default();
        // Undone, the cursor goes to the first line that was changed.
        let mut hits = lines.filter(|line| pattern.is_match(area.line(*line)));
        let first = hits.next().unwrap_or(usize::MAX);
        let end = hits.next_back().unwrap_or(first);
        for line in first..=end.min(area.line_count() - 1) {
            if line > first {
                found.new.append(&Fragment::plain("\n"));
            }
            found.line(area, line, all, &pattern, &with);
        }
        if found.hits == 0 {
            return if silent { Ok(()) } else { Err("not found") };
        }
        let places = |count: usize, what: &str| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} {what}{plural}")
        };
        if only_counts {
            let text = places(found.hits, "hit");
            self.say(text, false);
            return Ok(());
        }
        let range = Position::new(first, 0)..Position::new(end, area.line(end).len());
        area.cursor = range.start;
        area.edit(range, found.new, Kind::Other);
        to_line(area, first + found.last);
        self.changed = true;
        if found.hits > 2 {
            let text = places(found.hits, "substitution");
            self.say(text, false);
        }
        Ok(())
    }
}

/// The lines as they become.
#[derive(Debug, Default)]
struct Found {
    new: Fragment,
    hits: usize,
    /// The line of the last hit, counted from the first of the new ones.
    last: usize,
}

impl Found {
    fn line(
        &mut self,
        area: &TextArea,
        line: usize,
        all: bool,
        pattern: &regex::Regex,
        with: &Replacement,
    ) {
        let text = area.line(line);
        let part = |from: usize, to: usize| {
            area.buffer
                .fragment(Position::new(line, from)..Position::new(line, to))
        };
        let mut from = 0;
        for hit in pattern.captures_iter(text) {
            let Some(whole) = hit.get(0) else { break };
            // A chip is not a part of a text.
            if whole.as_str().contains(MARK) {
                continue;
            }
            self.hits += 1;
            self.new.append(&part(from, whole.start()));
            self.new.append(&Fragment::plain(&with.text(&hit)));
            self.last = self.new.text.matches('\n').count();
            from = whole.end();
            if !all {
                break;
            }
        }
        self.new.append(&part(from, text.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_read_as_vim_does() {
        let pattern = regex::Regex::new("(a+)(b)").unwrap();
        let hit = pattern.captures("xaab").unwrap();
        let before = Replacement::read("old", None);
        let cases = [
            ("[&]", "[aab]"),
            ("\\&\\\\", "&\\"),
            ("\\2\\1", "baa"),
            ("\\u\\1-\\U&\\E-x", "Aa-AAB-x"),
            ("a\\rb\\t", "a\nb\t"),
            ("~!", "old!"),
        ];
        for (text, expected) in cases {
            let read = Replacement::read(text, Some(&before));
            assert_eq!(read.text(&hit), expected, "{text}");
        }
    }
}

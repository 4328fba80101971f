//! Search in the text: regular expressions, plain text while it is typed, and words.

use regex::{Regex, RegexBuilder};

use super::super::TextArea;
use super::super::buffer::Position;
use super::motion::{Span, Target};
use super::register::How;
use super::walk::{Class, after, before, class};
use super::{Awaiting, Modal};

/// What is searched.
#[derive(Debug, Clone, Default)]
enum Wanted {
    #[default]
    Nothing,
    Pattern(Regex),
    /// A whole word, in whatever case.
    Word(String),
}

/// What is searched, and which way.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    wanted: Wanted,
    back: bool,
}

impl Search {
    /// An empty pattern is the one before; an invalid one is plain text.
    pub(super) fn set(&mut self, pattern: &str, back: bool) {
        if !pattern.is_empty() {
            let regex = smart_case(pattern, pattern)
                .or_else(|| smart_case(&regex::escape(pattern), pattern));
            self.wanted = regex.map_or(Wanted::Nothing, Wanted::Pattern);
        }
        self.back = back;
    }

    fn set_plain(&mut self, text: &str, back: bool) {
        if !text.is_empty() {
            let regex = smart_case(&regex::escape(text), text);
            self.wanted = regex.map_or(Wanted::Nothing, Wanted::Pattern);
        }
        self.back = back;
    }

    /// The hits in a line as byte offsets; they may overlap.
    fn hits(&self, line: &str) -> Vec<usize> {
        let mut hits = Vec::new();
        match &self.wanted {
            Wanted::Nothing => {}
            Wanted::Pattern(pattern) => {
                let mut from = 0;
                while let Some(hit) = pattern.find_at(line, from) {
                    // Behind the last character there is nothing to stand on.
                    if hit.start() >= line.len() && !line.is_empty() {
                        break;
                    }
                    hits.push(hit.start());
                    from =
                        hit.start() + line[hit.start()..].chars().next().map_or(1, char::len_utf8);
                    if from > line.len() {
                        break;
                    }
                }
            }
            Wanted::Word(word) => {
                let same = |a: char, b: char| a == b || a.to_lowercase().eq(b.to_lowercase());
                let matches_at = |start: usize| {
                    let mut rest = line[start..].chars();
                    word.chars()
                        .all(|wanted| rest.next().is_some_and(|char| same(char, wanted)))
                };
                let starts = line.char_indices().map(|(start, _)| start);
                hits.extend(
                    starts.filter(|start| matches_at(*start) && is_word(line, *start, word.len())),
                );
            }
        }
        hits
    }

    /// The nearest hit that way, over the end and on from the start.
    pub(super) fn find(&self, area: &TextArea, from: Position, back: bool) -> Option<Position> {
        let count = area.line_count();
        for step in 0..=count {
            let line = if back {
                from.line + count - step % count
            } else {
                from.line + step
            } % count;
            let hits = self.hits(area.line(line));
            let passes = |byte: &usize| match step {
                0 if back => *byte < from.byte,
                0 => *byte > from.byte,
                step if step == count && back => *byte >= from.byte,
                step if step == count => *byte <= from.byte,
                _ => true,
            };
            let mut hits = hits.into_iter().filter(passes);
            let hit = if back { hits.next_back() } else { hits.next() };
            if let Some(byte) = hit {
                return Some(Position::new(line, byte));
            }
        }
        None
    }
}

/// Compiles `pattern`. Case matters only if `typed` contains an upper-case letter outside of an escape.
fn smart_case(pattern: &str, typed: &str) -> Option<Regex> {
    let mut escaped = false;
    let has_upper = typed.chars().any(|char| {
        let counts = char.is_uppercase() && !escaped;
        escaped = char == '\\' && !escaped;
        counts
    });
    RegexBuilder::new(pattern)
        .case_insensitive(!has_upper)
        .build()
        .ok()
}

fn is_word(line: &str, start: usize, length: usize) -> bool {
    let end = start + length;
    let is_word =
        |from: usize, to: usize| from < to && class(&line[from..to], false) == Class::Word;
    line.is_char_boundary(end)
        && !is_word(before(line, start), start)
        && !is_word(end, after(line, end))
}

impl Modal {
    pub(super) fn search_step(&mut self, area: &mut TextArea, reverse: bool) {
        let back = self.search.back != reverse;
        let mut at = Some(area.cursor);
        for _ in 0..self.total().unwrap_or(1) {
            at = at.and_then(|at| self.search.find(area, at, back));
        }
        let target = at.map(|at| Target {
            at: area.buffer.clamp(at),
            span: Span::Exclusive,
        });
        self.go(area, target, How::DeletedFar);
    }

    /// The word under the cursor, or the next one in the line.
    pub(super) fn search_word(&mut self, area: &mut TextArea, back: bool) {
        let line = area.line(area.cursor.line);
        let class_at = |byte: usize| class(&line[byte..after(line, byte)], false);
        let is_word = |byte: usize| {
            byte < line.len() && matches!(class_at(byte), Class::Word | Class::Script(_))
        };
        let mut start = area.cursor.byte;
        while start < line.len() && !is_word(start) {
            start = after(line, start);
        }
        let origin = start;
        let same = |byte: usize| is_word(byte) && class_at(byte) == class_at(origin);
        let mut end = start;
        while same(end) {
            end = after(line, end);
        }
        while start > 0 && same(before(line, start)) {
            start = before(line, start);
        }
        if start == end {
            return self.fail();
        }
        self.search = Search {
            wanted: Wanted::Word(line[start..end].to_owned()),
            back,
        };
        area.cursor.byte = start;
        self.search_step(area, false);
    }

    /// Goes along while a text is typed; from where the search began.
    pub(super) fn search_typed(
        &mut self,
        area: &mut TextArea,
        typed: String,
        back: bool,
        origin: Position,
    ) {
        // The text may be another since.
        let origin = area.buffer.clamp(origin);
        self.search.set_plain(&typed, back);
        if !typed.is_empty() {
            // The place itself may be a hit.
            let from = match origin.byte.checked_sub(1) {
                Some(_) if !back => {
                    Position::new(origin.line, before(area.line(origin.line), origin.byte))
                }
                _ => origin,
            };
            let here = self
                .search
                .hits(area.line(origin.line))
                .contains(&origin.byte);
            let hit = if here {
                Some(origin)
            } else {
                self.search.find(area, from, back)
            };
            if let Some(hit) = hit {
                area.cursor = area.buffer.clamp(hit);
            }
        }
        self.awaiting = Some(Awaiting::Typing {
            back,
            typed,
            origin,
        });
    }

    /// The next hit of what is being typed, or of what was typed before.
    pub(super) fn search_again(&mut self, area: &mut TextArea, back: bool) {
        if let Some(hit) = self.search.find(area, area.cursor, back) {
            area.cursor = area.buffer.clamp(hit);
        }
    }
}

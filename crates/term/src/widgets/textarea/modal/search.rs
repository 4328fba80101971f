//! Search with regular expressions, incremental search for plain text, and search for words.

use regex::{Regex, RegexBuilder};

use super::super::TextArea;
use super::super::buffer::Position;
use super::cluster::{Class, before, class_at, runs};
use super::motion::Target;
use super::register::StoreKind;
use super::{Input, Modal};

/// The last search.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    pattern: Option<Regex>,
    /// Only complete words match.
    word: bool,
    back: bool,
}

/// A search that is being typed.
#[derive(Debug, Clone)]
pub(super) struct SearchPrompt {
    pub(super) back: bool,
    pub(super) typed: String,
    /// Where an incremental search started. Incremental search moves the cursor during typing.
    pub(super) origin: Option<Position>,
}

/// Compiles a pattern. Case matters only if it has an upper-case letter outside of an escape.
fn compile(pattern: &str) -> Option<Regex> {
    let mut escaped = false;
    let has_upper = pattern.chars().any(|char| {
        let counts = char.is_uppercase() && !escaped;
        escaped = char == '\\' && !escaped;
        counts
    });
    let mut builder = RegexBuilder::new(pattern);
    builder.case_insensitive(!has_upper).build().ok()
}

impl Search {
    /// Sets the search; an empty text keeps the last pattern.
    fn set(&mut self, typed: &str, back: bool, is_plain: bool) {
        if !typed.is_empty() {
            let pattern = if is_plain { None } else { compile(typed) };
            // An invalid expression is searched as plain text.
            self.pattern = pattern.or_else(|| compile(&regex::escape(typed)));
            self.word = false;
        }
        self.back = back;
    }

    /// The starts of the matches in a line; matches may overlap.
    fn matches(&self, line: &str) -> Vec<usize> {
        let mut starts = Vec::new();
        let Some(pattern) = &self.pattern else {
            return starts;
        };
        let mut from = 0;
        while let Some(found) = pattern.find_at(line, from) {
            let start = found.start();
            // The cursor cannot be after the last character.
            if start >= line.len() && !line.is_empty() {
                break;
            }
            if !self.word || is_word(line, start, found.end()) {
                starts.push(start);
            }
            from = start + line[start..].chars().next().map_or(1, char::len_utf8);
            if from > line.len() {
                break;
            }
        }
        starts
    }

    /// The nearest match in a direction; the search wraps around.
    fn find(&self, area: &TextArea, from: Position, back: bool) -> Option<Position> {
        let count = area.line_count();
        (0..=count).find_map(|step| {
            let line = if back {
                from.line + count - step % count
            } else {
                from.line + step
            } % count;
            let passes = |byte: &usize| match step {
                0 if back => *byte < from.byte,
                0 => *byte > from.byte,
                step if step == count && back => *byte >= from.byte,
                step if step == count => *byte <= from.byte,
                _ => true,
            };
            let mut found = self.matches(area.line(line)).into_iter().filter(passes);
            let byte = if back {
                found.next_back()
            } else {
                found.next()
            };
            byte.map(|byte| Position::new(line, byte))
        })
    }
}

/// Whether a match is a complete word.
fn is_word(line: &str, start: usize, end: usize) -> bool {
    let is_letter = |byte: usize| class_at(line, byte, false) == Class::Word;
    (start == 0 || !is_letter(before(line, start))) && !is_letter(end)
}

impl Modal {
    /// Accepts the typed search, or removes its last character.
    pub fn search_key(&mut self, area: &mut TextArea, accept: bool) {
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        match prompt.origin {
            Some(_) if accept => self.recording.clear(),
            None if accept => {
                self.recording.push(Input::Char('\n'));
                self.search.set(&prompt.typed, prompt.back, false);
                self.search_step(area, false);
                self.settle(area);
            }
            origin => {
                if prompt.typed.pop().is_none() && origin.is_none() {
                    return self.cancel();
                }
                if let Some(origin) = origin {
                    area.set_cursor(origin);
                }
                self.update_prompt(area, prompt);
            }
        }
    }

    /// Cancels the typed search. An incremental search moves the cursor back to its start.
    pub fn leave_search(&mut self, area: &mut TextArea) {
        if let Some(origin) = self.prompt.take().and_then(|prompt| prompt.origin) {
            area.set_cursor(origin);
        }
        self.cancel();
    }

    /// Ends the typed search at the cursor.
    pub fn end_search(&mut self) {
        self.prompt = None;
        self.recording.clear();
    }

    /// Goes to the next match of an incremental search.
    pub fn find_more(&mut self, area: &mut TextArea, back: bool) {
        if let Some(prompt) = &mut self.prompt
            && prompt.origin.is_some()
        {
            if let Some(found) = self.search.find(area, area.cursor, back) {
                area.cursor = area.buffer.clamp(found);
            }
            prompt.back = back;
            prompt.origin = Some(area.cursor);
        }
    }

    /// Stores the typed search. An incremental search moves the cursor to the match.
    pub(super) fn update_prompt(&mut self, area: &mut TextArea, mut prompt: SearchPrompt) {
        if let Some(origin) = prompt.origin {
            // The text may have changed since.
            let origin = area.buffer.clamp(origin);
            prompt.origin = Some(origin);
            self.search.set(&prompt.typed, prompt.back, true);
            let matches = self.search.matches(area.line(origin.line));
            let found = if matches.contains(&origin.byte) {
                Some(origin)
            } else {
                self.search.find(area, origin, prompt.back)
            };
            if let Some(found) = found.filter(|_| !prompt.typed.is_empty()) {
                area.cursor = area.buffer.clamp(found);
            }
        }
        self.prompt = Some(prompt);
    }

    /// Goes to the next match, or applies the pending operator up to it.
    pub(super) fn search_step(&mut self, area: &mut TextArea, reverse: bool) {
        let back = self.search.back != reverse;
        let mut at = Some(area.cursor);
        for _ in 0..self.total().unwrap_or(1) {
            at = at.and_then(|at| self.search.find(area, at, back));
        }
        let target = at.map(|at| Target::exclusive(area.buffer.clamp(at)));
        self.go(area, target, StoreKind::DeletedByJump);
    }

    /// Searches for the word under the cursor, or for the next one in the line.
    pub(super) fn search_word(&mut self, area: &mut TextArea, back: bool) {
        let line = area.line(area.cursor.line);
        let word = runs(line, false).into_iter().find(|run| {
            let class = class_at(line, run.start, false);
            run.end > area.cursor.byte && matches!(class, Class::Word | Class::Script(_))
        });
        let Some(word) = word else {
            return self.cancel();
        };
        let pattern = format!("(?i){}", regex::escape(&line[word.start..word.end]));
        self.search = Search {
            pattern: Regex::new(&pattern).ok(),
            word: true,
            back,
        };
        area.cursor.byte = word.start;
        self.search_step(area, false);
    }
}

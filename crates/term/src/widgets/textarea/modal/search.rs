//! The last search: a regular expression, a plain text or a word. A match lies within a line.

use regex::{Regex, RegexBuilder};

use super::text::{Class, before, class};

#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    pattern: Option<Regex>,
    /// Only complete words match.
    word: bool,
    pub(super) back: bool,
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
    /// A search for complete words.
    pub(super) fn word(word: &str, back: bool) -> Self {
        let pattern = format!("(?i){}", regex::escape(word));
        let pattern = Regex::new(&pattern).ok();
        let word = true;
        Self {
            pattern,
            word,
            back,
        }
    }

    /// Sets the search; an empty text keeps the last pattern.
    pub(super) fn set(&mut self, typed: &str, back: bool, is_plain: bool) {
        if !typed.is_empty() {
            let pattern = if is_plain { None } else { compile(typed) };
            // An invalid expression is searched as plain text.
            self.pattern = pattern.or_else(|| compile(&regex::escape(typed)));
            self.word = false;
        }
        self.back = back;
    }

    /// The starts of the matches in a text, in order; matches may overlap.
    fn matches(&self, text: &str) -> Vec<usize> {
        let mut starts = Vec::new();
        let Some(pattern) = &self.pattern else {
            return starts;
        };
        let mut offset = 0;
        for line in text.split('\n') {
            let mut from = 0;
            while let Some(found) = pattern.find_at(line, from) {
                let (start, end) = (found.start(), found.end());
                // The cursor cannot be after the last character.
                if start >= line.len() && !line.is_empty() {
                    break;
                }
                if !self.word || is_word(line, start, end) {
                    starts.push(offset + start);
                }
                from = start + line[start..].chars().next().map_or(1, char::len_utf8);
                if from > line.len() {
                    break;
                }
            }
            offset += line.len() + 1;
        }
        starts
    }

    /// The nearest match in a direction, for an inclusive search also at `from`; the search wraps
    /// around.
    pub(super) fn find(
        &self,
        text: &str,
        from: usize,
        back: bool,
        inclusive: bool,
    ) -> Option<usize> {
        let starts = self.matches(text);
        if inclusive && starts.contains(&from) {
            return Some(from);
        }
        let found = if back {
            starts
                .iter()
                .rfind(|start| **start < from)
                .or(starts.last())
        } else {
            starts
                .iter()
                .find(|start| **start > from)
                .or(starts.first())
        };
        found.copied()
    }
}

/// Whether a match is a complete word.
fn is_word(line: &str, start: usize, end: usize) -> bool {
    let is_letter = |at: usize| class(line, at, false) == Class::Word;
    (start == 0 || !is_letter(before(line, start))) && !is_letter(end)
}

//! Finds the places of one edit. A text is searched for exactly, then with line endings ignored, then normalised
//! (`View::normalized`), then line by line with whitespace ignored (`lines`). If nothing fits, what models add is undone
//! (`spelling`). The first of these ways that finds anything decides, and more than one place is an error.

use std::ops::Range;

use super::edges;
use super::lines::{self, Lines};
use super::spelling;
use super::splice::{Endings, Level, Place, Seen, hunks, splice};
use super::types::{Edit, MatchError};
use crate::edit::view::View;
use crate::files::line_window::count_newlines;

/// Maximum number of occurrences that are counted for an ambiguous text.
const MAX_PLACES: usize = 20;

/// Keeps the places that the edit with this index can mean. The places are ranges of bytes of the original.
pub(super) type Choose<'c> = dyn Fn(usize, &mut Vec<Range<usize>>) + 'c;

/// Removes what `choose` does not keep from `found`.
pub(super) fn chosen<T>(
    choose: Option<&Choose<'_>>,
    index: usize,
    found: &mut Vec<T>,
    range: impl Fn(&T) -> &Range<usize>,
) {
    if let Some(choose) = choose.filter(|_| !found.is_empty()) {
        let mut kept: Vec<Range<usize>> = found.iter().map(|one| range(one).clone()).collect();
        choose(index, &mut kept);
        found.retain(|one| kept.contains(range(one)));
    }
}

/// A text in which edits are searched for. Its views are created on demand.
pub(super) struct Search<'a> {
    original: &'a str,
    choose: Option<&'a Choose<'a>>,
    exact: View<'a>,
    line_endings: Option<View<'a>>,
    normalized: Option<View<'a>>,
    /// For each of `lines::RULES`.
    lines: [Option<Lines<'a>>; lines::RULES.len()],
}

/// The places where an edit applies.
pub(super) struct Found {
    /// The edit as it was meant.
    pub(super) edit: Edit,
    /// Never empty.
    pub(super) places: Vec<Place>,
    /// The texts are the same, except for line endings.
    pub(super) exact: bool,
    pub(super) notes: Vec<&'static str>,
}

/// The places of a complete old text.
pub(super) struct Whole {
    pub(super) places: Vec<Place>,
    way: Way,
    /// The correction at an edge.
    edge: Option<&'static str>,
}

impl<'a> Search<'a> {
    pub(super) fn new(original: &'a str, choose: Option<&'a Choose<'a>>) -> Self {
        Self {
            original,
            choose,
            exact: View::exact(original),
            line_endings: None,
            normalized: None,
            lines: [const { None }; lines::RULES.len()],
        }
    }

    /// The places of one edit, by the first way that finds any; `None` if it fits nowhere.
    pub(super) fn find(&mut self, edit: &Edit, index: usize) -> Result<Option<Found>, MatchError> {
        for meant in spelling::meanings(edit) {
            let found = self.whole(&meant.edit, index);
            let Some(Whole { places, way, edge }) = found else {
                continue;
            };
            if places.len() > 1 && !edit.replace_all {
                return Err(self.ambiguous(index, &places));
            }
            let mut notes = meant.notes;
            let exact = notes.is_empty() && way == Way::Same && edge.is_none();
            notes.extend(way.note());
            notes.extend(edge);
            return Ok(Some(Found {
                edit: meant.edit,
                places,
                exact,
                notes,
            }));
        }
        Ok(None)
    }

    /// The places of the complete old text, and how they were found.
    pub(super) fn whole(&mut self, edit: &Edit, index: usize) -> Option<Whole> {
        for level in [Level::Exact, Level::LineEndings, Level::Normalized] {
            let pattern = self.prepare(level, &edit.old);
            let mut seen = self.seen(level, &pattern, edit);
            chosen(self.choose, index, &mut seen, |seen| &seen.original);
            if seen.is_empty() {
                continue;
            }
            let mut plain = self.plain(level, edit, &seen);
            let corrected = match &seen[..] {
                [only] => edges::corrected(self.original, &only.original, &plain),
                _ => None,
            };
            let edge = corrected.map(|(new, note)| {
                plain.new = new;
                note
            });
            let hunks = hunks(&plain, &pattern.text);
            let endings = Endings::of(edit, level, self.original.contains("\r\n"));
            let view = self.view(level);
            let place = |seen: &Seen| Place {
                matched: seen.original.clone(),
                splices: splice(self.original, view, seen, &hunks, endings),
            };
            let way = if level == Level::Normalized {
                Way::Normalized
            } else {
                Way::Same
            };
            return Some(Whole {
                places: seen.iter().map(place).collect(),
                way,
                edge,
            });
        }
        let limit = if edit.replace_all || self.choose.is_some() {
            usize::MAX
        } else {
            MAX_PLACES + 1
        };
        for (rule, lines) in lines::RULES.iter().zip(&mut self.lines) {
            let lines = lines.get_or_insert_with(|| Lines::new(self.original, rule));
            let mut places = lines.places(edit, limit);
            // A place without known changes makes the text ambiguous and cannot be chosen.
            if places.iter().all(|place| !place.splices.is_empty()) {
                chosen(self.choose, index, &mut places, |place| &place.matched);
            }
            if !places.is_empty() {
                return Some(Whole {
                    places,
                    way: Way::Lines(rule.note),
                    edge: None,
                });
            }
        }
        None
    }

    /// `edit` without typographic characters and trailing whitespace in its new text, if the file has neither at the
    /// places where the old text has them.
    fn plain(&self, level: Level, edit: &Edit, seen: &[Seen]) -> Edit {
        let mut edit = edit.clone();
        let old = View::normalized(&edit.old).text;
        let is_plain = |seen: &Seen| self.original[seen.original.clone()].lines().eq(old.lines());
        if level == Level::Normalized && seen.iter().all(is_plain) {
            edit.new = View::normalized(&edit.new).text.into_owned();
        }
        edit
    }

    fn view(&self, level: Level) -> &View<'a> {
        let view = match level {
            Level::Exact => None,
            Level::LineEndings => self.line_endings.as_ref(),
            Level::Normalized => self.normalized.as_ref(),
        };
        view.unwrap_or(&self.exact)
    }

    fn prepare(&mut self, level: Level, old: &str) -> Pattern {
        let original = self.original;
        match level {
            Level::Exact => {}
            Level::LineEndings => {
                self.line_endings
                    .get_or_insert_with(|| View::line_endings(original));
            }
            Level::Normalized => {
                self.normalized
                    .get_or_insert_with(|| View::normalized(original));
            }
        }
        Pattern::new(level, old)
    }

    /// The matches of `pattern`: for `replace_all`, all that do not overlap; otherwise all up to a limit,
    /// including overlapping ones, which make the text ambiguous.
    fn seen(&self, level: Level, pattern: &Pattern, edit: &Edit) -> Vec<Seen> {
        let view = self.view(level);
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(offset) = find(&view.text, &pattern.text, from) {
            let range = offset..offset + pattern.text.len();
            let fits = !pattern.ends_line || ends_line(&view.text, range.end);
            let original = view.original(&range).filter(|_| fits);
            from = match original {
                Some(original) => {
                    let next = if edit.replace_all {
                        range.end
                    } else {
                        next_char(&view.text, offset)
                    };
                    places.push(Seen {
                        view: range,
                        original,
                    });
                    next
                }
                None => next_char(&view.text, offset),
            };
            if !edit.replace_all && self.choose.is_none() && places.len() > MAX_PLACES {
                break;
            }
        }
        places
    }

    fn ambiguous(&self, index: usize, places: &[Place]) -> MatchError {
        let lines = places
            .iter()
            .take(MAX_PLACES)
            .map(|place| line_of(self.original, place.matched.start));
        MatchError::Ambiguous {
            index,
            lines: lines.collect(),
            more: places.len() > MAX_PLACES,
        }
    }
}

/// How a text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Exactly, or except for line endings.
    Same,
    Normalized,
    /// Line by line.
    Lines(&'static str),
}

impl Way {
    fn note(self) -> Option<&'static str> {
        match self {
            Self::Same => None,
            Self::Normalized => Some("whitespace, quotes and dashes were normalised"),
            Self::Lines(note) => Some(note),
        }
    }
}

/// The text to search for in a view.
struct Pattern {
    text: String,
    /// Trailing whitespace was removed, so the match must reach the end of its line.
    ends_line: bool,
}

impl Pattern {
    fn new(level: Level, old: &str) -> Self {
        let text = match level {
            Level::Exact => old.to_owned(),
            Level::LineEndings => old.replace("\r\n", "\n"),
            Level::Normalized => View::normalized(old).text.into_owned(),
        };
        let last = old.rsplit('\n').next().unwrap_or_default();
        Self {
            text,
            ends_line: level == Level::Normalized && last.trim_end() != last,
        }
    }
}

fn find(text: &str, pattern: &str, from: usize) -> Option<usize> {
    if pattern.is_empty() {
        return None;
    }
    text.get(from..)?.find(pattern).map(|offset| from + offset)
}

fn next_char(text: &str, offset: usize) -> usize {
    text.ceil_char_boundary(offset + 1)
}

fn ends_line(text: &str, end: usize) -> bool {
    matches!(text.as_bytes().get(end), None | Some(b'\n'))
}

/// The line number, from 1, of the byte at `offset`.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + count_newlines(&text.as_bytes()[..offset]) as usize
}

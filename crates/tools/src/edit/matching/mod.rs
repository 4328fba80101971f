//! Finds where an edit applies, and computes the new text.
//!
//! Edits are matched against the original, so their order does not matter; only when that fails are they applied one
//! after another (`sequence`). A text is searched for exactly, then with line endings ignored, then normalised
//! (`View::normalized`), then line by line with whitespace ignored (`lines`). If nothing fits, what models add is undone
//! (`spelling`), and last a text with a gap is matched in parts (`segments`). The first of these ways that finds
//! anything decides, and more than one place is an error. Only lines that differ between the old and the new text are
//! rewritten: all other bytes of the file stay, and new lines use the line ending of the surrounding lines.

mod choose;
mod edges;
mod indentation;
mod lines;
mod segments;
mod sequence;
mod spelling;

use osier_base::sort;
use std::ops::Range;

use osier_base::diff::{DiffTag, compare};

pub(crate) use self::choose::apply_where;
use self::choose::{Choose, chosen};
use self::lines::{Lines, Place};
use super::view::View;
use crate::files::line_window::count_newlines;

/// Maximum number of occurrences that are counted for an ambiguous text.
const MAX_PLACES: usize = 20;

/// Replace `old` by `new`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) replace_all: bool,
}

/// The result of all edits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// One entry per edit, in order.
    pub(crate) matches: Vec<Match>,
}

/// What one edit matched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) count: usize,
    /// The text of the first match, when it differs from the searched text.
    pub(crate) actual: Option<String>,
    /// What was changed in the edit, or ignored, to make it fit.
    pub(crate) notes: Vec<&'static str>,
}

/// Why no edit was applied. `index` is the index of the edit, from 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MatchError {
    EmptyOld {
        index: usize,
    },
    NoChange {
        index: usize,
    },
    NotFound {
        index: usize,
    },
    /// Line numbers of the matches, from 1; `more` when there are others.
    Ambiguous {
        index: usize,
        lines: Vec<usize>,
        more: bool,
    },
    Overlap {
        first: usize,
        second: usize,
    },
    /// The text does not match exactly, which is required of a file that was not read.
    NotExact {
        index: usize,
    },
    /// The new text has a line such as `// ... existing code ...` in place of code.
    Placeholder {
        index: usize,
        line: String,
    },
}

/// How texts are compared, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Exact,
    LineEndings,
    Normalized,
}

/// A replacement of a byte range of the original.
#[derive(Debug)]
struct Splice {
    range: Range<usize>,
    text: String,
}

/// What an edit changes at one of its matches.
#[derive(Debug)]
struct Change {
    matched: Range<usize>,
    /// Index of the edit.
    edit: usize,
    /// In order, within `matched`.
    splices: Vec<Splice>,
}

/// Applies all `edits` to `original`, or none. Without `allow_inexact`, a text must match exactly, except for line
/// endings.
pub(crate) fn apply(
    original: &str,
    edits: &[Edit],
    allow_inexact: bool,
) -> Result<Applied, MatchError> {
    let applied = apply_together(original, edits, allow_inexact, None);
    match applied {
        Err(error @ (MatchError::NotFound { .. } | MatchError::Overlap { .. }))
            if edits.len() > 1 =>
        {
            sequence::apply(original, edits, allow_inexact).ok_or(error)
        }
        applied => applied,
    }
}

/// Applies all `edits` to the original.
fn apply_together(
    original: &str,
    edits: &[Edit],
    allow_inexact: bool,
    choose: Option<&Choose<'_>>,
) -> Result<Applied, MatchError> {
    let mut search = Search::new(original, choose);
    let mut changes = Vec::new();
    let mut matches = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        if edit.old.is_empty() {
            return Err(MatchError::EmptyOld { index });
        }
        if edit.old == edit.new {
            return Err(MatchError::NoChange { index });
        }
        let found = search.find(edit, index)?;
        if !found.exact && !allow_inexact {
            return Err(MatchError::NotExact { index });
        }
        if let Some(line) = segments::placeholder(original, &found.edit) {
            return Err(MatchError::Placeholder { index, line });
        }
        let actual = &original[found.places[0].matched.clone()];
        matches.push(Match {
            count: found.places.len(),
            actual: (!found.exact).then(|| actual.to_owned()),
            notes: found.notes,
        });
        changes.extend(found.places.into_iter().map(|place| Change {
            matched: place.matched,
            edit: index,
            splices: place.splices,
        }));
    }
    // By match, because what one edit adds at its end is at the same position as what another one replaces.
    sort::by_key(&mut changes, |change| change.matched.start);
    check_overlap(&changes)?;
    Ok(Applied {
        text: spliced(original, &changes),
        matches,
    })
}

/// A text in which edits are searched for. Its views are created on demand.
struct Search<'a> {
    original: &'a str,
    choose: Option<&'a Choose<'a>>,
    exact: View<'a>,
    line_endings: Option<View<'a>>,
    normalized: Option<View<'a>>,
    /// For each of `lines::RULES`.
    lines: [Option<Lines<'a>>; lines::RULES.len()],
}

/// The places where an edit applies.
struct Found {
    /// The edit as it was meant.
    edit: Edit,
    /// Never empty.
    places: Vec<Place>,
    /// The same, except for line endings.
    exact: bool,
    notes: Vec<&'static str>,
}

/// The places of a complete old text.
struct Whole {
    places: Vec<Place>,
    way: Way,
    /// What was corrected at an edge.
    edge: Option<&'static str>,
}

/// A match in a view.
struct Seen {
    view: Range<usize>,
    original: Range<usize>,
}

impl<'a> Search<'a> {
    fn new(original: &'a str, choose: Option<&'a Choose<'a>>) -> Self {
        Self {
            original,
            choose,
            exact: View::exact(original),
            line_endings: None,
            normalized: None,
            lines: [const { None }; lines::RULES.len()],
        }
    }

    /// The places of one edit, by the first way that finds any.
    fn find(&mut self, edit: &Edit, index: usize) -> Result<Found, MatchError> {
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
            return Ok(Found {
                edit: meant.edit,
                places,
                exact,
                notes,
            });
        }
        let place = match self.choose {
            None => segments::place(self.original, edit),
            Some(_) => None,
        };
        let place = place.ok_or(MatchError::NotFound { index })?;
        let edit = Edit::default();
        let notes = vec![segments::NOTE];
        Ok(Found {
            edit,
            places: vec![place],
            exact: false,
            notes,
        })
    }

    /// The places of the complete old text, and how they were found.
    fn whole(&mut self, edit: &Edit, index: usize) -> Option<Whole> {
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

    /// `edit` without typographic characters and trailing whitespace in its new text, if the file has none where the
    /// old text has them.
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

/// Lines of the pattern that are replaced.
struct Hunk {
    /// Byte range in the pattern.
    pattern: Range<usize>,
    new: String,
}

/// The differing lines between the old and the new text of an edit. The pattern has the lines of the old
/// text, as the view represents them.
fn hunks(edit: &Edit, pattern: &str) -> Vec<Hunk> {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (old, new) = if pattern == edit.old {
        (edit.old.clone(), edit.new.clone())
    } else {
        (plain(&edit.old), plain(&edit.new))
    };
    let line_starts: Vec<usize> = pattern
        .split_inclusive('\n')
        .scan(0, |start, line| {
            let this = *start;
            *start += line.len();
            Some(this)
        })
        .collect();
    let start_of = |line: usize| line_starts.get(line).copied().unwrap_or(pattern.len());
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    compare(&old_lines, &new_lines, None)
        .iter()
        .filter(|operation| operation.tag() != DiffTag::Equal)
        .map(|operation| {
            let lines = operation.old_range();
            Hunk {
                pattern: start_of(lines.start)..start_of(lines.end),
                new: new_lines[operation.new_range()].concat(),
            }
        })
        .collect()
}

/// The replacements of one match. New lines use the surrounding line ending if `endings` says so.
fn splice(
    original: &str,
    view: &View<'_>,
    place: &Seen,
    hunks: &[Hunk],
    endings: Endings,
) -> Vec<Splice> {
    let one = |hunk: &Hunk| {
        let seen = place.view.start + hunk.pattern.start..place.view.start + hunk.pattern.end;
        let range = view.original(&seen)?;
        // Hidden whitespace before or after the match is not part of it.
        let range = range.start.max(place.original.start)..range.end.min(place.original.end);
        let text = match endings {
            Endings::AsGiven => hunk.new.clone(),
            Endings::Local => with_local_ending(original, range.start, &hunk.new),
        };
        Some(Splice { range, text })
    };
    let splices: Option<Vec<Splice>> = hunks.iter().map(one).collect();
    splices.unwrap_or_default()
}

/// The line endings of new text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endings {
    AsGiven,
    /// The ending of the line at the insertion point.
    Local,
}

impl Endings {
    /// If the model wrote carriage returns and the file has them, the model's line endings are used. A file
    /// without any has nothing to preserve.
    fn of(edit: &Edit, level: Level, has_crlf: bool) -> Self {
        if !has_crlf || (level == Level::Exact && edit.old.contains('\r')) {
            Self::AsGiven
        } else {
            Self::Local
        }
    }
}

/// `new` with the line ending at `offset` of the original.
fn with_local_ending(original: &str, offset: usize, new: &str) -> String {
    if !new.contains('\n') {
        return new.to_owned();
    }
    let plain = new.replace("\r\n", "\n");
    let here = original[offset..].find('\n').map(|found| offset + found);
    let newline = here.or_else(|| original[..offset].rfind('\n'));
    if newline.is_some_and(|newline| original[..newline].ends_with('\r')) {
        plain.replace('\n', "\r\n")
    } else {
        plain
    }
}

/// `changes` are sorted.
fn check_overlap(changes: &[Change]) -> Result<(), MatchError> {
    for pair in changes.windows(2) {
        let (left, right) = (&pair[0], &pair[1]);
        if right.matched.start < left.matched.end {
            return Err(MatchError::Overlap {
                first: left.edit.min(right.edit),
                second: left.edit.max(right.edit),
            });
        }
    }
    Ok(())
}

/// `changes` are sorted and do not overlap.
fn spliced(original: &str, changes: &[Change]) -> String {
    let mut text = String::with_capacity(original.len());
    let mut done = 0;
    for splice in changes.iter().flat_map(|change| &change.splices) {
        text.push_str(&original[done..splice.range.start]);
        text.push_str(&splice.text);
        done = splice.range.end;
    }
    text.push_str(&original[done..]);
    text
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unseen;

//! Replacements of parts of a text. Only lines that differ are replaced, with the line ending of the lines around them.

use std::ops::Range;

use osier_base::diff::{DiffTag, compare};

use super::types::Edit;
use crate::edit::view::View;

/// How texts are compared, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Exact,
    LineEndings,
    Normalized,
}

/// A replacement of a byte range of the original.
#[derive(Debug)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// A place where an edit fits.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) matched: Range<usize>,
    pub(super) splices: Vec<Splice>,
}

/// A match in a view.
pub(super) struct Seen {
    pub(super) view: Range<usize>,
    pub(super) original: Range<usize>,
}

/// Lines of the pattern that are replaced.
pub(super) struct Hunk {
    /// Byte range in the pattern.
    pattern: Range<usize>,
    new: String,
}

/// The differing lines between the old and the new text of an edit. The pattern has the lines of the old
/// text, as the view represents them.
pub(super) fn hunks(edit: &Edit, pattern: &str) -> Vec<Hunk> {
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
pub(super) fn splice(
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
pub(super) enum Endings {
    AsGiven,
    /// The ending of the line at the insertion point.
    Local,
}

impl Endings {
    /// If the model wrote carriage returns and the file has them, the model's line endings are used. A file
    /// without any has nothing to preserve.
    pub(super) fn of(edit: &Edit, level: Level, has_crlf: bool) -> Self {
        if !has_crlf || (level == Level::Exact && edit.old.contains('\r')) {
            Self::AsGiven
        } else {
            Self::Local
        }
    }
}

/// `new` with the line ending at `offset` of the original.
pub(super) fn with_local_ending(original: &str, offset: usize, new: &str) -> String {
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

//! Applies edits to the same text: all of them, or none.

use std::ops::Range;

use osier_base::sort;

use super::search::{Choose, Search};
use super::splice::Splice;
use super::types::{Applied, Edit, Match, MatchError};
use super::{comments, segments};

/// The change of an edit at one of its matches.
#[derive(Debug)]
struct Change {
    matched: Range<usize>,
    /// Index of the edit.
    edit: usize,
    /// In order, within `matched`.
    splices: Vec<Splice>,
}

/// Applies all `edits` to the original.
pub(super) fn apply_together(
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
        let found = match search.find(edit, index)? {
            Some(found) => found,
            None if choose.is_none() => {
                let found = segments::find(original, edit);
                let found = found.or_else(|| comments::find(original, edit));
                found.ok_or(MatchError::NotFound { index })?
            }
            None => return Err(MatchError::NotFound { index }),
        };
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
    // By match, because text that one edit adds at its end has the same position as text that another edit replaces.
    sort::by_key(&mut changes, |change| change.matched.start);
    check_overlap(&changes)?;
    Ok(Applied {
        text: spliced(original, &changes),
        matches,
    })
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

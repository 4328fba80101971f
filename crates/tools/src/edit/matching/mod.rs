//! Finds where edits apply, and computes the new text.
//!
//! Edits are matched against the original, so their order does not matter (`together`); only when
//! that fails are they applied one after another (`sequence`). `search` finds the places of one
//! edit. If it finds none, a text with a gap is matched in parts (`segments`), and a text with a
//! wrong word in a comment without this word (`comments`). Only lines that differ between the old
//! and the new text are rewritten (`splice`): all other bytes of the file stay, and new lines use
//! the line ending of the surrounding lines.

mod comments;
mod edges;
mod indentation;
mod lines;
mod search;
mod segments;
mod sequence;
mod spelling;
mod splice;
mod together;
mod types;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub(crate) use self::types::{Applied, Edit, Match, MatchError};

/// Applies all `edits` to `original`, or none. Without `allow_inexact`, a text must match exactly, except for line
/// endings.
pub(crate) fn apply(
    original: &str,
    edits: &[Edit],
    allow_inexact: bool,
) -> Result<Applied, MatchError> {
    let applied = together::apply_together(original, edits, allow_inexact, None);
    match applied {
        Err(error @ (MatchError::NotFound { .. } | MatchError::Overlap { .. }))
            if edits.len() > 1 =>
        {
            sequence::apply(original, edits, allow_inexact).ok_or(error)
        }
        applied => applied,
    }
}

/// Like [`apply()`], where `choose` keeps the places that the edit with an index can mean, of ranges of bytes of the original.
/// All edits refer to the original.
pub(crate) fn apply_where(
    original: &str,
    edits: &[Edit],
    allow_inexact: bool,
    choose: &dyn Fn(usize, &mut Vec<Range<usize>>),
) -> Result<Applied, MatchError> {
    together::apply_together(original, edits, allow_inexact, Some(choose))
}

//! Chooses among several places of an edit by what is known besides its texts, as the headers of a patch.

use std::ops::Range;

use super::{Applied, Edit, MatchError, apply_together};

/// Like [`apply()`], where `choose` keeps the places that an edit can mean. All edits refer to the original.
pub(crate) fn apply_where(
    original: &str,
    edits: &[Edit],
    allow_inexact: bool,
    choose: &Choose<'_>,
) -> Result<Applied, MatchError> {
    apply_together(original, edits, allow_inexact, Some(choose))
}

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

//! Invariants that hold for every edit, for fuzzing.

use super::closest::closest;
use super::matching::{Applied, Edit, MatchError, apply};
use crate::files::diff::unified;
use crate::testing::patched;

/// Separates the original, and the old and new text of each edit.
const SEPARATOR: &str = "\n=====\n";

/// A file and edits of it.
pub fn patch(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split(SEPARATOR);
    let original = parts.next().unwrap_or_default();
    let texts: Vec<&str> = parts.collect();
    for replace_all in [false, true] {
        let edits: Vec<Edit> = texts
            .chunks_exact(2)
            .map(|pair| Edit {
                old: pair[0].to_owned(),
                new: pair[1].to_owned(),
                replace_all,
            })
            .collect();
        for edit in &edits {
            check_single(original, edit);
            closest(original, &edit.old);
        }
        check_all(original, &edits);
    }
}

/// Edits change what they match and nothing else.
fn check_single(original: &str, edit: &Edit) {
    let edits = std::slice::from_ref(edit);
    let exact = apply(original, edits, false);
    let count = original.matches(&edit.old).count();
    match &exact {
        Ok(applied) => {
            // A newline is replaced by the line ending of its surroundings.
            let has_returns = [original, &edit.old, &edit.new]
                .iter()
                .any(|text| text.contains('\r'));
            if !has_returns {
                let expected = original.replace(&edit.old, &edit.new);
                assert_eq!(applied.text, expected, "{edit:?}");
                assert_eq!(applied.matches[0].count, count, "{edit:?}");
            }
            let normalized = apply(original, edits, true);
            assert_eq!(normalized.as_ref(), Ok(applied), "an exact match is used");
            check_diff(original, applied);
        }
        Err(MatchError::NotFound { .. }) => assert_eq!(count, 0, "{edit:?}"),
        // Also where only an edge of the new text does not fit.
        Err(MatchError::NotExact { .. }) => assert!(count < 2, "{edit:?}"),
        Err(MatchError::Ambiguous { lines, .. }) => {
            assert!(!edit.replace_all && lines.len() > 1, "{edit:?}");
            let last = original.split('\n').count();
            assert!(lines.iter().all(|line| (1..=last).contains(line)));
        }
        Err(MatchError::EmptyOld { .. }) => assert_eq!(edit.old, ""),
        Err(MatchError::NoChange { .. }) => assert_eq!(edit.old, edit.new),
        Err(MatchError::Placeholder { line, .. }) => assert!(edit.new.contains(line), "{edit:?}"),
        Err(MatchError::Overlap { .. }) => unreachable!("one edit does not overlap"),
    }
    if let Ok(applied) = apply(original, edits, true) {
        check_surroundings(original, &applied);
        check_diff(original, &applied);
    }
}

/// All bytes before and after a single match stay, also where only the normalised text matched.
fn check_surroundings(original: &str, applied: &Applied) {
    let found = &applied.matches[0];
    let (Some(actual), 1) = (&found.actual, found.count) else {
        return;
    };
    // Also where occurrences overlap.
    let is_match = |at: usize| {
        original[at..]
            .strip_prefix(actual.as_str())
            .is_some_and(|after| {
                applied.text.starts_with(&original[..at]) && applied.text.ends_with(after)
            })
    };
    let mut places = original.char_indices().map(|(at, _)| at);
    assert!(places.any(is_match), "{applied:?} of {original:?}");
}

/// The order of edits does not matter, and they apply together or not at all.
fn check_all(original: &str, edits: &[Edit]) {
    let mut reversed = edits.to_vec();
    reversed.reverse();
    let backwards = apply(original, &reversed, true);
    match apply(original, edits, true) {
        Ok(applied) => {
            assert_eq!(applied.matches.len(), edits.len());
            assert!(backwards.is_ok_and(|backwards| backwards.text == applied.text));
        }
        Err(_) => assert!(backwards.is_err()),
    }
}

/// The diff of a question is what the edit does: applied to the original, it gives the new text.
fn check_diff(original: &str, applied: &Applied) {
    let diff = unified("file", Some(original), &applied.text);
    let is_cut = diff
        .text
        .lines()
        .next_back()
        .is_some_and(|line| line.starts_with("[diff cut: "));
    if is_cut {
        return;
    }
    assert_eq!(patched(original, &diff.text), applied.text);
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_edits_apply() {
        osier_testing::fuzz::run_cases("patch", super::patch);
    }
}

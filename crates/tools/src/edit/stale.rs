//! Edits of a file that another program changed after the model read it. An edit applies if its old text still matches
//! exactly, is as unique as before, and is in lines that did not change: then the edit still means the same.

use std::ops::Range;
use std::time::Duration;

use osier_base::diff::{DiffOp, DiffTag, compare};

use super::file::{EditError, Original, record, shown_hunks};
use super::matching::{Applied, Edit, apply};
use crate::files::diff::{FileDiff, unified};
use crate::files::ledger::Freshness;
use crate::workspace::Workspace;

/// Time for the comparison, which is less exact afterwards.
const COMPARISON: Duration = Duration::from_millis(500);
/// Changed ranges that an error names.
const NAMED: usize = 5;

/// The changed file and the text that the model knew, both after the edits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) applied: Applied,
    pub(crate) known: String,
}

/// Applies `edits` to `now`, which was `known` when the model read it.
///
/// # Errors
/// The lines of `now` that differ, if an edit touches them.
pub(crate) fn merge(known: &str, now: &str, edits: &[Edit]) -> Result<Merged, String> {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (then_text, now_text) = (plain(known), plain(now));
    let then_lines: Vec<&str> = then_text.split_inclusive('\n').collect();
    let now_lines: Vec<&str> = now_text.split_inclusive('\n').collect();
    let operations = compare(&then_lines, &now_lines, Some(COMPARISON));
    let unchanged = unchanged(&operations, &now_lines);
    let is_safe = |edit: &Edit| {
        let old = plain(&edit.old);
        let (then, here) = (places(&then_text, &old), places(&now_text, &old));
        let is_as_unique = then.len() == here.len() && (here.len() == 1 || edit.replace_all);
        let is_unchanged = |place: &Range<usize>| {
            let mut ranges = unchanged.iter();
            ranges.any(|range| range.start <= place.start && place.end <= range.end)
        };
        !here.is_empty() && is_as_unique && here.iter().all(is_unchanged)
    };
    let merged = || {
        let applied = apply(now, edits, false).ok()?;
        let known = apply(known, edits, false).ok()?.text;
        Some(Merged { applied, known })
    };
    let is_safe = edits.iter().all(is_safe);
    is_safe
        .then(merged)
        .flatten()
        .ok_or_else(|| changed_lines(&operations))
}

/// The planned new text of a file.
pub(crate) struct Planned {
    pub(crate) applied: Applied,
    /// The text that the model knew, after the edits, and what another program changed in it.
    stale: Option<(String, FileDiff)>,
}

impl Planned {
    pub(crate) fn new(applied: Applied) -> Self {
        Self {
            applied,
            stale: None,
        }
    }

    /// Plans edits of `original`: with `merge`, which gets the text that the model knew, if another program changed the
    /// file, and otherwise with `apply`, which gets whether the model knows the text.
    pub(crate) fn of(
        workspace: &Workspace,
        original: &Original,
        merge: impl FnOnce(&str) -> Result<Merged, EditError>,
        apply: impl FnOnce(bool) -> Result<Applied, EditError>,
    ) -> Result<Self, EditError> {
        let changed = || EditError::Changed {
            path: original.name.clone(),
        };
        match original.freshness {
            Freshness::OtherFile => Err(changed()),
            Freshness::Changed => {
                let known = workspace.ledger.known_text(&original.target);
                let known = known.ok_or_else(changed)?;
                let Merged {
                    applied,
                    known: after,
                } = merge(&known)?;
                let changes = unified(&original.name, Some(&known), &original.text);
                Ok(Self {
                    applied,
                    stale: Some((after, changes)),
                })
            }
            freshness => {
                let is_known = matches!(freshness, Freshness::Fresh | Freshness::ByCommand);
                apply(is_known).map(Self::new)
            }
        }
    }

    /// Records the text that the model knows after the change was written. Returns a note about the changes of the other
    /// program.
    pub(crate) fn record(&self, workspace: &Workspace, original: &Original) -> String {
        let text = &self.applied.text;
        let Some((known, changes)) = &self.stale else {
            // The model saw only the changes, so it still does not know the text.
            if !matches!(original.freshness, Freshness::Unread | Freshness::Changed) {
                record(workspace, original, text, false);
            }
            return String::new();
        };
        let (shown, is_complete) = shown_hunks(changes);
        // Changes that were left out stay unknown.
        let known = if is_complete { text } else { known };
        record(workspace, original, known, !is_complete);
        let (added, removed) = (changes.added, changes.removed);
        format!(
            "[another program had changed the file since you read it (+{added} -{removed} lines); its changes are kept:\n{shown}]\n"
        )
    }
}

/// The byte ranges of the lines that are the same.
fn unchanged(operations: &[DiffOp], lines: &[&str]) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    for line in lines {
        starts.push(starts[starts.len() - 1] + line.len());
    }
    let same = operations
        .iter()
        .filter(|operation| operation.tag() == DiffTag::Equal);
    same.map(|operation| {
        let lines = operation.new_range();
        starts[lines.start]..starts[lines.end]
    })
    .collect()
}

/// Where `part` occurs, also overlapping.
fn places(text: &str, part: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut from = 0;
    while !part.is_empty()
        && let Some(found) = text.get(from..).and_then(|rest| rest.find(part))
    {
        let start = from + found;
        places.push(start..start + part.len());
        from = text.ceil_char_boundary(start + 1);
    }
    places
}

/// The lines that changed, as `line 3` or `lines 3-5, 9`.
fn changed_lines(operations: &[DiffOp]) -> String {
    let changed = operations
        .iter()
        .filter(|operation| operation.tag() != DiffTag::Equal);
    let mut is_one = true;
    let mut ranges: Vec<String> = changed
        .map(|operation| {
            let lines = operation.new_range();
            let (first, last) = (lines.start + 1, lines.end.max(lines.start + 1));
            if first == last {
                return first.to_string();
            }
            is_one = false;
            format!("{first}-{last}")
        })
        .collect();
    is_one &= ranges.len() == 1;
    if ranges.len() > NAMED {
        ranges.truncate(NAMED);
        ranges.push("…".to_owned());
    }
    let noun = if is_one { "line" } else { "lines" };
    format!("{noun} {}", ranges.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "one\ntwo\nthree\nfour\nfive\n";

    fn merged(now: &str, old: &str, new: &str) -> Result<(String, String), String> {
        let edit = Edit {
            old: old.to_owned(),
            new: new.to_owned(),
            replace_all: false,
        };
        let merged = merge(KNOWN, now, &[edit])?;
        Ok((merged.applied.text, merged.known))
    }

    #[test]
    fn unchanged_lines_can_be_edited() {
        for (now, old, new, expected) in [
            (
                "one\n2\nthree\nfour\nfive\n",
                "four",
                "4",
                Ok("one\n2\nthree\n4\nfive\n"),
            ),
            (
                "zero\none\ntwo\nthree\nfour\nfive\n",
                "one\n",
                "1\n",
                Ok("zero\n1\ntwo\nthree\nfour\nfive\n"),
            ),
            (
                "one\r\ntwo\r\nthree\r\nfour\r\nsix\r\n",
                "two\nthree",
                "2\n3",
                Ok("one\r\n2\r\n3\r\nfour\r\nsix\r\n"),
            ),
            // In changed lines, or across them.
            ("one\n2\nthree\nfour\nfive\n", "two", "x", Err("line 2")),
            ("one\ntwo!\nthree\nfour\nfive\n", "two", "x", Err("line 2")),
            (
                "one\nnew\nnew\ntwo\nthree\nfour\n",
                "one\ntwo",
                "x",
                Err("lines 2-3, 7"),
            ),
            ("one\nthree\nfour\nfive\n", "one\nthree", "x", Err("line 2")),
            // The text occurs twice now, or did before: then it is not known which occurrence was meant.
            (
                "one\ntwo\nthree\nfour\nfive\ntwo\n",
                "two",
                "x",
                Err("line 6"),
            ),
            ("one\ntwo\nthree\nfour\n", "e", "x", Err("line 5")),
            // Not exact.
            ("one\ntwo\nthree\nfour\nsix\n", "  two", "x", Err("line 5")),
        ] {
            let found = merged(now, old, new).map(|merged| merged.0);
            assert_eq!(
                found,
                expected.map(str::to_owned).map_err(str::to_owned),
                "{now:?} {old:?}"
            );
        }
        let (_, known) = merged("one\n2\nthree\nfour\nfive\n", "four", "4").unwrap();
        assert_eq!(known, "one\ntwo\nthree\n4\nfive\n");
    }

    #[test]
    fn all_occurrences_must_be_unchanged() {
        let all = |old: &str| {
            let edit = Edit {
                old: old.to_owned(),
                new: "X".to_owned(),
                replace_all: true,
            };
            merge("a\nb\na\n", "a\nc\na\n", &[edit]).map(|merged| merged.applied.text)
        };
        assert_eq!(all("a"), Ok("X\nc\nX\n".to_owned()));
        assert_eq!(all("b"), Err("line 2".to_owned()));
    }
}

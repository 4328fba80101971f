//! Edits whose old text has a wrong word in a comment, while everything else in it matches at
//! exactly one place.

use super::search::{Found, Search};
use super::types::Edit;

/// The note for the model.
const NOTE: &str = "a comment differs from the file; everything else fits at one place only";

/// The marks at the start of comments.
const MARKS: [&str; 7] = ["//", "#", "--", "/*", "*", ";", "<!--"];

/// Lines of code that have to fit besides the comment.
const CODE: usize = 2;

/// The place of `edit` if one line of its old text is a comment with other words.
pub(super) fn find(original: &str, edit: &Edit) -> Option<Found> {
    if edit.replace_all {
        return None;
    }
    let old: Vec<&str> = edit.old.lines().collect();
    let code = old
        .iter()
        .filter(|line| !line.trim().is_empty() && comment(line).is_none());
    if code.count() < CODE {
        return None;
    }
    let lines: Vec<&str> = original.lines().collect();
    let mut places = lines
        .windows(old.len())
        .filter_map(|place| differing(&old, place));
    let (differs, None) = (places.next()?, places.next()) else {
        return None;
    };
    let (index, actual) = differs;
    let meant = Edit {
        old: replaced(&edit.old, old[index], actual)?,
        new: match edit.new.lines().filter(|line| *line == old[index]).count() {
            0 => edit.new.clone(),
            1 => replaced(&edit.new, old[index], actual)?,
            _ => return None,
        },
        replace_all: false,
    };
    let found = Search::new(original, None).find(&meant, 0).ok()??;
    (found.places.len() == 1).then(|| Found {
        exact: false,
        notes: vec![NOTE],
        ..found
    })
}

/// The index of the only line that differs, and this line in the file, if both are versions of the
/// same comment.
fn differing<'f>(old: &[&str], place: &[&'f str]) -> Option<(usize, &'f str)> {
    let mut differing = (0..old.len()).filter(|index| old[*index] != place[*index]);
    let (index, None) = (differing.next()?, differing.next()) else {
        return None;
    };
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let (asked, actual) = (old[index], place[index]);
    let (one, other) = (comment(asked)?, comment(actual)?);
    let is_same_kind = one.0 == other.0 && indentation(asked) == indentation(actual);
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let (one, other) = (words(one.1), words(other.1));
    let shared = one.iter().filter(|word| other.contains(word)).count();
    let is_same = shared > 0 && shared * 2 >= one.len().max(other.len());
    (is_same_kind && is_same).then_some((index, actual))
}

/// The mark of a line that is a comment, and its text.
fn comment(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim();
    let mark = MARKS.iter().find(|mark| line.starts_with(**mark))?;
    Some((mark, &line[mark.len()..]))
}

/// The text with another line in place of `line`, which it has once.
fn replaced(text: &str, line: &str, actual: &str) -> Option<String> {
    let mut lines = text.split('\n');
    (lines.by_ref().filter(|other| *other == line).count() == 1).then(|| {
        let lines = text.split('\n');
        let lines = lines.map(|other| if other == line { actual } else { other });
        lines.collect::<Vec<_>>().join("\n")
    })
}

//! Differences between two texts, by line or by word.
//!
//! Parts are compared as numbers, one for each distinct part. The algorithm is generic; compiled
//! for numbers alone, it is in the program once.

use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, IdentifyDistinct, Replace, myers};
pub use similar::{ChangeTag, DiffOp, DiffTag, group_diff_ops};

use crate::text::graphemes;

/// The operations that turn `old` into `new`, in order. After `timeout` the rest is compared less exactly.
///
/// ```
/// use osier_base::diff::{DiffOp, compare};
///
/// let operations = compare(&["a\n", "b\n"], &["a\n", "c\n"], None);
/// let same = DiffOp::Equal { old_index: 0, new_index: 0, len: 1 };
/// let other = DiffOp::Replace { old_index: 1, old_len: 1, new_index: 1, new_len: 1 };
/// assert_eq!(operations, [same, other]);
/// ```
pub fn compare(old: &[&str], new: &[&str], timeout: Option<Duration>) -> Vec<DiffOp> {
    let distinct = IdentifyDistinct::<u32>::new(old, 0..old.len(), new, 0..new.len());
    let (old_ids, new_ids) = (distinct.old_lookup(), distinct.new_lookup());
    let mut captured = Compact::new(Replace::new(Capture::new()), old_ids, new_ids);
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let Ok(()) = myers::diff_deadline(
        &mut captured,
        old_ids,
        distinct.old_range(),
        new_ids,
        distinct.new_range(),
        deadline,
    );
    captured.into_inner().into_inner().into_ops()
}

/// Two lines, compared word by word.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedWords<'a> {
    /// Every word, and which of the lines has it.
    pub words: Vec<(ChangeTag, &'a str)>,
    /// The share of words that both lines have: 0 to 1.
    pub similarity: f32,
}

/// Compares two lines word by word.
///
/// ```
/// use osier_base::diff::{ChangeTag, compare_words};
///
/// let compared = compare_words("a = 1", "a = 2");
/// assert_eq!(compared.words.last(), Some(&(ChangeTag::Insert, "2")));
/// assert_eq!(compared.similarity, 0.8);
/// ```
pub fn compare_words<'a>(old: &'a str, new: &'a str) -> ComparedWords<'a> {
    let (old, new) = (split_words(old), split_words(new));
    let operations = compare(&old, &new, None);
    let changes = operations
        .iter()
        .flat_map(|operation| operation.iter_changes(&old, &new));
    ComparedWords {
        words: changes
            .map(|change| (change.tag(), change.value()))
            .collect(),
        similarity: similar::diff_ratio(&operations, old.len(), new.len()),
    }
}

/// Splits a line into words, blanks and single punctuation marks.
fn split_words(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Class {
        Word,
        Blank,
        Mark,
    }
    let class = |cluster: &str| match cluster.chars().next() {
        Some(char) if char.is_alphanumeric() || char == '_' => Class::Word,
        Some(char) if char.is_whitespace() => Class::Blank,
        _ => Class::Mark,
    };
    let mut starts: Vec<usize> = Vec::new();
    let mut open = Class::Mark;
    for (at, cluster) in graphemes(line) {
        let is = class(cluster);
        if is == Class::Mark || is != open {
            starts.push(at);
        }
        open = is;
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let ranges = starts.iter().zip(ends);
    ranges.map(|(start, end)| &line[*start..end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_word_boundaries() {
        assert_eq!(
            split_words("let _a1 =  f(x);"),
            ["let", " ", "_a1", " ", "=", "  ", "f", "(", "x", ")", ";"]
        );
        assert_eq!(split_words("漢字 e\u{301}"), ["漢字", " ", "e\u{301}"]);
        assert!(split_words("").is_empty());
    }
}

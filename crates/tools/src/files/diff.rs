//! Unified diffs of a file, limited in size and time.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use osier_base::diff::{ChangeTag, DiffOp, compare, group_diff_ops};
use osier_base::text::head_bytes;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Maximum size of a diff; lines beyond it are counted, not shown.
const MAX_BYTES: usize = 64 * 1024;
const MAX_LINES: usize = 2_000;
/// Maximum size of the differing part, old and new together; beyond it no diff is made.
const MAX_COMPARED: usize = 16 * 1024 * 1024;
/// After this time a coarser algorithm is used.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The change of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Unified diff with file headers; empty when nothing changed.
    pub text: String,
    pub added: u64,
    pub removed: u64,
    /// Lines added or removed; a replaced line counts once.
    pub changed: u64,
    /// Line number in the new file, from 1.
    pub first_changed_line: Option<u64>,
}

impl FileDiff {
    /// A text for a file that cannot be compared.
    pub(crate) fn note(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// The hunks without the headers of the file; empty when nothing changed.
    pub(crate) fn hunks(&self) -> &str {
        let hunks = self.text.find("\n@@").map(|at| &self.text[at + 1..]);
        hunks.unwrap_or_default()
    }
}

/// The diff from `old` (`None` for a new file) to `new`; both are named `name`.
pub fn unified(name: &str, old: Option<&str>, new: &str) -> FileDiff {
    let before = old.unwrap_or_default();
    if before == new {
        return FileDiff::default();
    }
    let part = Part::differing(before, new);
    let from = if old.is_some() {
        format!("a/{name}")
    } else {
        "/dev/null".to_owned()
    };
    let mut diff = FileDiff::note(format!("--- {from}\n+++ b/{name}\n"));
    if part.old.len() + part.new.len() > MAX_COMPARED {
        diff.removed = part.old.lines().count() as u64;
        diff.added = part.new.lines().count() as u64;
        diff.changed = diff.added.max(diff.removed);
        diff.first_changed_line = Some(part.first_line as u64 + 1);
        diff.text.push_str("[the change is too large to show]\n");
        return diff;
    }
    // A carriage return alone does not end a line, as in other diffs.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (old_lines, new_lines) = (lines(part.old), lines(part.new));
    let operations = compare(&old_lines, &new_lines, Some(TIMEOUT));
    let mut writer = Writer {
        diff,
        lines: 0,
        first_line: part.first_line,
        full: false,
    };
    for group in group_diff_ops(operations, CONTEXT) {
        writer.hunk(&old_lines, &new_lines, &group);
    }
    writer.end()
}

/// The diff of a deleted file with the content `old`, named `name`.
pub(crate) fn deletion(name: &str, old: &str) -> FileDiff {
    let mut diff = unified(name, Some(old), "");
    diff.text = diff
        .text
        .replacen(&format!("+++ b/{name}\n"), "+++ /dev/null\n", 1);
    diff
}

/// Before the diff of each file, if there are several.
const FILE_HEADER: &str = "diff --git ";

/// The diffs of several files as one. `names` are the old and the new name of each.
pub(crate) fn combined(diffs: &[(String, String, FileDiff)]) -> String {
    let mut text = String::new();
    for (old, new, diff) in diffs {
        if diffs.len() > 1 || old != new {
            let _ = writeln!(text, "{FILE_HEADER}a/{old} b/{new}");
        }
        if text.len() + diff.text.len() > MAX_BYTES {
            let (added, removed) = (diff.added, diff.removed);
            let _ = writeln!(
                text,
                "[the change is too large to show: +{added} -{removed} lines]"
            );
            continue;
        }
        text.push_str(&diff.text);
    }
    text
}

/// The parts of a diff, one per file, with the names of the files. A file that was deleted has its old name.
pub fn by_file(diff: &str) -> Vec<(&str, &str)> {
    let mut starts: Vec<usize> = vec![0];
    let ends = diff.match_indices('\n').map(|(end, _)| end + 1);
    starts.extend(ends.filter(|start| diff[*start..].starts_with(FILE_HEADER)));
    starts.push(diff.len());
    let part = |range: &[usize]| {
        let part = &diff[range[0]..range[1]];
        let head = || part.lines().take_while(|line| !line.starts_with("@@"));
        let new = head().find_map(|line| line.strip_prefix("+++ b/"));
        let old = || head().find_map(|line| line.strip_prefix("--- a/"));
        let moved = || {
            Some(
                head()
                    .next()?
                    .strip_prefix(FILE_HEADER)?
                    .rsplit_once(" b/")?
                    .1,
            )
        };
        (new.or_else(old).or_else(moved).unwrap_or_default(), part)
    };
    starts.windows(2).map(part).collect()
}

/// The texts without their common first and last lines, except for some context.
struct Part<'a> {
    old: &'a str,
    new: &'a str,
    /// Lines before the part.
    first_line: usize,
}

impl<'a> Part<'a> {
    fn differing(old: &'a str, new: &'a str) -> Self {
        let lines = |text: &'a str| text.split_inclusive('\n');
        let (mut start, mut first_line) = (0, 0);
        for (left, right) in lines(old).zip(lines(new)) {
            if left != right {
                break;
            }
            start += left.len();
            first_line += 1;
        }
        let mut end = 0;
        let (old_rest, new_rest) = (&old[start..], &new[start..]);
        for (left, right) in lines(old_rest).rev().zip(lines(new_rest).rev()) {
            if left != right {
                break;
            }
            end += left.len();
        }
        let before: Vec<usize> = lines(&old[..start])
            .rev()
            .take(CONTEXT)
            .map(str::len)
            .collect();
        let after: usize = lines(&old[old.len() - end..])
            .take(CONTEXT)
            .map(str::len)
            .sum();
        start -= before.iter().sum::<usize>();
        Self {
            old: &old[start..old.len() - end + after],
            new: &new[start..new.len() - end + after],
            first_line: first_line - before.len(),
        }
    }
}

struct Writer {
    diff: FileDiff,
    lines: usize,
    first_line: usize,
    full: bool,
}

impl Writer {
    fn hunk(&mut self, old_lines: &[&str], new_lines: &[&str], group: &[DiffOp]) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return;
        };
        let old = self.span(first.old_range().start..last.old_range().end);
        let new = self.span(first.new_range().start..last.new_range().end);
        self.line(&format!("@@ -{old} +{new} @@\n"));
        for operation in group {
            self.count(operation);
            for change in operation.iter_changes(old_lines, new_lines) {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                self.line(&format!("{sign}{}", change.value()));
                // A lone carriage return does not end a line here.
                if !change.value().ends_with('\n') {
                    self.line("\n\\ No newline at end of file\n");
                }
            }
        }
    }

    /// `START,COUNT` of a unified diff: an empty range names the line before it.
    fn span(&self, lines: Range<usize>) -> String {
        let start = lines.start + self.first_line + usize::from(!lines.is_empty());
        match lines.len() {
            1 => start.to_string(),
            count => format!("{start},{count}"),
        }
    }

    fn count(&mut self, operation: &DiffOp) {
        if matches!(operation, DiffOp::Equal { .. }) {
            return;
        }
        let removed = operation.old_range().len() as u64;
        let added = operation.new_range().len() as u64;
        self.diff.removed += removed;
        self.diff.added += added;
        self.diff.changed += removed.max(added);
        let line = (operation.new_range().start + self.first_line) as u64 + 1;
        self.diff.first_changed_line.get_or_insert(line);
    }

    fn line(&mut self, line: &str) {
        let room = MAX_BYTES.saturating_sub(self.diff.text.len());
        self.full |= self.lines >= MAX_LINES || room == 0;
        if self.full {
            return;
        }
        self.lines += 1;
        self.diff.text.push_str(head_bytes(line, room));
        self.full = line.len() > room;
    }

    fn end(mut self) -> FileDiff {
        if self.full {
            let FileDiff { added, removed, .. } = self.diff;
            if !self.diff.text.ends_with('\n') {
                self.diff.text.push('\n');
            }
            let _ = writeln!(
                self.diff.text,
                "[diff cut: {added} lines added, {removed} removed in total]"
            );
        }
        self.diff
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{numbered, patched};

    #[test]
    fn a_change_deep_in_a_file_has_correct_line_numbers() {
        let old = numbered(1..=1000);
        let new = old.replace("\n500\n", "\nfive hundred\nand more\n");
        let expected = FileDiff {
            text: "--- a/f\n+++ b/f\n@@ -497,7 +497,8 @@\n 497\n 498\n 499\n-500\n+five hundred\n+and more\n 501\n 502\n 503\n".to_owned(),
            added: 2,
            removed: 1,
            changed: 2,
            first_changed_line: Some(500),
        };
        assert_eq!(unified("f", Some(&old), &new), expected);
    }

    #[test]
    fn a_new_file_and_a_missing_newline() {
        let diff = unified("f", None, "a\nb");
        let expected =
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n";
        assert_eq!(diff.text, expected);
        assert_eq!(unified("f", Some("a"), "a"), FileDiff::default());
        let diff = unified("f", Some("a\n"), "");
        assert_eq!(diff.text, "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn repeated_lines_do_not_confuse_the_common_ends() {
        let diff = unified("f", Some("x\nx\n"), "x\nx\nx\n");
        assert_eq!((diff.added, diff.removed), (1, 0));
        let diff = unified("f", Some("x\nx\nx\n"), "x\n");
        assert_eq!((diff.added, diff.removed), (0, 2));
    }

    proptest! {
        #[test]
        fn a_diff_applied_to_the_old_text_gives_the_new(
            old in "([abc é\r]{0,3}\n){0,12}[ab\r]{0,2}",
            new in "([abc é\r]{0,3}\n){0,12}[ab\r]{0,2}",
        ) {
            let diff = unified("f", Some(&old), &new);
            prop_assert_eq!(patched(&old, &diff.text), new);
        }
    }

    #[test]
    fn a_long_diff_is_cut_and_counted() {
        let diff = unified("f", None, &numbered(1..=5000));
        assert_eq!(diff.added, 5000);
        assert_eq!(diff.text.lines().count(), MAX_LINES + 3);
        assert!(
            diff.text
                .ends_with("\n[diff cut: 5000 lines added, 0 removed in total]\n")
        );
        let diff = unified("f", None, &"x".repeat(1_000_000));
        assert!(diff.text.len() < MAX_BYTES + 100);
    }
}

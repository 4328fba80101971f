//! Parses hunks of a unified diff, and plans to revert them in the present files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::error::CheckpointError;
use super::plan::{Plan, Step};
use super::state::Content;
use super::step::{CHANGED, check_parents, missing};
use super::store::CheckpointStore;
use osier_base::sort;
use osier_protocol::Unrestored;
use osier_tools::encoding::{self, TextEncoding};

/// The hunks of a diff of one file, each from its `@@` line.
pub fn hunks(diff: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive('\n') {
        if line.starts_with("@@ ") {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    let ends: Vec<usize> = ends.collect();
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &diff[*start..end])
        .collect()
}

/// A parsed hunk.
#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    /// Lines of the new file before the hunk.
    before: usize,
    old: String,
    new: String,
    /// The hunk creates or deletes the file.
    creates: bool,
    removes: bool,
}

impl Hunk {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n');
        let header = lines.next()?.strip_prefix("@@ ")?;
        let mut ranges = header.split(' ');
        let (_, old_count) = range(ranges.next()?.strip_prefix('-')?)?;
        let (new_start, new_count) = range(ranges.next()?.strip_prefix('+')?)?;
        let (mut old, mut new) = (String::new(), String::new());
        let (mut old_lines, mut new_lines) = (0, 0);
        let mut last = ' ';
        for line in lines {
            let sign = line.chars().next()?;
            let rest = &line[1..];
            match sign {
                '\\' => {
                    // The previous line has no newline.
                    for (side, is_it) in [(&mut old, last != '+'), (&mut new, last != '-')] {
                        if is_it && side.ends_with('\n') {
                            side.pop();
                        }
                    }
                    continue;
                }
                ' ' | '-' | '+' => {}
                _ => return None,
            }
            last = sign;
            if sign != '+' {
                old.push_str(rest);
                old_lines += 1;
            }
            if sign != '-' {
                new.push_str(rest);
                new_lines += 1;
            }
        }
        // A truncated diff has an incomplete hunk.
        let is_complete = (old_lines, new_lines) == (old_count, new_count);
        is_complete.then_some(Self {
            before: new_start.saturating_sub(usize::from(new_count > 0)),
            creates: old_count == 0 && new_start == 1,
            removes: new_count == 0 && new_start == 0,
            old,
            new,
        })
    }

    /// `content` without the change. The lines may have moved, if their position is unambiguous.
    fn revert(&self, content: &str) -> Result<String, &'static str> {
        if self.new.is_empty() {
            // The hunk has no lines to search for, so only the line number tells the position.
            let at = line_start(content, self.before).ok_or(CHANGED)?;
            let (above, below) = content.split_at(at);
            return Ok([above, &self.old, below].concat());
        }
        let is_line_start = |at: &usize| *at == 0 || content.as_bytes()[at - 1] == b'\n';
        let ends_well =
            |at: usize| self.new.ends_with('\n') || at + self.new.len() == content.len();
        let found = content.match_indices(self.new.as_str()).map(|(at, _)| at);
        let positions: Vec<usize> = found
            .filter(|at| is_line_start(at) && ends_well(*at))
            .collect();
        let stated = line_start(content, self.before);
        let at = match positions.as_slice() {
            [] => return Err(CHANGED),
            [only] => *only,
            several => stated
                .filter(|at| several.contains(at))
                .ok_or("it occurs more than once")?,
        };
        let (above, below) = (&content[..at], &content[at + self.new.len()..]);
        Ok([above, &self.old, below].concat())
    }
}

const UNRECORDED: &str = "it is ignored or too large to record, so the change could not be undone";

/// `START,COUNT` or `START`.
fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// The byte offset of the line after `before` lines.
fn line_start(content: &str, before: usize) -> Option<usize> {
    if before == 0 {
        return Some(0);
    }
    let mut ends = content.match_indices('\n').map(|(at, _)| at + 1);
    ends.nth(before - 1)
        .or_else(|| (content.lines().count() == before).then_some(content.len()))
}

/// The content of a file without reverted hunks; `None` if it does not exist.
type Contents = BTreeMap<String, Option<String>>;

/// The files after reverting hunks, each `(path, hunk)`, and the hunks that cannot be reverted. `read` returns the
/// present content of a file. Hunks of one file are reverted from its end, so that line numbers remain valid.
fn reverted(
    hunks: &[(String, String)],
    read: &mut dyn FnMut(&str) -> Result<Option<String>, String>,
) -> (Contents, Vec<Unrestored>) {
    let (mut contents, mut left) = (Contents::new(), Vec::new());
    let mut order: Vec<usize> = (0..hunks.len()).collect();
    sort::by_key(&mut order, |index| {
        let (path, hunk) = &hunks[*index];
        let before = Hunk::parse(hunk).map_or(0, |hunk| hunk.before);
        (path.clone(), std::cmp::Reverse(before))
    });
    for index in order {
        let (path, hunk) = &hunks[index];
        let now = contents.get(path).cloned().map_or_else(|| read(path), Ok);
        match now.and_then(|now| revert(now.as_deref(), hunk)) {
            Ok(content) => {
                contents.insert(path.clone(), content);
            }
            Err(reason) => {
                let mut path = path.clone();
                if let Some(header) = hunk.lines().next() {
                    let _ = write!(path, " {header}");
                }
                left.push(Unrestored { path, reason });
            }
        }
    }
    (contents, left)
}

/// The content `now` without the hunk.
fn revert(now: Option<&str>, hunk: &str) -> Result<Option<String>, String> {
    let hunk = Hunk::parse(hunk).ok_or("the diff is truncated; use `/restore` for this file")?;
    let content = match now {
        None if hunk.removes => hunk.old.clone(),
        None => return Err("the file no longer exists".to_owned()),
        Some(_) if hunk.removes => return Err("the file exists again".to_owned()),
        Some(now) => hunk.revert(now)?,
    };
    let is_removed = content.is_empty() && hunk.creates;
    Ok((!is_removed).then_some(content))
}

impl CheckpointStore {
    /// The plan to revert hunks, each `(path, hunk)` from [`hunks`](crate::hunks), in the present files, and the hunks
    /// that cannot be reverted.
    ///
    /// # Errors
    /// The files cannot be recorded.
    pub fn plan_to_revert(
        &self,
        hunks: &[(String, String)],
    ) -> Result<(Plan, Vec<Unrestored>), CheckpointError> {
        let (captured, present) = self.scan()?;
        let _lock = self.share()?;
        let recorded = |path: &str| present.paths.get(Path::new(path)).copied();
        let mut encodings: BTreeMap<String, TextEncoding> = BTreeMap::new();
        let (contents, mut left) = reverted(hunks, &mut |path| {
            check_parents(&self.root(), Path::new(path))?;
            match recorded(path) {
                Some(Content::File { content, .. }) => {
                    let bytes = self.objects.get(content).map_err(|error| missing(&error))?;
                    let text = encoding::exact_text(bytes).ok_or("it is not text")?;
                    encodings.insert(path.to_owned(), text.1);
                    Ok(Some(text.0))
                }
                Some(Content::Link { .. }) => Err("it is a symbolic link".to_owned()),
                None if self.root().join(path).symlink_metadata().is_err() => Ok(None),
                _ => Err(UNRECORDED.to_owned()),
            }
        });
        let mut steps = Vec::with_capacity(contents.len());
        for (path, text) in contents {
            let from = recorded(&path);
            let mode = match from {
                Some(Content::File { mode, .. }) => mode,
                _ => 0o644,
            };
            let encoding = encodings.get(&path).copied();
            let encoding = encoding.unwrap_or(TextEncoding::PLAIN);
            let content = text
                .as_deref()
                .map(|text| encoding.encode(text))
                .transpose();
            let content = match content {
                Ok(content) => content,
                Err(missing) => {
                    let reason = missing.to_string();
                    left.push(Unrestored { path, reason });
                    continue;
                }
            };
            let content = content.map(|content| self.objects.put(&content));
            let to = content.transpose()?;
            steps.push(Step {
                path: path.into(),
                from,
                to: to.map(|content| Content::File { mode, content }),
                by_hand: false,
                obstacle: None,
            });
        }
        let plan = Plan {
            target: self.store_side(&steps, |step| step.to)?,
            present: captured.id,
            partial: false,
            steps,
        };
        Ok((plan, left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_tools::diff::unified;

    fn numbered(count: usize, change: impl Fn(usize) -> Option<String>) -> String {
        (1..=count).filter_map(change).collect()
    }

    #[test]
    fn every_hunk_can_be_reverted_alone() {
        let old = numbered(60, |n| Some(format!("line {n}\n")));
        let new = numbered(60, |n| match n {
            3 => Some("LINE 3\nand more\n".to_owned()),
            30 => None,
            58 => Some("line 58, changed\n".to_owned()),
            n => Some(format!("line {n}\n")),
        });
        let diff = unified("a", Some(&old), &new).text;
        let hunks = hunks(&diff);
        assert_eq!(hunks.len(), 3);
        let back = |content: &str, hunk: &str| Hunk::parse(hunk).unwrap().revert(content);
        // The hunks can be reverted in any order, although each revert shifts the line numbers of
        // the others.
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut content = new.clone();
            for index in order {
                content = back(&content, hunks[index]).unwrap();
            }
            assert_eq!(content, old);
        }
        let only = back(&new, hunks[1]).unwrap();
        assert_eq!(
            unified("a", Some(&only), &new).text.matches("@@ ").count(),
            1
        );
        assert!(only.contains("line 30\n") && only.contains("LINE 3\n"));
        let changed = new.replace("LINE 3", "Line 3");
        assert_eq!(back(&changed, hunks[0]), Err(CHANGED));
    }

    #[test]
    fn newline_at_the_end_is_restored() {
        for (old, new) in [
            ("a\nb", "a\nc\n"),
            ("a\nb\n", "a\nc"),
            ("a", "a\n"),
            ("x\n", ""),
        ] {
            let diff = unified("a", Some(old), new).text;
            let hunk = hunks(&diff)[0];
            let hunk = Hunk::parse(hunk).unwrap();
            assert_eq!(hunk.revert(new).as_deref(), Ok(old), "{diff}");
        }
    }

    #[test]
    fn ambiguous_lines_are_reverted_at_their_number_or_not_at_all() {
        let old = "x\nx\nx\nx\nx\nx\nx\nx\nx\nx\n";
        let new = "x\nx\nx\nx\nx\ny\nx\nx\nx\nx\nx\n";
        let diff = unified("a", Some(old), new).text;
        let hunk = Hunk::parse(hunks(&diff)[0]).unwrap();
        assert_eq!(hunk.revert(new).as_deref(), Ok(old));
        let twice = format!("{new}{new}");
        assert_eq!(hunk.revert(&twice), Ok(format!("{old}{new}")));
        let moved = format!("new\n{new}{new}");
        assert!(hunk.revert(&moved).is_err());
        assert_eq!(Hunk::parse("@@ -1,2 +1,3 @@\n a\n"), None);
    }
}

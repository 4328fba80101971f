//! Finds the hunks of a patch in a file and applies them. Hunks match complete lines, in the ways of `edit`. Headers are
//! only hints: they decide between several places, and a header that is not found changes nothing.

use std::ops::Range;

use super::parse::Hunk;
use crate::edit::matching::{Applied, Edit, MatchError, apply_where};

/// The hunks of one file as edits.
#[derive(Debug, Default)]
pub(super) struct Edits {
    pub(super) list: Vec<Edit>,
    /// The hunk of each edit.
    hunks: Vec<Hunk>,
    /// Lines for the end of the file.
    appended: String,
    /// Notes for the model, by edit.
    notes: Vec<(usize, &'static str)>,
}

const BELOW_HEADER: &str = "the lines were added directly below the line after `@@`";
const DRIFTED: &str =
    "some unchanged lines differ from the file; the changed lines fit at one place only";
const IN_SEQUENCE: &str = "the hunks were applied one after another";

/// No header says where the lines of this hunk belong; hunks are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoPlace(pub(super) usize);

impl Edits {
    /// The edits of `hunks` in a file with this text.
    pub(super) fn of(hunks: &[Hunk], original: &str) -> Result<Self, NoPlace> {
        let text = complete(original);
        let mut edits = Self::default();
        for (index, hunk) in hunks.iter().enumerate() {
            if hunk.old.is_empty() && !hunk.at_end && !text.is_empty() {
                let below = hunk.below_header(&text).ok_or(NoPlace(index))?;
                edits.list.push(below);
                edits.hunks.push(hunk.clone());
                edits.notes.push((edits.list.len() - 1, BELOW_HEADER));
                continue;
            }
            if hunk.old.is_empty() {
                edits.appended.push_str(&joined(&hunk.new));
                continue;
            }
            let same = hunks.iter().filter(|other| *other == hunk).count();
            if edits.hunks.contains(hunk) {
                continue;
            }
            // A hunk that occurs in the patch as often as its lines occur in the file changes each occurrence.
            let (old, new) = (joined(&hunk.old), joined(&hunk.new));
            let replace_all = same > 1 && occurrences(&text, &old) == same;
            edits.list.push(Edit {
                old,
                new,
                replace_all,
            });
            edits.hunks.push(hunk.clone());
        }
        Ok(edits)
    }

    /// Whether the lines of each hunk are complete lines of `now`, the text of a file that another
    /// program changed. An exact match could otherwise be a part of longer lines.
    pub(super) fn are_aligned(&self, now: &str) -> bool {
        let now = now.replace("\r\n", "\n");
        let is_aligned = |edit: &Edit| occurrences(&now, &edit.old) > 0;
        self.list.iter().all(is_aligned)
    }

    /// Applies all hunks to the text, or none.
    pub(super) fn apply(&self, original: &str, allow_inexact: bool) -> Result<Applied, MatchError> {
        let text = complete(original);
        let choose = |index: usize, places: &mut Vec<Range<usize>>| {
            places.retain(|place| is_line_start(&text, place.start));
            if !self.list[index].replace_all {
                self.hunks[index].choose(&text, places);
            }
        };
        let mut applied = match apply_where(&text, &self.list, allow_inexact, &choose) {
            Err(MatchError::NotFound { index }) if allow_inexact => {
                match self.without_drift(&text, index) {
                    Some(edits) => return edits.apply(original, true),
                    None => self
                        .in_sequence(&text)
                        .ok_or(MatchError::NotFound { index })?,
                }
            }
            Err(error @ MatchError::Overlap { .. }) if allow_inexact => {
                self.in_sequence(&text).ok_or(error)?
            }
            applied => applied?,
        };
        for (index, note) in &self.notes {
            if let Some(found) = applied.matches.get_mut(*index) {
                found.notes.push(note);
                found.actual.get_or_insert_default();
            }
        }
        applied.text = self.finished(original, &applied.text);
        Ok(applied)
    }

    /// The edits without the unchanged lines of the hunk `index`, which differ from the file, if its changed lines are at
    /// exactly one place, and at least half of the unchanged lines are near.
    fn without_drift(&self, text: &str, index: usize) -> Option<Self> {
        let hunk = self.hunks.get(index)?;
        let core = hunk.core_in(text)?;
        let mut edits = Self {
            list: self.list.clone(),
            hunks: self.hunks.clone(),
            appended: self.appended.clone(),
            notes: self.notes.clone(),
        };
        if edits.list[index] == core || edits.list[index].replace_all {
            return None;
        }
        edits.list[index] = core;
        edits.notes.push((index, DRIFTED));
        Some(edits)
    }

    /// Applies the hunks one after another: a later one can change what an earlier one wrote. Each must fit at one place.
    fn in_sequence(&self, text: &str) -> Option<Applied> {
        if self.list.len() < 2 || self.list.iter().any(|edit| edit.replace_all) {
            return None;
        }
        let mut text = text.to_owned();
        let mut matches = Vec::new();
        for (edit, hunk) in self.list.iter().zip(&self.hunks) {
            let choose = |_: usize, places: &mut Vec<Range<usize>>| {
                places.retain(|place| is_line_start(&text, place.start));
                hunk.choose(&text, places);
            };
            let applied = apply_where(&text, std::slice::from_ref(edit), true, &choose).ok()?;
            text = applied.text;
            matches.extend(applied.matches);
        }
        if let Some(first) = matches.first_mut() {
            first.notes.push(IN_SEQUENCE);
            first.actual.get_or_insert_default();
        }
        Some(Applied { text, matches })
    }

    /// The changed text with the appended lines. A file whose last line has no line break keeps that.
    pub(super) fn finished(&self, original: &str, changed: &str) -> String {
        let appended = if original.contains("\r\n") {
            self.appended.replace('\n', "\r\n")
        } else {
            self.appended.clone()
        };
        let mut text = [changed, &appended].concat();
        if !original.is_empty() && !original.ends_with('\n') && text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        text
    }
}

/// The text with a line break after its last line: hunks consist of complete lines.
pub(super) fn complete(text: &str) -> String {
    let end = match text {
        "" => "",
        text if text.ends_with('\n') => "",
        text if text.contains("\r\n") => "\r\n",
        _ => "\n",
    };
    [text, end].concat()
}

pub(super) fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// How often the lines `old` occur, without overlaps.
fn occurrences(text: &str, old: &str) -> usize {
    let (mut count, mut from) = (0, 0);
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(old)) {
        let start = from + found;
        if is_line_start(text, start) {
            count += 1;
            from = start + old.len();
        } else {
            from = text.ceil_char_boundary(start + 1);
        }
    }
    count
}

fn is_line_start(text: &str, at: usize) -> bool {
    // A byte order mark is before the first line.
    let before = text.get(..at);
    before.is_some_and(|before| matches!(before, "" | "\u{feff}") || before.ends_with('\n'))
}

/// Characters that the changed lines have at least if their context differs: `}` alone says nothing.
const CORE: usize = 8;

impl Hunk {
    /// The edit that adds the lines of a hunk without old lines below its header, which is exactly one line.
    fn below_header(&self, text: &str) -> Option<Edit> {
        let (header, outer) = self.headers.split_last()?;
        let lines = Line::all(text);
        let scopes = scopes(&lines, outer);
        let is_header = |line: &&Line<'_>| {
            let is_inside =
                scopes.is_empty() || scopes.iter().any(|scope| scope.contains(&line.start));
            line.content == header.trim() && is_inside
        };
        let mut found = lines.iter().filter(is_header);
        let (line, None) = (found.next()?, found.next()) else {
            return None;
        };
        let whole = text[line.start..].split_inclusive('\n').next()?;
        // If the line occurs several times, the scopes of the other headers chose the place, which an edit cannot express.
        if occurrences(text, whole) != 1 {
            return None;
        }
        let old = whole.replace("\r\n", "\n");
        let new = [old.as_str(), &joined(&self.new)].concat();
        Some(Edit {
            old,
            new,
            replace_all: false,
        })
    }

    /// The changed lines alone, if `text` has these lines at one place only, white space ignored, and at least half of the
    /// unchanged lines are near that place.
    fn core_in(&self, text: &str) -> Option<Edit> {
        let same = self.old.iter().zip(&self.new);
        let above = same.take_while(|(old, new)| old == new).count();
        let left = self.old.len().min(self.new.len()) - above;
        let same = self.old.iter().rev().zip(self.new.iter().rev()).take(left);
        let below = same.take_while(|(old, new)| old == new).count();
        let (old, new) = (
            &self.old[above..self.old.len() - below],
            &self.new[above..self.new.len() - below],
        );
        let signs = old
            .concat()
            .chars()
            .filter(|char| char.is_alphanumeric())
            .count();
        if signs < CORE {
            return None;
        }
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let wanted: Vec<&str> = old.iter().map(|line| line.trim()).collect();
        let mut places = lines
            .windows(wanted.len())
            .enumerate()
            .filter(|(_, part)| *part == wanted);
        let (place, None) = (places.next()?.0, places.next()) else {
            return None;
        };
        let context = self.old[..above]
            .iter()
            .chain(&self.old[self.old.len() - below..]);
        let context: Vec<&str> = context
            .map(|line| line.trim())
            .filter(|line| line.len() > 1)
            .collect();
        let reach = self.old.len() + 3;
        let end = lines.len().min(place + wanted.len() + reach);
        let near = &lines[place.saturating_sub(reach)..end];
        let found = context.iter().filter(|line| near.contains(line)).count();
        let edit = Edit {
            old: joined(old),
            new: joined(new),
            replace_all: false,
        };
        (found > 0
            && found * 2 >= context.len()
            && occurrences(&text.replace("\r\n", "\n"), &edit.old) == 1)
            .then_some(edit)
    }

    /// Keeps the place that matches a hint, if exactly one of several places does.
    fn choose(&self, text: &str, places: &mut Vec<Range<usize>>) {
        let narrow = |places: &mut Vec<Range<usize>>, fits: &dyn Fn(&Range<usize>) -> bool| {
            if places.len() > 1 && places.iter().filter(|place| fits(place)).count() == 1 {
                places.retain(|place| fits(place));
            }
        };
        if self.at_end {
            narrow(places, &|place| text[place.end..].trim().is_empty());
        }
        if places.len() < 2 || self.headers.is_empty() {
            return;
        }
        let lines = Line::all(text);
        let scopes = scopes(&lines, &self.headers);
        narrow(places, &|place| {
            scopes.iter().any(|scope| scope.contains(&place.start))
        });
        // A header that begins no block is a hint, too: the hunk is below it.
        let below = scopes.first().map_or(text.len(), |scope| scope.start);
        if let [_] = scopes[..] {
            narrow(places, &|place| place.start >= below);
        }
    }
}

/// A line of a text.
#[derive(Debug, Clone, Copy)]
struct Line<'t> {
    start: usize,
    /// Without white space at its ends.
    content: &'t str,
    indentation: usize,
}

impl<'t> Line<'t> {
    fn all(text: &'t str) -> Vec<Self> {
        let mut start = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            let indentation = line.len() - line.trim_start().len();
            let content = line.trim();
            let this = Self {
                start,
                content,
                indentation,
            };
            start += line.len();
            this
        });
        lines.collect()
    }

    /// Whether the line only closes a block.
    fn closes(&self) -> bool {
        self.content == "end" || self.content.starts_with(['}', ')', ']'])
    }
}

/// The byte ranges of the blocks below the last of `headers`, each of which is within a block of the one before. A header
/// that is not found is skipped.
fn scopes(lines: &[Line<'_>], headers: &[String]) -> Vec<Range<usize>> {
    let mut scopes: Vec<Range<usize>> = Vec::new();
    for header in headers {
        let header = header.trim();
        let is_inside = |line: &Line<'_>| {
            scopes.is_empty() || scopes.iter().any(|scope| scope.contains(&line.start))
        };
        // Models write the beginning of the line, too: `class A` for `class A(Base):`.
        let tests: [&dyn Fn(&str) -> bool; 3] = [
            &|line| line == header,
            &|line| line.starts_with(header),
            &|line| line.contains(header),
        ];
        let found = tests.iter().find_map(|test| {
            let found = lines.iter().enumerate();
            let found = found.filter(|(_, line)| test(line.content) && is_inside(line));
            let found: Vec<usize> = found.map(|(index, _)| index).collect();
            (!found.is_empty()).then_some(found)
        });
        if let Some(found) = found {
            scopes = found.iter().map(|index| block(lines, *index)).collect();
        }
    }
    scopes
}

/// A line with the lines below it that are indented more, and with the end of the block.
fn block(lines: &[Line<'_>], header: usize) -> Range<usize> {
    let first = &lines[header];
    let ends = |line: &&Line<'_>| {
        !line.content.is_empty() && line.indentation <= first.indentation && !line.closes()
    };
    let end = lines[header + 1..].iter().find(ends);
    let end = end.map_or(usize::MAX, |line| line.start);
    first.start..end
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Action, Patch};
    use super::*;

    const FILE: &str = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n\nclass B:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n";

    fn hunks(body: &str) -> Vec<Hunk> {
        let patch = format!("*** Begin Patch\n*** Update File: x\n{body}*** End Patch");
        let section = Patch::parse(&patch).unwrap().sections.remove(0);
        match section.action {
            Action::Update { hunks, .. } => hunks,
            _ => Vec::new(),
        }
    }

    fn applied(text: &str, body: &str) -> Result<String, MatchError> {
        let edits = Edits::of(&hunks(body), text).unwrap();
        edits.apply(text, true).map(|applied| applied.text)
    }

    /// The lines of `FILE` that a hunk changes to `return 9`, or where it could be.
    fn changed(body: &str) -> Result<Vec<usize>, Vec<usize>> {
        match applied(FILE, body) {
            Ok(text) => {
                let lines = text.lines().enumerate();
                Ok(lines
                    .filter(|(_, line)| line.trim() == "return 9")
                    .map(|(index, _)| index + 1)
                    .collect())
            }
            Err(MatchError::Ambiguous { lines, .. }) => Err(lines),
            Err(error) => unreachable!("{error:?}"),
        }
    }

    #[test]
    fn several_places_need_a_header() {
        let change = "-        return 1\n+        return 9\n";
        for (headers, expected) in [
            ("@@\n", Err(vec![3, 10, 13])),
            ("@@ class A:\n", Ok(vec![3])),
            ("@@ class A\n", Ok(vec![3])),
            ("@@ class B:\n", Err(vec![3, 10, 13])),
            ("@@ class B:\n@@     def g(self):\n", Ok(vec![13])),
            ("@@ class B:\n@@ def f\n", Ok(vec![10])),
            ("@@ def g(self):\n", Ok(vec![13])),
            // A wrong header is ignored.
            ("@@ class C:\n", Err(vec![3, 10, 13])),
            ("@@ class C:\n@@ class A:\n", Ok(vec![3])),
        ] {
            assert_eq!(
                changed(&format!("{headers}{change}")),
                expected,
                "{headers}"
            );
        }
        let end = format!("@@\n{change}*** End of File\n");
        assert_eq!(changed(&end), Ok(vec![13]));
        // As often as the lines occur.
        let each = format!("@@\n{change}").repeat(3);
        assert_eq!(changed(&each), Ok(vec![3, 10, 13]));
        let twice = format!("@@\n{change}").repeat(2);
        assert_eq!(changed(&twice), Err(vec![3, 10, 13]));
    }

    #[test]
    fn a_wrong_header_does_not_prevent_a_unique_hunk() {
        assert_eq!(
            changed("@@ class B:\n-        return 2\n+        return 9\n"),
            Ok(vec![6])
        );
        let end = "-        return 2\n+        return 9\n*** End of File\n";
        assert_eq!(changed(end), Ok(vec![6]));
    }

    #[test]
    fn hunks_match_complete_lines() {
        let text = "unfold\nfold\n";
        assert_eq!(
            applied(text, "-fold\n+new\n"),
            Ok("unfold\nnew\n".to_owned())
        );
        assert_eq!(
            applied("unfold\n", "-fold\n+new\n"),
            Err(MatchError::NotFound { index: 0 })
        );
    }

    #[test]
    fn line_ends_of_the_file_are_preserved() {
        for (text, body, expected) in [
            ("a\nb", "-b\n+c\n", "a\nc"),
            ("a\nb", " a\n-b\n", "a"),
            ("a\r\nb\r\n", "-a\n+x\n+y\n", "x\r\ny\r\nb\r\n"),
            ("a\r\nb", " b\n+c\n", "a\r\nb\r\nc"),
            ("a\n", "@@\n+b\n*** End of File\n", "a\nb\n"),
            ("a", "@@\n+b\n*** End of File\n", "a\nb"),
            ("", "+b\n", "b\n"),
        ] {
            assert_eq!(
                applied(text, body),
                Ok(expected.to_owned()),
                "{text:?} {body:?}"
            );
        }
    }

    #[test]
    fn inexact_lines_are_matched_as_by_edit() {
        let text = "fn f() {\n\tlet a = 1;\n}\n";
        let body = "@@\n fn f() {\n-    let a = 1;\n+    let a = 2;\n+    let b = 3;\n }\n";
        assert_eq!(
            applied(text, body),
            Ok("fn f() {\n\tlet a = 2;\n\tlet b = 3;\n}\n".to_owned())
        );
    }

    #[test]
    fn a_hunk_without_old_lines_has_no_place() {
        for body in [
            "+    x = 1\n",
            "@@ def f(self):\n+    x = 1\n",
            "@@ class C:\n+    x = 1\n",
        ] {
            assert_eq!(
                Edits::of(&hunks(body), FILE).err(),
                Some(NoPlace(0)),
                "{body}"
            );
        }
    }

    #[test]
    fn a_hunk_without_old_lines_is_added_below_its_header() {
        let text = applied(FILE, "@@ class B:\n+    x = 1\n").unwrap();
        assert_eq!(text, FILE.replace("class B:\n", "class B:\n    x = 1\n"));
    }

    #[test]
    fn a_later_hunk_can_change_what_an_earlier_one_wrote() {
        let body =
            "@@\n-class A:\n+class First:\n@@\n class First:\n+    x = 1\n     def f(self):\n";
        let text = applied(FILE, body).unwrap();
        assert_eq!(
            text,
            FILE.replace("class A:\n", "class First:\n    x = 1\n")
        );
    }

    #[test]
    fn drifted_context_fits_one_place_only() {
        let text = "fn f() {\n    // The first.\n    let count = read();\n    show(count);\n}\n\nfn g() {\n    let count = write();\n}\n";
        let hunk = |line: &str, old: &str| {
            format!(
                "@@\n fn f() {{\n     // {line}\n-{old}\n+    let count = 1;\n     show(count);\n"
            )
        };
        let first = "    let count = read();";
        let expected = text.replace("let count = read()", "let count = 1");
        assert_eq!(applied(text, &hunk("Another word.", first)), Ok(expected));
        // The changed line is another one, is too short, or is elsewhere: nothing says that it is meant.
        for body in [
            hunk("Another word.", "    let count = red();"),
            "@@\n fn h() {\n     one();\n-    let count = write();\n+    let count = 2;\n     two();\n".to_owned(),
            "@@\n fn f() {\n     let x = 1;\n-}\n+]\n".to_owned(),
        ] {
            let error = applied(text, &body).unwrap_err();
            assert_eq!(error, MatchError::NotFound { index: 0 }, "{body}");
        }
        let twice = [text, text].concat();
        let error = applied(&twice, &hunk("Another word.", first)).unwrap_err();
        assert_eq!(error, MatchError::NotFound { index: 0 });
    }
}

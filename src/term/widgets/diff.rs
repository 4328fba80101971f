//! A unified diff as rows: line numbers, tinted lines, changed words inside paired lines, and a bound on
//! the number of rows. Parsed once; rows are built for a width and kept by the caller.

use std::ops::Range;

use similar::{ChangeTag, TextDiff};

use crate::base::text;
use crate::term::face::{Emphasis, Face, Token};
use crate::term::highlight::LineTokens;
use crate::term::row::{Row, Span};
use crate::term::wrap::Wrap;

/// Narrower than this only one column of line numbers is shown.
const TWO_COLUMNS: usize = 60;

/// Larger changes are not compared word by word.
const MAX_PAIRED_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Context,
    Added,
    Removed,
    /// Between two hunks: what the header says behind its numbers.
    Hunk,
    /// The name of a file, when there are several.
    File,
    /// Remarks of the format.
    Note,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    kind: Kind,
    old: usize,
    new: usize,
    text: Box<str>,
    /// Bytes that differ from the paired line.
    changed: Vec<Range<usize>>,
    tokens: LineTokens,
}

/// A parsed diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    lines: Vec<Line>,
    /// Digits of the highest line number.
    digits: usize,
    added: usize,
    removed: usize,
}

impl Diff {
    /// Parses a unified diff. Never fails: what is no diff is shown as remarks.
    pub fn parse(source: &str) -> Self {
        let mut diff = Self::default();
        let clean = text::sanitize(source);
        let files = clean
            .lines()
            .filter(|line| line.starts_with("+++ "))
            .count();
        let mut left = (0, 0);
        let mut number = (0, 0);
        for line in clean.lines() {
            if left == (0, 0) {
                if let Some(hunk) = hunk(line) {
                    (number, left) = (hunk.start, hunk.length);
                    diff.separate(hunk.section);
                } else {
                    diff.header(line, files > 1);
                }
                continue;
            }
            let (kind, body) = match line.as_bytes().first() {
                Some(b'+') => (Kind::Added, &line[1..]),
                Some(b'-') => (Kind::Removed, &line[1..]),
                Some(b'\\') => (Kind::Note, line),
                Some(b' ') => (Kind::Context, &line[1..]),
                _ => (Kind::Context, line),
            };
            diff.push(kind, number, body);
            let old = usize::from(matches!(kind, Kind::Context | Kind::Removed));
            let new = usize::from(matches!(kind, Kind::Context | Kind::Added));
            number = (number.0 + old, number.1 + new);
            left = (left.0.saturating_sub(old), left.1.saturating_sub(new));
        }
        diff.digits = diff
            .lines
            .iter()
            .map(|line| line.old.max(line.new))
            .max()
            .unwrap_or(0)
            .to_string()
            .len();
        diff.pair();
        diff
    }

    /// Lines added and removed.
    pub fn counts(&self) -> (usize, usize) {
        (self.added, self.removed)
    }

    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0
    }

    /// The lines as code, for a highlighter: one for each line of the diff.
    pub fn code(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| match line.kind {
            Kind::Hunk | Kind::File | Kind::Note => "",
            _ => &*line.text,
        })
    }

    /// Takes what a highlighter made of `code`, from line `first` on.
    pub fn apply(&mut self, first: usize, tokens: &[LineTokens]) {
        for (line, tokens) in self.lines.iter_mut().skip(first).zip(tokens) {
            line.tokens.clone_from(tokens);
        }
    }

    /// The rows at `width`; with a limit, at most that many and then one that says how much more there is.
    pub fn rows(&self, width: usize, limit: Option<usize>) -> Vec<Row> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut rows = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            let before = rows.len();
            self.line_rows(line, width, &mut rows);
            if rows.len() > limit {
                // The last line stays when it is all that would be hidden.
                rows.truncate(before.max(usize::from(before == 0) * limit));
                let more = self.lines.len() - index;
                let noun = if more == 1 { "line" } else { "lines" };
                rows.push(Row::plain(format!("… {more} more {noun}"), Token::Muted));
                break;
            }
        }
        rows
    }

    fn push(&mut self, kind: Kind, (old, new): (usize, usize), body: &str) {
        self.added += usize::from(kind == Kind::Added);
        self.removed += usize::from(kind == Kind::Removed);
        self.lines.push(Line {
            kind,
            old: if kind == Kind::Added { 0 } else { old },
            new: if kind == Kind::Removed { 0 } else { new },
            text: text::expand_tabs(body).into(),
            changed: Vec::new(),
            tokens: Vec::new(),
        });
    }

    /// A line between two hunks.
    fn separate(&mut self, section: &str) {
        let follows = self
            .lines
            .last()
            .is_some_and(|line| line.kind != Kind::File);
        if follows || !section.is_empty() {
            let line = format!("⋯ {section}");
            self.push(Kind::Hunk, (0, 0), line.trim_end());
        }
    }

    /// A line outside of hunks.
    fn header(&mut self, line: &str, several: bool) {
        const SILENT: &[&str] = &[
            "--- ",
            "diff ",
            "index ",
            "similarity ",
            "new file mode ",
            "deleted file mode ",
        ];
        if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.split('\t').next().unwrap_or(path);
            let path = path.strip_prefix("b/").unwrap_or(path);
            if several {
                self.push(Kind::File, (0, 0), path);
            }
        } else if !line.is_empty() && !SILENT.iter().any(|start| line.starts_with(start)) {
            self.push(Kind::Note, (0, 0), line);
        }
    }

    /// Marks the words that changed between removed lines and the added ones right below them.
    fn pair(&mut self) {
        let mut start = 0;
        while start < self.lines.len() {
            let removed = run(&self.lines[start..], Kind::Removed);
            let added = run(&self.lines[start + removed..], Kind::Added);
            if removed > 0 && added > 0 {
                let (old, new) = self.lines[start..start + removed + added].split_at_mut(removed);
                mark_changes(old, new);
            }
            start += (removed + added).max(1);
        }
    }

    fn line_rows(&self, line: &Line, width: usize, rows: &mut Vec<Row>) {
        let (token, word, sign) = match line.kind {
            Kind::Added => (Token::DiffAdded, Token::DiffAddedWord, "+"),
            Kind::Removed => (Token::DiffRemoved, Token::DiffRemovedWord, "-"),
            Kind::Context => (Token::DiffContext, Token::DiffContext, " "),
            Kind::Hunk => {
                return Wrap::new(width).line(&[Span::new(&*line.text, Token::DiffHunk)], rows);
            }
            Kind::Note => {
                return Wrap::new(width).line(&[Span::new(&*line.text, Token::Muted)], rows);
            }
            Kind::File => {
                let face = Face::from(Token::DiffHunk).emphasised(Emphasis::BOLD);
                return Wrap::new(width).line(&[Span::new(&*line.text, face)], rows);
            }
        };
        let numbers = self.numbers(line, width);
        let rest = " ".repeat(text::width(&numbers));
        let gutter = Face::from(Token::DiffGutter).on(token);
        let ground = Face::from(token).on(token);
        let first = [
            Span::new(numbers, gutter),
            Span::new(format!("{sign} "), ground),
        ];
        let rest = [Span::new(rest, gutter), Span::new("  ", ground)];
        let mut wrap = Wrap::new(width).hanging(&first, &rest);
        if line.kind != Kind::Context {
            wrap = wrap.filled(ground);
        }
        wrap.line(&spans(line, token, word), rows);
    }

    fn numbers(&self, line: &Line, width: usize) -> String {
        let digits = self.digits;
        let shown = |number: usize| match number {
            0 => " ".repeat(digits),
            number => format!("{number:>digits$}"),
        };
        if width >= TWO_COLUMNS {
            return format!("{} {} ", shown(line.old), shown(line.new));
        }
        let number = if line.kind == Kind::Removed {
            line.old
        } else {
            line.new
        };
        format!("{} ", shown(number))
    }
}

/// The text of a line, cut where its tokens or its changes begin and end.
fn spans(line: &Line, token: Token, word: Token) -> Vec<Span> {
    let mut cuts = vec![0, line.text.len()];
    cuts.extend(
        line.changed
            .iter()
            .flat_map(|range| [range.start, range.end]),
    );
    let tokens = || {
        line.tokens
            .iter()
            .map(|(range, token)| (range.start as usize..range.end as usize, *token))
    };
    cuts.extend(tokens().flat_map(|(range, _)| [range.start, range.end]));
    cuts.retain(|cut| line.text.is_char_boundary(*cut));
    cuts.sort_unstable();
    cuts.dedup();
    let mut spans = Vec::new();
    for piece in cuts.windows(2) {
        let (start, end) = (piece[0], piece[1]);
        let changed = line.changed.iter().any(|range| range.contains(&start));
        let ground = if changed { word } else { token };
        let syntax = tokens().find(|(range, _)| range.contains(&start));
        let face = Face::from(syntax.map_or(ground, |(_, token)| token)).on(ground);
        spans.push(Span::new(&line.text[start..end], face));
    }
    spans
}

fn run(lines: &[Line], kind: Kind) -> usize {
    lines.iter().take_while(|line| line.kind == kind).count()
}

fn mark_changes(old: &mut [Line], new: &mut [Line]) {
    let joined = |lines: &[Line]| -> String {
        lines
            .iter()
            .fold(String::new(), |text, line| text + &line.text + "\n")
    };
    let (old_text, new_text) = (joined(old), joined(new));
    if old_text.len() + new_text.len() > MAX_PAIRED_BYTES {
        return;
    }
    let diff = TextDiff::from_lines(&old_text, &new_text);
    for change in diff.iter_all_inline_changes() {
        let line = match change.tag() {
            ChangeTag::Delete => change.old_index().and_then(|index| old.get_mut(index)),
            ChangeTag::Insert => change.new_index().and_then(|index| new.get_mut(index)),
            ChangeTag::Equal => None,
        };
        let Some(line) = line else { continue };
        let mut at = 0;
        for (changed, piece) in change.values() {
            let end = (at + piece.len()).min(line.text.len());
            if *changed && at < end {
                line.changed.push(at..end);
            }
            at = end;
        }
    }
}

/// The header of a hunk.
struct Hunk<'a> {
    start: (usize, usize),
    length: (usize, usize),
    section: &'a str,
}

/// Parses `@@ -old[,length] +new[,length] @@ section`.
fn hunk(line: &str) -> Option<Hunk<'_>> {
    let (numbers, section) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = numbers.split_once(" +")?;
    let side = |side: &str| -> Option<(usize, usize)> {
        match side.split_once(',') {
            Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
            None => Some((side.parse().ok()?, 1)),
        }
    };
    let ((old_start, old_length), (new_start, new_length)) = (side(old)?, side(new)?);
    Some(Hunk {
        start: (old_start, new_start),
        length: (old_length, new_length),
        section: section.trim(),
    })
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const SAMPLE: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -8,4 +8,5 @@\n fn main() {\n-    let total = one;\n+    let total = two;\n+    // new\n \t}\n \n@@ -90 +91 @@ fn other()\n-old\n+new\n\\ No newline at end of file\n";

    fn shown(width: usize, limit: Option<usize>) -> String {
        let rows = Diff::parse(SAMPLE).rows(width, limit);
        let lines: Vec<String> = rows
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    #[test]
    fn lines_are_numbered_and_hunks_apart() {
        assert_eq!(Diff::parse(SAMPLE).counts(), (3, 2));
        assert_snapshot!(shown(70, None), @r"
         8  8   fn main() {
         9    -     let total = one;
            9 +     let total = two;
           10 +     // new
        10 11       }
        11 12
        ⋯ fn other()
        90    - old
           91 + new
        \ No newline at end of file
        ");
        assert_snapshot!(shown(16, Some(4)), @r"
         8   fn main() {
         9 -     let
             total =
             one;
        … 8 more lines
        ");
    }

    #[test]
    fn changed_words_are_marked_on_their_ground() {
        let rows = Diff::parse(SAMPLE).rows(70, None);
        let plain = Face::from(Token::DiffRemoved).on(Token::DiffRemoved);
        let word = Face::from(Token::DiffRemovedWord).on(Token::DiffRemovedWord);
        assert_eq!(
            rows[1],
            Row {
                spans: vec![
                    Span::new(
                        " 9    ",
                        Face::from(Token::DiffGutter).on(Token::DiffRemoved)
                    ),
                    Span::new("- ", plain),
                    Span::new("    let total = ", plain),
                    Span::new("one", word),
                    Span::new(";", plain),
                ],
                continues: false,
                decoration: 8,
                fill: Some(plain),
            }
        );
    }

    #[test]
    fn syntax_stands_on_the_tint_of_its_line() {
        let mut diff = Diff::parse("@@ -0,0 +1 @@\n+let x\n");
        assert_eq!(diff.code().collect::<Vec<_>>(), ["let x"]);
        diff.apply(0, &[vec![(0..3, Token::SyntaxKeyword)]]);
        assert_eq!(
            diff.rows(30, None)[0].spans[2..],
            [
                Span::new("let", Face::from(Token::SyntaxKeyword).on(Token::DiffAdded)),
                Span::new(" x", Face::from(Token::DiffAdded).on(Token::DiffAdded)),
            ]
        );
    }

    #[test]
    fn several_files_are_named_and_nonsense_is_shown() {
        let texts = |source: &str| -> Vec<String> {
            Diff::parse(source)
                .rows(40, None)
                .iter()
                .map(Row::text)
                .collect()
        };
        assert_eq!(
            texts(
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +0,0 @@\n--- c\n"
            ),
            ["x", "1 - a", "1 + b", "y", "1 - -- c"]
        );
        assert_eq!(texts("no diff\x1b[31m"), ["no diff"]);
    }
}

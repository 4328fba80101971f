//! A unified diff as rows: line numbers, tinted lines, changed words marked inside paired lines.

use similar::{ChangeTag, TextDiff};

use crate::base::text::{expand_tabs, sanitize};
use crate::term::face::{Face, Token};
use crate::term::row::{Row, Span};
use crate::term::wrap::Wrap;

/// Longest line that is compared word by word, in bytes.
const WORD_LIMIT: usize = 2000;
/// Most removed lines in a row that are paired with added ones.
const PAIR_LIMIT: usize = 40;

/// One line of the patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Hunk { old: usize, new: usize },
    Context(&'a str),
    Removed(&'a str),
    Added(&'a str),
    Note(&'a str),
}

/// Rows of `patch` for `width`, at most `limit` and then one that says how many lines follow.
pub fn rows(patch: &str, width: u16, limit: usize) -> Vec<Row> {
    let lines: Vec<Line<'_>> = patch.lines().filter_map(read).collect();
    let mut painter = Painter {
        width: usize::from(width),
        digits: digits(&lines),
        old: 0,
        new: 0,
        hunks: 0,
        rows: Vec::new(),
    };
    let mut place = 0;
    while place < lines.len() {
        if painter.rows.len() >= limit {
            let is_line = |line: &&Line<'_>| !matches!(line, Line::Hunk { .. });
            let cut = painter.rows.len() - limit;
            let left = lines[place..].iter().filter(is_line).count() + cut;
            painter.rows.truncate(limit);
            painter
                .rows
                .push(Row::plain(format!("  … {left} more lines"), Token::Muted));
            break;
        }
        place += painter.paint(&lines[place..]);
    }
    painter.rows
}

/// Added and removed lines of `patch`.
pub fn counts(patch: &str) -> (usize, usize) {
    patch
        .lines()
        .filter_map(read)
        .fold((0, 0), |(added, removed), line| match line {
            Line::Added(_) => (added + 1, removed),
            Line::Removed(_) => (added, removed + 1),
            _ => (added, removed),
        })
}

fn read(line: &str) -> Option<Line<'_>> {
    if line.starts_with("--- ") || line.starts_with("+++ ") {
        return None;
    }
    if let Some(header) = line.strip_prefix("@@ ") {
        let mut ranges = header.split(' ');
        let mut start = |sign: char| -> Option<usize> {
            let range = ranges.next()?.strip_prefix(sign)?;
            range.split(',').next()?.parse().ok()
        };
        return Some(Line::Hunk {
            old: start('-')?,
            new: start('+')?,
        });
    }
    Some(match line.as_bytes().first() {
        None => Line::Context(""),
        Some(b' ') => Line::Context(&line[1..]),
        Some(b'-') => Line::Removed(&line[1..]),
        Some(b'+') => Line::Added(&line[1..]),
        Some(_) => Line::Note(line),
    })
}

/// Columns of the largest line number.
fn digits(lines: &[Line<'_>]) -> usize {
    let last = lines.iter().rev().find_map(|line| match line {
        Line::Hunk { old, new } => Some((*old).max(*new)),
        _ => None,
    });
    (last.unwrap_or(0) + lines.len()).to_string().len().max(3)
}

struct Painter {
    width: usize,
    digits: usize,
    old: usize,
    new: usize,
    hunks: usize,
    rows: Vec<Row>,
}

impl Painter {
    /// Paints the first line, or a run of removed lines with the added ones that replace it; returns
    /// how many lines that were.
    fn paint(&mut self, lines: &[Line<'_>]) -> usize {
        match lines[0] {
            Line::Hunk { old, new } => {
                (self.old, self.new) = (old, new);
                if self.hunks > 0 {
                    let dots = format!("{:>1$}", "⋮", self.digits + 2);
                    self.rows.push(Row::plain(dots, Token::DiffHunk));
                }
                self.hunks += 1;
            }
            Line::Context(text) => {
                let number = self.new;
                self.line(number, ' ', text, Token::DiffContext);
                self.old += 1;
                self.new += 1;
            }
            Line::Note(text) => {
                self.rows
                    .push(Row::plain(format!("  {}", sanitize(text)), Token::Muted));
            }
            Line::Added(text) => {
                let number = self.new;
                self.line(number, '+', text, Token::DiffAdded);
                self.new += 1;
            }
            Line::Removed(_) => return self.replacement(lines),
        }
        1
    }

    fn replacement(&mut self, lines: &[Line<'_>]) -> usize {
        let removed: Vec<&str> = lines
            .iter()
            .map_while(|line| match line {
                Line::Removed(text) => Some(*text),
                _ => None,
            })
            .collect();
        let added: Vec<&str> = lines[removed.len()..]
            .iter()
            .map_while(|line| match line {
                Line::Added(text) => Some(*text),
                _ => None,
            })
            .collect();
        let paired = removed.len() == added.len() && removed.len() <= PAIR_LIMIT;
        for (place, text) in removed.iter().enumerate() {
            let number = self.old;
            match added.get(place).filter(|_| paired) {
                Some(other) => self.marked(number, text, other, ChangeTag::Delete),
                None => self.line(number, '-', text, Token::DiffRemoved),
            }
            self.old += 1;
        }
        for (place, text) in added.iter().enumerate() {
            let number = self.new;
            match removed.get(place).filter(|_| paired) {
                Some(other) => self.marked(number, other, text, ChangeTag::Insert),
                None => self.line(number, '+', text, Token::DiffAdded),
            }
            self.new += 1;
        }
        removed.len() + added.len()
    }

    fn line(&mut self, number: usize, sign: char, text: &str, token: Token) {
        let span = Span::new(&*clean(text), token);
        self.spans(number, sign, &[span], token);
    }

    /// One side of a changed line, with the words that only it has marked.
    fn marked(&mut self, number: usize, old: &str, new: &str, side: ChangeTag) {
        let (sign, token, word) = match side {
            ChangeTag::Delete => ('-', Token::DiffRemoved, Token::DiffRemovedWord),
            _ => ('+', Token::DiffAdded, Token::DiffAddedWord),
        };
        if old.len() + new.len() > WORD_LIMIT {
            let text = if sign == '-' { old } else { new };
            return self.line(number, sign, text, token);
        }
        let (old, new) = (clean(old), clean(new));
        let diff = TextDiff::from_words(&*old, &*new);
        // Lines that share little are clearer without marks.
        let alike = diff.ratio() > 0.4;
        let mut spans: Vec<Span> = Vec::new();
        for change in diff.iter_all_changes() {
            let own = change.tag() == side;
            if !own && change.tag() != ChangeTag::Equal {
                continue;
            }
            let face = if own && alike {
                Face::from(word).on(word)
            } else {
                Face::from(token)
            };
            spans.push(Span::new(change.value(), face));
        }
        self.spans(number, sign, &spans, token);
    }

    fn spans(&mut self, number: usize, sign: char, spans: &[Span], token: Token) {
        let gutter = Face::from(Token::DiffGutter);
        let digits = self.digits;
        let first = [
            Span::new(format!("  {number:>digits$} "), gutter),
            Span::new(format!("{sign} "), token),
        ];
        let rest = [
            Span::new(" ".repeat(digits + 3), gutter),
            Span::new("  ", token),
        ];
        let start = self.rows.len();
        Wrap::new(self.width)
            .hanging(&first, &rest)
            .line(spans, &mut self.rows);
        if token != Token::DiffContext {
            for row in &mut self.rows[start..] {
                row.fill = Some(Face::from(token));
            }
        }
    }
}

fn clean(text: &str) -> String {
    expand_tabs(&sanitize(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "--- a/x\n+++ b/x\n@@ -8,3 +8,4 @@\n same\n-let a = 1;\n+let a = 2;\n+new\n@@ -90,1 +91,1 @@\n end\n";

    fn shown(rows: &[Row]) -> Vec<String> {
        rows.iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn lines_carry_numbers_and_signs() {
        assert_eq!(
            shown(&rows(PATCH, 40, 99)),
            [
                "    8   same",
                "    9 - let a = 1;",
                "    9 + let a = 2;",
                "   10 + new",
                "    ⋮",
                "   91   end",
            ]
        );
        assert_eq!(counts(PATCH), (2, 1));
    }

    #[test]
    fn changed_words_of_paired_lines_are_marked() {
        let patch = "@@ -1,1 +1,1 @@\n-let a = 1;\n+let a = 2;\n";
        let rows = rows(patch, 40, 99);
        let words = |row: &Row| -> Vec<String> {
            let marked = row.spans.iter().filter(|span| span.face.ground.is_some());
            marked.map(|span| span.text.to_string()).collect()
        };
        assert_eq!(
            (words(&rows[0]), words(&rows[1])),
            (vec!["1;".into()], vec!["2;".into()])
        );
    }

    #[test]
    fn a_long_diff_says_how_much_is_left() {
        let rows = rows(PATCH, 40, 2);
        assert_eq!(shown(&rows)[2], "  … 3 more lines");
    }
}

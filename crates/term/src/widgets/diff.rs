//! A unified diff as rows: line numbers, tinted lines, changed words marked inside paired lines.

mod syntax;

use similar::{ChangeTag, TextDiff};

use crate::face::{Face, Token};
use crate::row::{Row, Span};
use crate::wrap::Wrap;
use osier_base::text::{expand_tabs, graphemes, sanitize};

pub use syntax::Syntax;
use syntax::dressed;

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

/// How a patch is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Removed lines above the added ones.
    Unified,
    /// The old file beside the new one.
    Beside,
}

/// Unified rows of `patch` for `width`, at most `limit` and then one that says how many lines follow.
pub fn rows(patch: &str, width: u16, limit: usize) -> Vec<Row> {
    laid_out(patch, width, limit, Layout::Unified)
}

/// `laid_out` without the colours of a language.
pub fn laid_out(patch: &str, width: u16, limit: usize, layout: Layout) -> Vec<Row> {
    laid_out_in(patch, width, limit, layout, &Syntax::default())
}

/// `rows` in a layout and in the colours of a language. Each hunk but the first begins with a row of
/// `Token::DiffHunk`.
pub fn laid_out_in(
    patch: &str,
    width: u16,
    limit: usize,
    layout: Layout,
    syntax: &Syntax,
) -> Vec<Row> {
    let lines: Vec<Line<'_>> = patch.lines().filter_map(read).collect();
    let mut painter = Painter {
        width: usize::from(width),
        layout,
        digits: digits(&lines),
        old: 0,
        new: 0,
        hunks: 0,
        syntax,
        seen: (0, 0),
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

struct Painter<'a> {
    width: usize,
    layout: Layout,
    digits: usize,
    old: usize,
    new: usize,
    hunks: usize,
    syntax: &'a Syntax,
    /// Lines of the old and the new file so far.
    seen: (usize, usize),
    rows: Vec<Row>,
}

/// A line of one side as it is shown.
struct Side {
    number: usize,
    sign: char,
    spans: Vec<Span>,
    token: Token,
}

impl Painter<'_> {
    /// Paints the first line, or a run of removed and added lines; returns how many lines that were.
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
                let token = Token::DiffContext;
                let tokens = self.syntax.new.get(self.seen.1);
                let spans = dressed(vec![Span::new(&*clean(text), token)], token, tokens);
                let side = |number| Side {
                    number,
                    sign: ' ',
                    spans: spans.clone(),
                    token,
                };
                match self.layout {
                    Layout::Unified => self.push(&side(self.new)),
                    Layout::Beside => self.pair(Some(&side(self.old)), Some(&side(self.new))),
                }
                self.old += 1;
                self.new += 1;
                self.seen = (self.seen.0 + 1, self.seen.1 + 1);
            }
            Line::Note(text) => {
                self.rows
                    .push(Row::plain(format!("  {}", sanitize(text)), Token::Muted));
            }
            Line::Added(_) | Line::Removed(_) => return self.change(lines),
        }
        1
    }

    /// A run of removed lines and the added ones behind it.
    fn change(&mut self, lines: &[Line<'_>]) -> usize {
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
        let old = removed.iter().enumerate().map(|(place, text)| Side {
            number: self.old + place,
            sign: '-',
            spans: dressed(
                match added.get(place).filter(|_| paired) {
                    Some(new) => words(text, new, ChangeTag::Delete),
                    None => vec![Span::new(&*clean(text), Token::DiffRemoved)],
                },
                Token::DiffRemoved,
                self.syntax.old.get(self.seen.0 + place),
            ),
            token: Token::DiffRemoved,
        });
        let new = added.iter().enumerate().map(|(place, text)| Side {
            number: self.new + place,
            sign: '+',
            spans: dressed(
                match removed.get(place).filter(|_| paired) {
                    Some(old) => words(old, text, ChangeTag::Insert),
                    None => vec![Span::new(&*clean(text), Token::DiffAdded)],
                },
                Token::DiffAdded,
                self.syntax.new.get(self.seen.1 + place),
            ),
            token: Token::DiffAdded,
        });
        let (old, new): (Vec<Side>, Vec<Side>) = (old.collect(), new.collect());
        match self.layout {
            Layout::Unified => old.iter().chain(&new).for_each(|side| self.push(side)),
            Layout::Beside => {
                for place in 0..old.len().max(new.len()) {
                    self.pair(old.get(place), new.get(place));
                }
            }
        }
        self.seen = (self.seen.0 + old.len(), self.seen.1 + new.len());
        self.old += old.len();
        self.new += new.len();
        old.len() + new.len()
    }

    fn push(&mut self, side: &Side) {
        let rows = self.side_rows(side, self.width);
        self.rows.extend(rows);
    }

    /// The two sides of a line, of which one may be missing, beside each other.
    fn pair(&mut self, old: Option<&Side>, new: Option<&Side>) {
        let half = self.width.saturating_sub(1) / 2;
        let rows = |side: Option<&Side>| match side {
            Some(side) => self.side_rows(side, half),
            None => Vec::new(),
        };
        let (left, right) = (rows(old), rows(new));
        for place in 0..left.len().max(right.len()) {
            let mut row = left.get(place).cloned().unwrap_or_default();
            let gap = half.saturating_sub(row.width());
            let fill = row.fill.take().unwrap_or(Face::from(Token::Text));
            row.push(" ".repeat(gap), fill);
            row.push("│", Token::Border);
            if let Some(right) = right.get(place) {
                row.spans.extend(right.spans.iter().cloned());
                row.fill = right.fill;
            }
            self.rows.push(row);
        }
    }

    fn side_rows(&self, side: &Side, width: usize) -> Vec<Row> {
        let Side {
            number,
            sign,
            spans,
            token,
        } = side;
        let gutter = Face::from(Token::DiffGutter);
        let digits = self.digits;
        let first = [
            Span::new(format!("  {number:>digits$} "), gutter),
            Span::new(format!("{sign} "), *token),
        ];
        let rest = [
            Span::new(" ".repeat(digits + 3), gutter),
            Span::new("  ", *token),
        ];
        let mut rows = Vec::new();
        Wrap::new(width)
            .hanging(&first, &rest)
            .line(spans, &mut rows);
        if *token != Token::DiffContext {
            for row in &mut rows {
                row.fill = Some(Face::from(*token));
            }
        }
        rows
    }
}

/// A line as names and numbers, blanks, and single marks.
fn pieces(line: &str) -> Vec<&str> {
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

/// One side of a changed line, with the words that only it has marked.
fn words(old: &str, new: &str, side: ChangeTag) -> Vec<Span> {
    let (own, token, word) = match side {
        ChangeTag::Delete => (old, Token::DiffRemoved, Token::DiffRemovedWord),
        _ => (new, Token::DiffAdded, Token::DiffAddedWord),
    };
    if old.len() + new.len() > WORD_LIMIT {
        return vec![Span::new(&*clean(own), token)];
    }
    let (old, new) = (clean(old), clean(new));
    let (old_words, new_words) = (pieces(&old), pieces(&new));
    let diff = TextDiff::configure().diff_slices(&old_words, &new_words);
    // Lines that share little are clearer without marks.
    let alike = diff.ratio() > 0.4;
    let is_shown = |tag: ChangeTag| tag == side || tag == ChangeTag::Equal;
    let changes = diff.iter_all_changes();
    let shown = changes.filter(|change| is_shown(change.tag()));
    shown
        .map(|change| {
            let face = if change.tag() == side && alike {
                Face::from(word).on(word)
            } else {
                Face::from(token)
            };
            Span::new(change.value(), face)
        })
        .collect()
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
            (vec!["1".into()], vec!["2".into()])
        );
    }

    #[test]
    fn words_end_where_names_do() {
        assert_eq!(
            pieces("let _a1 =  f(x);"),
            ["let", " ", "_a1", " ", "=", "  ", "f", "(", "x", ")", ";"]
        );
        assert_eq!(pieces("漢字 e\u{301}"), ["漢字", " ", "e\u{301}"]);
        assert!(pieces("").is_empty());
    }

    #[test]
    fn the_old_file_stands_beside_the_new_one() {
        assert_eq!(
            shown(&laid_out(PATCH, 51, 99, Layout::Beside)),
            [
                "    8   same             │    8   same",
                "    9 - let a = 1;       │    9 + let a = 2;",
                "                         │   10 + new",
                "    ⋮",
                "   90   end              │   91   end",
            ]
        );
    }

    #[test]
    fn a_long_diff_says_how_much_is_left() {
        let rows = rows(PATCH, 40, 2);
        assert_eq!(shown(&rows)[2], "  … 3 more lines");
    }
}

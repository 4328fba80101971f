//! Renders a unified diff as rows: line numbers, tinted lines, and highlighted words that changed.

mod line;
mod syntax;

use crate::text::face::{Face, Token};
use crate::text::row::{Row, Span};
use crate::text::wrap::Wrap;
use osier_base::diff::{ChangeTag, compare_words};
use osier_base::text::sanitize;

use line::{DiffLine, clean, parse_line};
pub use syntax::Syntax;
use syntax::with_syntax;

/// Maximum length in bytes of lines that are compared word by word.
const MAX_WORD_DIFF: usize = 2000;
/// Maximum number of consecutive removed lines that are paired with added ones.
const MAX_PAIRED: usize = 40;

/// The layout of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLayout {
    /// Removed lines above the added ones.
    Unified,
    /// The old file to the left of the new one.
    SideBySide,
}

/// The unified rows of `patch` at `width`: at most `limit`, then one with the number of remaining
/// lines.
pub fn rows(patch: &str, width: u16, limit: usize) -> Vec<Row> {
    rows_in_layout(patch, width, limit, DiffLayout::Unified)
}

/// Like [`rows`], with a layout.
fn rows_in_layout(patch: &str, width: u16, limit: usize, layout: DiffLayout) -> Vec<Row> {
    highlighted_rows(patch, width, limit, layout, &Syntax::default())
}

/// Like [`rows`], with a layout and syntax highlighting. Each hunk but the first begins with a row
/// of [`Token::DiffHunk`].
pub fn highlighted_rows(
    patch: &str,
    width: u16,
    limit: usize,
    layout: DiffLayout,
    syntax: &Syntax,
) -> Vec<Row> {
    let lines: Vec<DiffLine<'_>> = patch.lines().filter_map(parse_line).collect();
    let mut painter = DiffPainter {
        width: usize::from(width),
        layout,
        digits: digits(&lines),
        old: 0,
        new: 0,
        hunks: 0,
        syntax,
        processed: (0, 0),
        rows: Vec::new(),
    };
    let mut index = 0;
    while index < lines.len() {
        if painter.rows.len() >= limit {
            let is_line = |line: &&DiffLine<'_>| !matches!(line, DiffLine::Hunk { .. });
            let cut = painter.rows.len() - limit;
            let left = lines[index..].iter().filter(is_line).count() + cut;
            painter.rows.truncate(limit);
            painter
                .rows
                .push(Row::plain(format!("  … {left} more lines"), Token::Muted));
            break;
        }
        index += painter.paint(&lines[index..]);
    }
    painter.rows
}

/// Number of added and removed lines of `patch`.
pub fn counts(patch: &str) -> (usize, usize) {
    patch
        .lines()
        .filter_map(parse_line)
        .fold((0, 0), |(added, removed), line| match line {
            DiffLine::Added(_) => (added + 1, removed),
            DiffLine::Removed(_) => (added, removed + 1),
            _ => (added, removed),
        })
}

/// Columns of the largest line number.
fn digits(lines: &[DiffLine<'_>]) -> usize {
    let last = lines.iter().rev().find_map(|line| match line {
        DiffLine::Hunk { old, new } => Some((*old).max(*new)),
        _ => None,
    });
    (last.unwrap_or(0) + lines.len()).to_string().len().max(3)
}

struct DiffPainter<'a> {
    width: usize,
    layout: DiffLayout,
    digits: usize,
    old: usize,
    new: usize,
    hunks: usize,
    syntax: &'a Syntax,
    /// Number of lines of the old and the new file so far.
    processed: (usize, usize),
    rows: Vec<Row>,
}

/// A line of one side with its styles.
struct DiffSide {
    number: usize,
    sign: char,
    spans: Vec<Span>,
    token: Token,
}

impl DiffPainter<'_> {
    /// Renders the first line, or a run of removed and added lines; returns the number of lines.
    fn paint(&mut self, lines: &[DiffLine<'_>]) -> usize {
        match lines[0] {
            DiffLine::Hunk { old, new } => {
                (self.old, self.new) = (old, new);
                if self.hunks > 0 {
                    let dots = format!("{:>1$}", "⋮", self.digits + 2);
                    self.rows.push(Row::plain(dots, Token::DiffHunk));
                }
                self.hunks += 1;
            }
            DiffLine::Context(text) => {
                let token = Token::DiffContext;
                let tokens = self.syntax.new.get(self.processed.1);
                let spans = with_syntax(vec![Span::new(&*clean(text), token)], token, tokens);
                let side = |number| DiffSide {
                    number,
                    sign: ' ',
                    spans: spans.clone(),
                    token,
                };
                match self.layout {
                    DiffLayout::Unified => self.push(&side(self.new)),
                    DiffLayout::SideBySide => {
                        self.pair(Some(&side(self.old)), Some(&side(self.new)));
                    }
                }
                self.old += 1;
                self.new += 1;
                self.processed = (self.processed.0 + 1, self.processed.1 + 1);
            }
            DiffLine::Note(text) => {
                self.rows
                    .push(Row::plain(format!("  {}", sanitize(text)), Token::Muted));
            }
            DiffLine::Added(_) | DiffLine::Removed(_) => return self.change(lines),
        }
        1
    }

    /// Renders a run of removed lines and the added lines after it.
    fn change(&mut self, lines: &[DiffLine<'_>]) -> usize {
        let removed: Vec<&str> = lines
            .iter()
            .map_while(|line| match line {
                DiffLine::Removed(text) => Some(*text),
                _ => None,
            })
            .collect();
        let added: Vec<&str> = lines[removed.len()..]
            .iter()
            .map_while(|line| match line {
                DiffLine::Added(text) => Some(*text),
                _ => None,
            })
            .collect();
        let paired = removed.len() == added.len() && removed.len() <= MAX_PAIRED;
        let old = removed.iter().enumerate().map(|(index, text)| DiffSide {
            number: self.old + index,
            sign: '-',
            spans: with_syntax(
                match added.get(index).filter(|_| paired) {
                    Some(new) => highlighted_side(text, new, ChangeTag::Delete),
                    None => vec![Span::new(&*clean(text), Token::DiffRemoved)],
                },
                Token::DiffRemoved,
                self.syntax.old.get(self.processed.0 + index),
            ),
            token: Token::DiffRemoved,
        });
        let new = added.iter().enumerate().map(|(index, text)| DiffSide {
            number: self.new + index,
            sign: '+',
            spans: with_syntax(
                match removed.get(index).filter(|_| paired) {
                    Some(old) => highlighted_side(old, text, ChangeTag::Insert),
                    None => vec![Span::new(&*clean(text), Token::DiffAdded)],
                },
                Token::DiffAdded,
                self.syntax.new.get(self.processed.1 + index),
            ),
            token: Token::DiffAdded,
        });
        let (old, new): (Vec<DiffSide>, Vec<DiffSide>) = (old.collect(), new.collect());
        match self.layout {
            DiffLayout::Unified => old.iter().chain(&new).for_each(|side| self.push(side)),
            DiffLayout::SideBySide => {
                for index in 0..old.len().max(new.len()) {
                    self.pair(old.get(index), new.get(index));
                }
            }
        }
        self.processed = (self.processed.0 + old.len(), self.processed.1 + new.len());
        self.old += old.len();
        self.new += new.len();
        old.len() + new.len()
    }

    fn push(&mut self, side: &DiffSide) {
        let rows = self.side_rows(side, self.width);
        self.rows.extend(rows);
    }

    /// Renders two sides next to each other; one may be missing.
    fn pair(&mut self, old: Option<&DiffSide>, new: Option<&DiffSide>) {
        let half = self.width.saturating_sub(1) / 2;
        let rows = |side: Option<&DiffSide>| match side {
            Some(side) => self.side_rows(side, half),
            None => Vec::new(),
        };
        let (left, right) = (rows(old), rows(new));
        for index in 0..left.len().max(right.len()) {
            let mut row = half_row(left.get(index), half);
            row.push("│", Token::Border);
            let room = self.width.saturating_sub(half + 1);
            row.spans.extend(half_row(right.get(index), room).spans);
            self.rows.push(row);
        }
    }

    fn side_rows(&self, side: &DiffSide, width: usize) -> Vec<Row> {
        let DiffSide {
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

/// A row of one side that fills its half with its own ground: the row of both sides has none.
fn half_row(side: Option<&Row>, width: usize) -> Row {
    let mut row = side.cloned().unwrap_or_default();
    let fill = row.fill.take();
    if let Some(fill) = fill {
        for span in &mut row.spans {
            if span.face.token == Token::DiffGutter {
                span.face = span.face.on(fill.token);
            }
        }
    }
    let gap = width.saturating_sub(row.width());
    row.push(" ".repeat(gap), fill.unwrap_or(Face::from(Token::Text)));
    row
}

/// One side of a changed line, with the words that only it has highlighted.
fn highlighted_side(old: &str, new: &str, side: ChangeTag) -> Vec<Span> {
    let (own, token, word) = match side {
        ChangeTag::Delete => (old, Token::DiffRemoved, Token::DiffRemovedWord),
        _ => (new, Token::DiffAdded, Token::DiffAddedWord),
    };
    if old.len() + new.len() > MAX_WORD_DIFF {
        return vec![Span::new(&*clean(own), token)];
    }
    let (old, new) = (clean(old), clean(new));
    let compared = compare_words(&old, &new);
    // Lines with little in common are clearer without highlighted words.
    let is_similar = compared.similarity > 0.4;
    let is_shown = |tag: ChangeTag| tag == side || tag == ChangeTag::Equal;
    let shown = compared.words.into_iter().filter(|(tag, _)| is_shown(*tag));
    shown
        .map(|(tag, text)| {
            let face = if tag == side && is_similar {
                Face::from(word).on(word)
            } else {
                Face::from(token)
            };
            Span::new(text, face)
        })
        .collect()
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
    fn lines_have_numbers_and_signs() {
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
    fn changed_words_of_paired_lines_are_highlighted() {
        let patch = "@@ -1,1 +1,1 @@\n-let a = 1;\n+let a = 2;\n";
        let rows = rows(patch, 40, 99);
        let words = |row: &Row| -> Vec<String> {
            let marked = row
                .spans
                .iter()
                .filter(|span| span.face.background.is_some());
            marked.map(|span| span.text.to_string()).collect()
        };
        assert_eq!(
            (words(&rows[0]), words(&rows[1])),
            (vec!["1".into()], vec!["2".into()])
        );
    }

    #[test]
    fn side_by_side_layout_shows_the_old_file_on_the_left() {
        assert_eq!(
            shown(&rows_in_layout(PATCH, 51, 99, DiffLayout::SideBySide)),
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
    fn truncated_diff_ends_with_the_number_of_remaining_lines() {
        let rows = rows(PATCH, 40, 2);
        assert_eq!(shown(&rows)[2], "  … 3 more lines");
    }
}

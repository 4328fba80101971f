//! Breaks logical lines into rows. Every line-break decision is made here.
//!
//! No text is lost: without trimming, the rows of a line joined without their decoration equal the
//! line byte for byte, so copying needs no guessing. A space at a break therefore stays at the end
//! of its row.

use crate::text::face::Face;
use crate::text::row::{Row, Span, sentence};
use osier_base::text;

/// Minimum number of text columns when decoration would fill the width.
const MIN_TEXT: usize = 8;

/// Characters that never start a row.
const CLOSING: &str = "、。，．・：；？！）］｝」』】〉》〕ー々…,.;:!?)]}%'\"”’";
/// Characters that never end a row.
const OPENING: &str = "（［｛「『【〈《〔([{“‘";

/// How to break a logical line into rows.
///
/// ```
/// use osier_term::face::Token;
/// use osier_term::row::Row;
/// use osier_term::wrap::Wrap;
///
/// let mut rows = Vec::new();
/// Wrap::new(10).text("one two three", Token::Text, &mut rows);
/// let texts: Vec<String> = rows.iter().map(Row::text).collect();
/// assert_eq!(texts, ["one two ", "three"]);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Wrap<'a> {
    /// Columns of a row, decoration included.
    pub width: usize,
    /// Decoration of the first row.
    pub first: &'a [Span],
    /// Decoration of the continuation rows.
    pub rest: &'a [Span],
    pub fill: Option<Face>,
    /// Drops spaces at a break: for table cells, which are not copied row by row.
    pub trim: bool,
}

impl<'a> Wrap<'a> {
    pub fn new(width: usize) -> Self {
        Self {
            width: width.max(1),
            ..Self::default()
        }
    }

    /// Uses the same decoration on every row.
    #[must_use]
    pub fn prefixed(mut self, prefix: &'a [Span]) -> Self {
        self.first = prefix;
        self.rest = prefix;
        self
    }

    #[must_use]
    pub fn hanging(mut self, first: &'a [Span], rest: &'a [Span]) -> Self {
        self.first = first;
        self.rest = rest;
        self
    }

    #[must_use]
    pub fn filled(mut self, fill: impl Into<Face>) -> Self {
        self.fill = Some(fill.into());
        self
    }

    /// Appends the rows of one logical line, at least one. The spans must hold sanitized text
    /// without newlines.
    pub fn line(&self, spans: &[Span], rows: &mut Vec<Row>) {
        let (first, rest) = (self.clip(self.first), self.clip(self.rest));
        let mut starts = Vec::new();
        if !fits(spans, self.text_width()) {
            let mut offset = 0;
            let clusters = spans.iter().flat_map(|span| {
                let start = offset;
                offset += span.text.len();
                clusters(&span.text).map(move |(at, text, width)| (start + at, text, width))
            });
            row_starts(clusters, self.text_width(), self.trim, &mut starts);
        }
        let mut splitter = SpanSplitter::new(spans);
        let end: usize = spans.iter().map(|span| span.text.len()).sum();
        for index in 0..=starts.len() {
            let prefix = if index == 0 { &first } else { &rest };
            let mut row = Row {
                decoration: columns(prefix) as u16,
                spans: prefix.clone(),
                continues: index > 0,
                fill: self.fill,
                ..Row::default()
            };
            let to = starts.get(index).copied().unwrap_or(end);
            splitter.move_until(to, &mut row.spans);
            if self.trim && index < starts.len() {
                trim_end(&mut row.spans, prefix.len());
            }
            rows.push(row);
        }
    }

    /// Appends the rows of plain text with any number of lines. Spaces are kept, tabs expanded and
    /// control sequences removed. A trailing newline adds no row.
    pub fn text(&self, source: &str, face: impl Into<Face>, rows: &mut Vec<Row>) {
        let face = face.into();
        clean_lines(source, |line| self.line(&[Span::new(line, face)], rows));
    }

    /// Like [`Self::text`], for prose with names and commands in backticks.
    pub fn sentences(&self, source: &str, face: impl Into<Face>, rows: &mut Vec<Row>) {
        let face = face.into();
        clean_lines(source, |line| self.line(&sentence(line, face), rows));
    }

    /// The number of rows of `line`, which must be sanitized text without newlines.
    pub fn count(&self, line: &str) -> usize {
        let width = self.text_width();
        if line.len() <= width || text::width(line) <= width {
            return 1;
        }
        let mut starts = Vec::new();
        row_starts(clusters(line), width, self.trim, &mut starts);
        starts.len() + 1
    }

    /// Columns for text next to the wider of the two decorations.
    pub fn text_width(&self) -> usize {
        let decoration = columns(self.first).max(columns(self.rest));
        self.width - decoration.min(self.decoration_limit())
    }

    fn decoration_limit(&self) -> usize {
        self.width - self.width.min(MIN_TEXT)
    }

    /// `prefix`, cut to leave room for the text.
    fn clip(&self, prefix: &[Span]) -> Vec<Span> {
        let mut left = self.decoration_limit();
        if columns(prefix) <= left {
            return prefix.to_vec();
        }
        let mut clipped = Vec::new();
        for span in prefix {
            let head = text::prefix_of_width(&span.text, left);
            left -= text::width(head);
            clipped.push(Span {
                text: head.into(),
                ..span.clone()
            });
            if head.len() < span.text.len() {
                break;
            }
        }
        clipped
    }
}

/// The grapheme clusters of sanitized text as (byte offset, cluster, cells).
pub fn clusters(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        let start = at;
        let byte = bytes.get(start)?;
        // Two ASCII bytes are never one cluster: sanitized text has no CR LF.
        let cluster = if byte.is_ascii() && bytes.get(start + 1).is_none_or(u8::is_ascii) {
            &text[start..=start]
        } else {
            text::graphemes(&text[start..])
                .next()
                .map_or("", |(_, cluster)| cluster)
        };
        at += cluster.len().max(1);
        Some((start, cluster, text::grapheme_width(cluster)))
    })
}

/// Appends the byte offsets at which the rows after the first start. With `hang`, spaces may extend
/// beyond the edge and no row starts with the spaces of a break.
pub fn row_starts<'a>(
    clusters: impl Iterator<Item = (usize, &'a str, usize)>,
    available: usize,
    hang: bool,
    starts: &mut Vec<usize>,
) {
    let available = available.max(1);
    let mut row_start = 0;
    let mut column = 0;
    // The last possible break: byte offset and column.
    let mut opportunity = None;
    let mut previous = ["", ""];
    let mut leading = true;
    for (start, cluster, width) in clusters {
        leading &= previous[1] == " " || previous[1].is_empty();
        if !leading && may_break(previous, cluster) {
            opportunity = Some((start, column));
        }
        let hangs = hang && cluster == " ";
        while !hangs && column + width > available && start > row_start {
            let (cut, at) = opportunity.take().unwrap_or((start, column));
            starts.push(cut);
            row_start = cut;
            column -= at;
        }
        column += width;
        previous = [previous[1], cluster];
    }
}

/// Whether a row may end between the second of `before` and `next`.
fn may_break(before: [&str; 2], next: &str) -> bool {
    let [earlier, last] = before;
    if last == " " {
        return true;
    }
    if next == " " || last.is_empty() {
        return false;
    }
    match last {
        "-" | "‐" | "–" | "—" => is_word(earlier) && is_word(next),
        _ => (is_wide(last) || is_wide(next)) && !CLOSING.contains(next) && !OPENING.contains(last),
    }
}

fn is_word(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(char::is_alphanumeric)
}

fn is_wide(cluster: &str) -> bool {
    cluster.len() > 1 && text::grapheme_width(cluster) == 2
}

/// The lines of a text: without control sequences, with spaces for tabs, and without an empty line at the end.
fn clean_lines(source: &str, each: impl FnMut(&str)) {
    let clean = text::sanitize(source);
    let expanded = text::expand_tabs(&clean);
    let body = expanded.strip_suffix('\n').unwrap_or(&expanded);
    body.split('\n').for_each(each);
}

fn columns(spans: &[Span]) -> usize {
    spans.iter().map(|span| text::width(&span.text)).sum()
}

fn fits(spans: &[Span], width: usize) -> bool {
    let bytes: usize = spans.iter().map(|span| span.text.len()).sum();
    bytes <= width || columns(spans) <= width
}

fn trim_end(spans: &mut Vec<Span>, keep: usize) {
    while spans.len() > keep {
        let Some(last) = spans.last_mut() else { return };
        let trimmed = last.text.trim_end_matches(' ');
        if trimmed.len() == last.text.len() {
            return;
        }
        if !trimmed.is_empty() {
            last.text = trimmed.into();
            return;
        }
        spans.pop();
    }
}

/// Splits a list of spans into consecutive parts.
struct SpanSplitter<'a> {
    spans: &'a [Span],
    /// Bytes already used from the first span.
    taken: usize,
    position: usize,
}

impl<'a> SpanSplitter<'a> {
    fn new(spans: &'a [Span]) -> Self {
        Self {
            spans,
            taken: 0,
            position: 0,
        }
    }

    /// Moves everything up to the byte offset `to` into `out`.
    fn move_until(&mut self, to: usize, out: &mut Vec<Span>) {
        while let Some((span, rest)) = self.spans.split_first() {
            let chunk = &span.text[self.taken..];
            let length = chunk.len().min(to - self.position);
            if length > 0 {
                out.push(Span {
                    text: chunk[..length].into(),
                    face: span.face,
                    link: span.link.clone(),
                });
            }
            self.position += length;
            if length < chunk.len() {
                self.taken += length;
                return;
            }
            self.spans = rest;
            self.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::face::Token;

    fn rows(text: &str, width: usize) -> Vec<String> {
        let mut rows = Vec::new();
        Wrap::new(width).text(text, Token::Text, &mut rows);
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn lines_break_at_words_and_cjk_boundaries() {
        for (text, width, expected) in [
            ("", 5, vec![""]),
            ("hello world", 20, vec!["hello world"]),
            ("hello world", 7, vec!["hello ", "world"]),
            ("hello you", 5, vec!["hello", " you"]),
            ("aa bb cc", 5, vec!["aa ", "bb cc"]),
            ("well-known fact", 7, vec!["well-", "known ", "fact"]),
            ("run --flag now", 8, vec!["run ", "--flag ", "now"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("漢字。漢", 5, vec!["漢", "字。", "漢"]),
            ("a👨‍👩‍👧b", 2, vec!["a", "👨‍👩‍👧", "b"]),
            ("漢字", 1, vec!["漢", "字"]),
            (
                "e\u{301}e\u{301}e\u{301}",
                2,
                vec!["e\u{301}e\u{301}", "e\u{301}"],
            ),
            ("    indented", 8, vec!["    inde", "nted"]),
            ("a\tb", 10, vec!["a   b"]),
            ("one\n\ntwo\n", 10, vec!["one", "", "two"]),
            ("\x1b[31mred\x1b[0m", 10, vec!["red"]),
        ] {
            let expected: Vec<String> = expected.into_iter().map(String::from).collect();
            assert_eq!(rows(text, width), expected, "{text:?} at {width}");
        }
    }

    #[test]
    fn hanging_indent_is_decoration_and_spans_keep_their_faces() {
        let mut rows = Vec::new();
        let first = [Span::new("• ", Token::ListMarker)];
        let rest = [Span::new("  ", Token::Text)];
        let line = [
            Span::new("plain words and ", Token::Text),
            Span::new("coloured ones", Token::Code),
        ];
        Wrap::new(20)
            .hanging(&first, &rest)
            .filled(Token::User)
            .line(&line, &mut rows);
        let fill = Some(Token::User.into());
        assert_eq!(
            rows,
            [
                Row {
                    spans: vec![
                        Span::new("• ", Token::ListMarker),
                        Span::new("plain words and ", Token::Text),
                    ],
                    continues: false,
                    decoration: 2,
                    fill,
                    ..Row::default()
                },
                Row {
                    spans: vec![
                        Span::new("  ", Token::Text),
                        Span::new("coloured ones", Token::Code),
                    ],
                    continues: true,
                    decoration: 2,
                    fill,
                    ..Row::default()
                },
            ]
        );
    }

    #[test]
    fn trimming_removes_spaces_at_breaks() {
        let mut rows = Vec::new();
        let wrap = Wrap {
            trim: true,
            ..Wrap::new(3)
        };
        wrap.line(&[Span::new("foo bar   baz", Token::Text)], &mut rows);
        let texts: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(texts, ["foo", "bar", "baz"]);
    }

    #[test]
    fn deep_indent_leaves_space_for_the_text() {
        let mut rows = Vec::new();
        let indent = [Span::new(" ".repeat(30), Token::Text)];
        Wrap::new(12)
            .prefixed(&indent)
            .line(&[Span::new("some words", Token::Text)], &mut rows);
        assert_eq!(
            rows.iter().map(Row::text).collect::<Vec<_>>(),
            ["    some ", "    words"]
        );
    }

    proptest! {
        #[test]
        fn joined_rows_equal_the_line_and_fit(
            text in "[ a-z漢、\\-👍e\u{301}]{0,60}",
            split in 0usize..60,
            width in 1usize..20,
        ) {
            let split = text.floor_char_boundary(split.min(text.len()));
            let spans = [
                Span::new(&text[..split], Token::Text),
                Span::new(&text[split..], Token::Code),
            ];
            let mut rows = Vec::new();
            let wrap = Wrap::new(width);
            wrap.line(&spans, &mut rows);
            let joined: String = rows.iter().map(Row::text).collect();
            prop_assert_eq!(joined, text.clone());
            for row in &rows {
                prop_assert!(width == 1 || row.width() <= width, "{:?}", row);
            }
            if split == 0 {
                prop_assert_eq!(wrap.count(&text), rows.len());
            }
        }
    }
}

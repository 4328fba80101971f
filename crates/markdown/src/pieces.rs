//! A paragraph without an end, be it inside of quotes and items: a model that writes one line for minutes, a log without a blank line. While
//! it is open it is cut where a row begins, and the rows before the cut stay as they are: a delta costs the
//! text behind the last cut.
//!
//! The pieces are a view of what is open, nothing else knows of them. When the block is finished they are
//! joined and laid out once as a whole, so that emphasis which spans a cut comes out right, and the document
//! is the same as if it had come at once.

use std::borrow::Cow;

use super::Markdown;
use super::containers::Container;
use super::render::{Block, Context, open_paragraph};
use super::scan::Marker;
use super::unit::{Body, Flow, Rest, Unit};
use osier_base::text;
use osier_term::row::Row;

/// Bytes of open text from which on it is cut.
pub(super) const LONG: usize = 8 * 1024;
/// Bytes of a piece, about.
pub(super) const PIECE: usize = 4 * 1024;
/// How often another place is tried, so many bytes before the last, when no row begins with plain text.
const TRIES: usize = 8;
const STEP: usize = 61;

/// How the open block is cut.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    /// The first piece.
    pub(super) first: usize,
    /// Where the text behind the last cut begins.
    start: usize,
    line: Option<CutLine>,
}

/// The unfinished line is cut too. It is read again when it is complete: what it is to the blocks is not
/// known before.
#[derive(Debug, Clone)]
struct CutLine {
    /// Blocks before the line, and where the last of them ended.
    units: usize,
    end: usize,
}

impl Cut {
    /// Whether the unfinished line is cut.
    pub(super) fn is_in_line(&self) -> bool {
        self.line.is_some()
    }
}

impl Markdown {
    /// Where the text begins that is laid out with every delta: the unfinished line, or what is left of it.
    pub(super) fn open_start(&self) -> usize {
        self.cut
            .as_ref()
            .map_or(self.line, |cut| cut.start.max(self.line))
    }

    /// Whether the unfinished line is cut.
    pub(super) fn is_line_cut(&self) -> bool {
        self.cut.as_ref().is_some_and(Cut::is_in_line)
    }

    /// Cuts what is open until little is left of it.
    pub(super) fn cut_long(&mut self) {
        while let Some((place, rest)) = self.find_cut() {
            self.cut_at(place, rest);
        }
    }

    /// Takes back the cuts of the unfinished line.
    pub(super) fn join_line(&mut self) {
        let Some(cut) = &mut self.cut else { return };
        let first = cut.first;
        let Some(CutLine { units, end }) = cut.line.take() else {
            return;
        };
        self.units.truncate(units);
        self.ends.truncate(units.saturating_sub(1));
        if let Some(last) = self.units.last_mut() {
            last.source.end = end;
            last.invalidate();
        }
        if units <= first + 1 {
            self.cut = None;
        }
    }

    /// Takes back all cuts.
    pub(super) fn join(&mut self) {
        self.join_line();
        let Some(cut) = self.cut.take() else { return };
        let end = self.units.last().map_or(0, |unit| unit.source.end);
        self.units.truncate(cut.first + 1);
        self.ends.truncate(cut.first);
        if let Some(whole) = self.units.last_mut() {
            whole.source.end = end;
            whole.invalidate();
        }
    }

    fn find_cut(&mut self) -> Option<(usize, Rest)> {
        if self.splitter.literal().is_some() {
            return self.find_literal_cut();
        }
        let open = self.tail.as_ref().or(self.units.last())?;
        let start = open.source.start;
        let length = self.source.len() - start;
        let cuttable = !self.finished && matches!(open.body, Body::Text(_));
        if !cuttable || length < LONG || self.source.len() < self.uncut {
            return None;
        }
        // Small blocks may stand above the paragraph.
        let above = self.block.clamp(start, start + PIECE) - start;
        let text = Open {
            unit: open,
            text: &self.source[start..],
            width: self.width,
            head: above + PIECE,
        };
        let found = match text::sanitize(text.ahead()) {
            Cow::Borrowed(_) => text.cut(&self.laid),
            // What cannot be shown as it is would be shown in pieces.
            Cow::Owned(_) => None,
        };
        let found = found.and_then(|(length, context, continues)| {
            let containers = self.containers_behind(open, start + length);
            (containers.len() == context.depth()).then(|| {
                let rest = Rest {
                    containers,
                    context,
                    number: None,
                    after_blank: false,
                    flow: Some(Flow { continues }),
                    markup: false,
                };
                (start + length, rest)
            })
        });
        if found.is_none() {
            self.uncut = self.source.len() + PIECE;
        }
        found
    }

    /// What a paragraph is inside of that is cut at `place`.
    fn containers_behind(&self, open: &Unit, place: usize) -> Vec<Container> {
        if open.flows() {
            return open.containers().to_vec();
        }
        if place < self.line {
            return self.splitter.containers().to_vec();
        }
        let mut splitter = self.splitter.clone();
        splitter.line(&self.partial);
        splitter.containers().to_vec()
    }

    fn cut_at(&mut self, place: usize, rest: Rest) {
        let before = self.units.len();
        let end = self.units.last().map_or(0, |unit| unit.source.end);
        self.units.extend(self.tail.take());
        let base = self.units.len() - 1;
        let cut = self.cut.get_or_insert(Cut {
            first: base,
            start: place,
            line: None,
        });
        cut.start = place;
        if place > self.line && cut.line.is_none() {
            cut.line = Some(CutLine { units: before, end });
        }
        let kind = self.units[base].kind;
        let behind = self.units[base].source.end.max(place);
        self.units[base].source.end = place;
        self.units[base].invalidate();
        self.ends.truncate(base);
        self.units.push(Unit::rest(kind, place..behind, rest));
    }
}

/// Open text that is to be cut.
struct Open<'a> {
    unit: &'a Unit,
    text: &'a str,
    width: usize,
    /// Bytes of it that are looked at.
    head: usize,
}

impl<'a> Open<'a> {
    fn ahead(&self) -> &'a str {
        let length = self.head.min(self.text.len());
        &self.text[..self.text.floor_char_boundary(length)]
    }

    /// After how many bytes a row begins, what is open there, and whether it continues the line above.
    fn cut(&self, laid: &std::cell::Cell<usize>) -> Option<(usize, Context, bool)> {
        let ahead = self.ahead();
        let inner = self.unit.inner(ahead);
        let mut open = None;
        for attempt in 0..TRIES {
            let length = inner.floor_char_boundary(inner.len().checked_sub(attempt * STEP)?);
            let head = inner[..length].trim_end();
            laid.set(laid.get() + head.len());
            let (rows, context) = open_paragraph(head, self.block());
            let [.., _, last] = rows.as_slice() else {
                return None;
            };
            let context = context?;
            let shown = without_decoration(last);
            let length = head.len().checked_sub(shown.len())?;
            if says_the_same(&head.as_bytes()[length..], shown.as_bytes())
                && starts_text(&inner[length..])
            {
                return Some((self.outer(length, &inner), context, last.continues));
            }
            open = open.or(Some(context));
        }
        // Markup in every row: one of them ends early, until the whole is laid out.
        let mut words = inner.rmatch_indices(' ').map(|(at, _)| at + 1);
        let length = words.find(|at| starts_text(&inner[*at..]))?;
        (length > inner.len() / 2).then_some((self.outer(length, &inner), open?, true))
    }

    fn block(&self) -> Block<'a> {
        let rest = self.unit.rest.as_deref();
        Block {
            width: self.width,
            number: self.unit.number(),
            context: rest.map(|rest| &rest.context),
            after_blank: rest.is_some_and(|rest| rest.after_blank),
            flows: self.unit.flows(),
            ..Block::default()
        }
    }

    /// The place in the text that has `length` bytes of `inner` before it: lines are as long from their ends.
    fn outer(&self, length: usize, inner: &str) -> usize {
        let lines = inner[..length].matches('\n').count();
        let end = |text: &str| {
            let mut ends = text.match_indices('\n').map(|(at, _)| at);
            ends.nth(lines).unwrap_or(text.len())
        };
        let ahead = self.ahead();
        end(ahead) - (end(inner) - length)
    }
}

fn without_decoration(row: &Row) -> String {
    let text = row.text();
    let decoration = text::take_width(&text, usize::from(row.decoration)).len();
    text[decoration..].to_owned()
}

/// Whether what is shown is the source as it is, line breaks apart.
fn says_the_same(source: &[u8], shown: &[u8]) -> bool {
    let same = |(source, shown): (&u8, &u8)| source == shown || (*source, *shown) == (b'\n', b' ');
    !shown.is_empty() && source.iter().zip(shown).all(same)
}

/// Whether a block that begins like this can only be a paragraph.
fn starts_text(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric) && Marker::scan(text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 80;

    /// Streams `text` in pieces of `step` bytes and lays every state out; gives the bytes that were laid out
    /// for the costliest of the deltas after the first hundred, and the document.
    fn streamed(text: &str, step: usize) -> (usize, Markdown) {
        let mut document = Markdown::new();
        let mut most = 0;
        let mut rest = text;
        let mut count = 0;
        while !rest.is_empty() {
            let (delta, behind) = rest.split_at(rest.floor_char_boundary(step.min(rest.len())));
            rest = behind;
            document.push(delta);
            let before = document.laid.get();
            document.height(WIDTH);
            count += 1;
            if count > 100 {
                most = most.max(document.laid.get() - before);
            }
        }
        (most, document)
    }

    fn rows(document: &mut Markdown) -> Vec<Row> {
        let height = document.height(WIDTH);
        let mut rows = Vec::new();
        document.rows(WIDTH, 0..height, &mut rows);
        rows
    }

    fn words(count: usize, between: &str) -> String {
        let words = ["osier", "willow", "branches", "cut", "woven", "basket"];
        let text: Vec<&str> = (0..count).map(|word| words[word * 7 % 6]).collect();
        text.join(between)
    }

    #[test]
    fn a_delta_of_an_endless_paragraph_costs_what_one_of_a_short_one_does() {
        let bold = "some **bold words** and `code` in every row of it, *all along* ".repeat(800);
        for (name, text) in [
            ("one line", words(12_000, " ")),
            ("many lines", words(12_000, "\n")),
            ("an item", format!("- {}", words(12_000, " "))),
            (
                "an item of lines",
                format!("12. {}", words(12_000, "\n    ")),
            ),
            ("no space", words(12_000, "")),
            ("wide", "漢字仮名".repeat(5000)),
            ("markup", bold),
            (
                "html",
                format!("<div>\n{}", words(12_000, "\n<p> *not* emphasis ")),
            ),
            ("a comment", format!("<!-- {}", words(12_000, "\n"))),
            (
                "indented code",
                format!("    first\n    {}", words(12_000, "\n      ")),
            ),
            (
                "after others",
                format!("# Title\n\ntext\n{}", words(12_000, " ")),
            ),
        ] {
            let (most, mut document) = streamed(&text, 97);
            assert!(most < 8 * LONG, "{name}: {most} bytes for a delta");
            assert!(document.cut.is_some(), "{name}");
            document.finish();
            assert!(
                rows(&mut document) == rows(&mut Markdown::from_text(&text)),
                "{name}"
            );
            // Another block ends it as well.
            let (_, mut document) = streamed(&text, 4099);
            document.push("\n\nThe end\n");
            let whole = format!("{text}\n\nThe end\n");
            let shown: Vec<String> = rows(&mut document).iter().map(Row::text).collect();
            let expected = rows(&mut Markdown::from_text(&whole));
            let expected: Vec<String> = expected.iter().map(Row::text).collect();
            assert_eq!(shown.len(), expected.len(), "{name}");
            document.push("\n");
            document.finish();
            // A comment without an end holds this line too.
            let whole = format!("{whole}\n");
            assert!(
                rows(&mut document) == rows(&mut Markdown::from_text(&whole)),
                "{name}"
            );
        }
    }

    #[test]
    fn plain_text_is_shown_as_if_it_were_whole() {
        for text in [
            words(6000, " "),
            words(6000, "\n"),
            format!("- {}", words(6000, " ")),
            "漢字仮名".repeat(4000),
        ] {
            let (_, mut document) = streamed(&text, 511);
            assert!(document.units.len() > 3);
            let shown = rows(&mut document);
            let whole = rows(&mut Markdown::from_text(&text));
            assert_eq!(shown.len(), whole.len());
            for (shown, whole) in shown.iter().zip(&whole) {
                assert_eq!(
                    (shown.text(), shown.continues, shown.decoration),
                    (whole.text(), whole.continues, whole.decoration)
                );
            }
        }
    }

    #[test]
    fn a_delta_of_an_endless_line_of_code_costs_its_last_row() {
        for line in [words(6000, " "), words(6000, ""), "漢字".repeat(9000)] {
            let text = format!("```\nfirst\n{line}");
            let mut document = Markdown::new();
            let read = |document: &Markdown| match &document.units[0].body {
                Body::Code(code) => code.long.values().map(|line| line.read).sum::<usize>(),
                _ => 0,
            };
            let mut before = 0;
            for delta in text.split_inclusive([' ', 'b', '字']) {
                document.push(delta);
                document.height(WIDTH);
                let now = read(&document);
                assert!(now - before <= 2 * super::super::long_line::LONG);
                assert!(before == 0 || now - before < 1000, "{}", now - before);
                before = now;
            }
            let whole = rows(&mut Markdown::from_text(&format!("{text}\n```")));
            let open: Vec<String> = rows(&mut document).iter().map(Row::text).collect();
            let expected: Vec<String> = whole.iter().map(Row::text).collect();
            assert_eq!(open, expected);
            document.push("\n```\n");
            assert!(rows(&mut document) == whole);
            let mut part = Vec::new();
            document.rows(WIDTH, 37..52, &mut part);
            assert!(part == whole[37..52]);
        }
    }

    #[test]
    fn another_width_is_cut_anew() {
        let text = words(6000, " ");
        let (_, mut document) = streamed(&text, 511);
        let mut whole = Markdown::from_text(&text);
        for width in [33, 120, WIDTH] {
            assert_eq!(document.height(width), whole.height(width));
        }
    }
}

//! A top-level block of a document: its source, its kind, and its rows for one width.

use std::cell::Cell;
use std::ops::Range;

use pulldown_cmark::Parser;

use super::code::CodeBlock;
use super::render::{Block, Nested, options, render};
use super::split::Kind;
use crate::term::face::Token;
use crate::term::highlight::LineTokens;
use crate::term::row::Row;

/// Destinations of reference links by normalised label. The first definition counts.
pub(super) type Definitions = std::collections::HashMap<String, String>;

/// A label as it is compared: case and the kind of white space do not count.
pub(super) fn normalise(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// One top-level block.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// Byte range in the document.
    pub(super) source: Range<usize>,
    /// A blank line stands above it.
    pub(super) after_blank: bool,
    /// It goes on with what the block above it begins.
    pub(super) rest: Option<Rest>,
    pub(super) body: Body,
}

/// How a piece of a block that is not its first is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rest {
    /// Columns in front of its rows.
    pub(super) indent: usize,
    /// Its first row continues the logical line above it.
    pub(super) continues: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Text(Text),
    Code(Box<CodeBlock>),
}

/// A block that is parsed.
#[derive(Debug, Clone, Default)]
pub(super) struct Text {
    /// Width that `height` is for; 0 when it must be laid out.
    width: usize,
    height: usize,
    pub(super) rows: Option<Vec<Row>>,
    /// References that nothing defined yet.
    unresolved: Vec<String>,
    /// Code blocks inside that wait to be highlighted, and what came back.
    pub(super) nested: Vec<Nested>,
    pub(super) tokens: Vec<Vec<LineTokens>>,
    /// The nested blocks were sent to the highlighter.
    pub(super) sent: bool,
}

impl Unit {
    pub(super) fn new(kind: Kind, start: usize, line: &str, after_blank: bool) -> Self {
        let body = match kind {
            Kind::Code(fence) => Body::Code(Box::new(CodeBlock::new(fence, line))),
            _ => Body::Text(Text::default()),
        };
        Self {
            kind,
            source: start..start + line.len(),
            after_blank,
            rest: None,
            body,
        }
    }

    /// A piece of a block of this kind.
    pub(super) fn rest(kind: Kind, source: Range<usize>, rest: Rest) -> Self {
        Self {
            kind,
            source,
            after_blank: false,
            rest: Some(rest),
            body: Body::Text(Text::default()),
        }
    }

    /// Whether a blank row separates this block from the one above it.
    pub(super) fn has_gap_after(&self, previous: Kind) -> bool {
        let tight = matches!(self.kind, Kind::Item { .. })
            && matches!(previous, Kind::Text | Kind::Item { .. });
        self.rest.is_none() && (self.after_blank || !tight)
    }

    /// Forgets the layout: the source grew or a reference got its definition.
    pub(super) fn invalidate(&mut self) {
        if let Body::Text(text) = &mut self.body {
            text.width = 0;
            text.rows = None;
        }
    }

    /// Drops the rows and keeps the height.
    pub(super) fn release(&mut self) {
        if let Body::Text(text) = &mut self.body {
            text.rows = None;
        }
    }

    /// Whether one of `labels` is what a reference in this block waits for.
    pub(super) fn waits_for(&self, labels: &[String]) -> bool {
        matches!(&self.body, Body::Text(text) if text.unresolved.iter().any(|label| labels.contains(label)))
    }

    /// Definitions in the block.
    pub(super) fn definitions(&self, document: &str) -> Vec<(String, String)> {
        let source = &document[self.source.clone()];
        if matches!(self.body, Body::Code(_)) || !source.contains("]:") {
            return Vec::new();
        }
        let parser = Parser::new_ext(source, options());
        let definitions = parser.reference_definitions();
        let mut found: Vec<(usize, String, String)> = definitions
            .iter()
            .map(|(label, definition)| {
                (
                    definition.span.start,
                    normalise(label),
                    definition.dest.to_string(),
                )
            })
            .collect();
        found.sort();
        found
            .into_iter()
            .map(|(_, label, destination)| (label, destination))
            .collect()
    }

    /// Rows of the block at `width`. `source` is its text as far as it is shown; `partial` an unfinished
    /// line of code.
    pub(super) fn height(&mut self, width: usize, shown: &Shown<'_>) -> usize {
        match &mut self.body {
            Body::Code(code) => code.height(width, shown.document, shown.partial),
            Body::Text(text) => {
                if text.width != width {
                    text.lay_out(width, self.kind, self.rest, shown);
                }
                text.height
            }
        }
    }

    /// Appends a range of the rows that `height` counted.
    pub(super) fn rows(&mut self, range: Range<usize>, shown: &Shown<'_>, out: &mut Vec<Row>) {
        match &mut self.body {
            Body::Code(code) => code.rows(range, shown.document, shown.partial, out),
            Body::Text(text) => {
                if text.rows.is_none() {
                    text.lay_out(text.width, self.kind, self.rest, shown);
                }
                let rows = text.rows.as_deref().unwrap_or_default();
                out.extend_from_slice(rows.get(range).unwrap_or_default());
            }
        }
    }
}

/// What of the document a block shows now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) document: &'a str,
    /// The block's own text.
    pub(super) source: &'a str,
    pub(super) partial: Option<&'a str>,
    pub(super) definitions: &'a Definitions,
    /// Another piece of the same block follows.
    pub(super) goes_on: bool,
    /// Counts the bytes that are laid out.
    pub(super) laid: &'a Cell<usize>,
}

impl Text {
    fn lay_out(&mut self, width: usize, kind: Kind, rest: Option<Rest>, shown: &Shown<'_>) {
        shown.laid.set(shown.laid.get() + shown.source.len());
        let number = match kind {
            Kind::Item { number, .. } => number,
            _ => None,
        };
        let block = Block {
            width,
            number,
            indent: rest.map_or(0, |rest| rest.indent),
            tokens: &self.tokens,
            ..Block::default()
        };
        let mut unresolved = Vec::new();
        let (mut rows, nested) = render(shown.source, block, |label| {
            let label = normalise(label);
            let found = shown.definitions.get(&label).cloned();
            if found.is_none() && !label.starts_with('^') && !unresolved.contains(&label) {
                unresolved.push(label);
            }
            found
        });
        if let (Some(rest), Some(first)) = (rest, rows.first_mut()) {
            first.continues = rest.continues;
        }
        if let Some(last) = rows.last_mut().filter(|_| shown.goes_on)
            && shown.source.ends_with([' ', '\n'])
        {
            // The parser drops the space at the end of what it takes for a paragraph.
            last.push(" ", Token::Text);
        }
        self.unresolved = unresolved;
        if !self.sent {
            self.nested = nested;
        }
        self.width = width;
        self.height = rows.len();
        self.rows = Some(rows);
    }
}

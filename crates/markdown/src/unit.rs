//! A top-level block of a document: its source, its kind, and its rows for one width.

use std::ops::Range;

use super::code::CodeBlock;
use super::context::{Carry, Context};
use super::render::{Block, Nested, render};
use super::shown::{Resolver, Shown};
use super::table_block::TableBlock;
use osier_term::highlight::LineTokens;
use osier_term::row::Row;

/// Maximum columns of text: longer lines are hard to read. Code and tables have no limit.
const MEASURE: usize = 110;

/// The columns of text in a document of this width.
pub(super) fn prose(width: usize) -> usize {
    width.min(MEASURE)
}

/// The kind of a top-level block. It decides whether a blank row separates two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Heading,
    /// An item of a top-level list; `number` is its number in an ordered list.
    Item {
        number: Option<u64>,
        first: bool,
    },
    Code,
}

/// A top-level block, an item of a top-level list, or a part of one that is long.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// Byte range in the document.
    pub(super) source: Range<usize>,
    /// Whether a blank line is above the block.
    pub(super) after_blank: bool,
    /// Set if the unit is a later part of a block.
    pub(super) part: Option<Box<Part>>,
    pub(super) body: Body,
}

/// How a later part of a block is parsed and drawn.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Source text that opens the containers of the part; not drawn.
    pub(super) opener: Box<str>,
    /// The containers of the part, drawn before its rows.
    pub(super) context: Context,
    pub(super) after_blank: bool,
    /// Set if the part begins in the middle of a paragraph.
    pub(super) carry: Option<Carry>,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Text(Text),
    Code(Box<CodeBlock>),
    Table(Box<TableBlock>),
}

/// A block that is parsed.
#[derive(Debug, Clone, Default)]
pub(super) struct Text {
    /// The width that `height` is for; 0 if the text must be laid out.
    width: usize,
    height: usize,
    pub(super) rows: Option<Vec<Row>>,
    /// References without a definition.
    unresolved: Vec<String>,
    /// Code blocks inside that are not highlighted yet, and the tokens of those that are.
    pub(super) nested: Vec<Nested>,
    pub(super) tokens: Vec<Vec<LineTokens>>,
    /// Whether the nested blocks were sent to the highlighter.
    pub(super) sent: bool,
}

impl Unit {
    pub(super) fn new(kind: Kind, start: usize, after_blank: bool, body: Body) -> Self {
        Self {
            kind,
            source: start..start,
            after_blank,
            part: None,
            body,
        }
    }

    /// A later part of a block of this kind.
    pub(super) fn part(kind: Kind, start: usize, part: Part, body: Body) -> Self {
        Self {
            part: Some(Box::new(part)),
            ..Self::new(kind, start, false, body)
        }
    }

    /// Whether a blank row separates this block from the one above it. A later part that is text
    /// draws this row itself.
    pub(super) fn has_gap_after(&self, previous: Kind) -> bool {
        if let Some(part) = &self.part {
            return !matches!(self.body, Body::Text(_)) && part.context.follows();
        }
        let tight = matches!(self.kind, Kind::Item { .. })
            && matches!(previous, Kind::Text | Kind::Item { .. });
        self.after_blank || !tight
    }

    /// The row that separates this block from the one above it.
    pub(super) fn gap(&self) -> Row {
        self.part
            .as_ref()
            .map_or_else(Row::default, |part| part.context.gap())
    }

    /// The source text that opens the containers of the unit's lines.
    pub(super) fn opener(&self) -> &str {
        self.part.as_ref().map_or("", |part| &part.opener)
    }

    /// Whether the unit begins in the middle of a paragraph.
    pub(super) fn is_flow(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.carry.is_some())
    }

    /// How the text of the unit is laid out, with `tokens` for the code blocks inside.
    pub(super) fn block<'a>(&'a self, width: usize, tokens: &'a [Vec<LineTokens>]) -> Block<'a> {
        let part = self.part.as_deref();
        let number = match self.kind {
            Kind::Item { number, .. } if part.is_none() => number,
            _ => None,
        };
        Block {
            width,
            number,
            opener: self.opener().len(),
            context: part.map(|part| &part.context),
            after_blank: part.is_some_and(|part| part.after_blank),
            carry: part.and_then(|part| part.carry.as_ref()),
            tokens,
            ..Block::default()
        }
    }

    /// Drops the layout of text, because the source grew.
    pub(super) fn invalidate(&mut self) {
        if let Body::Text(text) = &mut self.body {
            text.width = 0;
            text.rows = None;
        }
    }

    /// Drops the layout, because a reference got its definition.
    pub(super) fn resolve_again(&mut self) {
        self.invalidate();
        if let Body::Table(table) = &mut self.body {
            table.invalidate();
        }
    }

    /// Drops every layout, also that of code.
    pub(super) fn forget_layout(&mut self) {
        self.resolve_again();
        if let Body::Code(code) = &mut self.body {
            code.forget();
        }
    }

    /// Drops the rows and keeps the height.
    pub(super) fn release(&mut self) {
        if let Body::Text(text) = &mut self.body {
            text.rows = None;
        }
    }

    /// Whether a reference in this block has one of `labels` and no definition yet.
    pub(super) fn waits_for(&self, labels: &[String]) -> bool {
        let unresolved = match &self.body {
            Body::Text(text) => &text.unresolved,
            Body::Table(table) => &table.unresolved,
            Body::Code(_) => return false,
        };
        unresolved.iter().any(|label| labels.contains(label))
    }

    /// Rows of the block at `width`.
    pub(super) fn height(&mut self, width: usize, shown: &Shown<'_>) -> usize {
        if matches!(&self.body, Body::Text(text) if text.width != width) {
            self.lay_out(width, shown);
        }
        match &mut self.body {
            Body::Text(text) => text.height,
            Body::Code(code) => {
                code.keeps_source = shown.linear;
                code.height(width, shown.document, shown.partial)
            }
            Body::Table(table) => table.height(width, shown),
        }
    }

    /// Shows a range of the rows that `height` counted.
    pub(super) fn rows(
        &mut self,
        range: Range<usize>,
        shown: &Shown<'_>,
        show: &mut dyn FnMut(&Row),
    ) {
        if let Body::Text(text) = &self.body
            && text.rows.is_none()
        {
            self.lay_out(text.width, shown);
        }
        let mut built = Vec::new();
        let rows = match &mut self.body {
            Body::Text(text) => {
                let rows = text.rows.as_deref().unwrap_or_default();
                rows.get(range).unwrap_or_default()
            }
            Body::Code(code) => {
                code.rows(range, shown.document, shown.partial, &mut built);
                &built
            }
            Body::Table(table) => {
                table.rows(range, shown, &mut built);
                &built
            }
        };
        rows.iter().for_each(show);
    }

    /// Lays out the text.
    fn lay_out(&mut self, width: usize, shown: &Shown<'_>) {
        let Body::Text(text) = &self.body else {
            return;
        };
        let source = shown.text(self.opener());
        shown.parsed.set(shown.parsed.get() + source.len());
        let block = Block {
            linear: shown.linear,
            ..self.block(prose(width), &text.tokens)
        };
        let resolver = Resolver::new(shown);
        let (mut rows, nested) = render(&source, block, &|label| resolver.find(label));
        if shown.is_carried {
            rows.pop();
        }
        let unresolved = resolver.into_unresolved();
        let Body::Text(text) = &mut self.body else {
            return;
        };
        text.unresolved = unresolved;
        if !text.sent {
            text.nested = nested;
        }
        text.width = width;
        text.height = rows.len();
        text.rows = Some(rows);
    }
}

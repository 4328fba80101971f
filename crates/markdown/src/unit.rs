//! A top-level block of a document: its source, its kind, and its rows for one width.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use pulldown_cmark::Parser;

use super::code::CodeBlock;
use super::containers::{Container, inner};
use super::render::{Block, Context, Nested, options, render};
use super::split::Kind;
use super::table_block::TableBlock;
use osier_term::face::Token;
use osier_term::highlight::LineTokens;
use osier_term::row::Row;

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
    pub(super) rest: Option<Box<Rest>>,
    pub(super) body: Body,
}

/// How a part of a block that is not its first is shown.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    /// What its lines are inside of.
    pub(super) containers: Vec<Container>,
    /// What stands in front of its rows.
    pub(super) context: Context,
    /// The number of the item that it begins with.
    pub(super) number: Option<u64>,
    pub(super) after_blank: bool,
    pub(super) flow: Option<Flow>,
    /// It is nothing but markup, though it does not begin like that.
    pub(super) markup: bool,
}

/// A part that goes on in the middle of a paragraph: its first line bears no marks of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flow {
    /// Its first row continues the logical line above it.
    pub(super) continues: bool,
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

    /// A part of a block of this kind.
    pub(super) fn rest(kind: Kind, source: Range<usize>, rest: Rest) -> Self {
        Self {
            kind,
            source,
            after_blank: false,
            rest: Some(Box::new(rest)),
            body: Body::Text(Text::default()),
        }
    }

    /// Whether a blank row separates this block from the one above it. Text that goes on with a block
    /// brings its own.
    pub(super) fn has_gap_after(&self, previous: Kind) -> bool {
        if let Some(rest) = &self.rest {
            return !matches!(self.body, Body::Text(_)) && rest.context.follows();
        }
        let tight = matches!(self.kind, Kind::Item { .. })
            && matches!(previous, Kind::Text | Kind::Item { .. });
        self.after_blank || !tight
    }

    /// The row that separates this block from the one above it.
    pub(super) fn gap(&self) -> Row {
        self.rest
            .as_ref()
            .map_or_else(Row::default, |rest| rest.context.gap())
    }

    /// The number of the item that it begins with, when it goes on a list.
    pub(super) fn number(&self) -> Option<u64> {
        match (&self.rest, self.kind) {
            (Some(rest), _) => rest.number,
            (None, Kind::Item { number, .. }) => number,
            _ => None,
        }
    }

    /// What marks its lines.
    pub(super) fn containers(&self) -> &[Container] {
        self.rest.as_ref().map_or(&[], |rest| &rest.containers)
    }

    /// Whether it goes on in the middle of a paragraph.
    pub(super) fn flows(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.flow.is_some())
    }

    /// A text of it without the marks of what it is inside of.
    pub(super) fn inner<'a>(&self, text: &'a str) -> Cow<'a, str> {
        inner(self.containers(), text, self.flows())
    }

    /// Forgets the layout of text: the source grew.
    pub(super) fn invalidate(&mut self) {
        if let Body::Text(text) = &mut self.body {
            text.width = 0;
            text.rows = None;
        }
    }

    /// Forgets the layout: a reference got its definition.
    pub(super) fn resolve_again(&mut self) {
        self.invalidate();
        if let Body::Table(table) = &mut self.body {
            table.invalidate();
        }
    }

    /// Forgets every layout: it is shown in another way.
    pub(super) fn forget(&mut self) {
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

    /// Whether one of `labels` is what a reference in this block waits for.
    pub(super) fn waits_for(&self, labels: &[String]) -> bool {
        let unresolved = match &self.body {
            Body::Text(text) => &text.unresolved,
            Body::Table(table) => &table.unresolved,
            Body::Code(_) => return false,
        };
        unresolved.iter().any(|label| labels.contains(label))
    }

    /// Definitions in the block.
    pub(super) fn definitions(&self, document: &str) -> Vec<(String, String)> {
        let source = &document[self.source.clone()];
        if !matches!(self.body, Body::Text(_)) || !source.contains("]:") {
            return Vec::new();
        }
        let source = self.inner(source);
        let parser = Parser::new_ext(&source, options());
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

    /// Lays text out.
    fn lay_out(&mut self, width: usize, shown: &Shown<'_>) {
        let source = shown.text();
        let source = self.inner(&source);
        let rest = self.rest.as_deref();
        let number = self.number();
        let Body::Text(text) = &mut self.body else {
            return;
        };
        shown.laid.set(shown.laid.get() + source.len());
        let block = Block {
            width,
            number,
            context: rest.map(|rest| &rest.context),
            after_blank: rest.is_some_and(|rest| rest.after_blank),
            flows: rest.is_some_and(|rest| rest.flow.is_some()),
            markup: rest.is_some_and(|rest| rest.markup),
            linear: shown.linear,
            tokens: &text.tokens,
            ..Block::default()
        };
        let mut resolver = Resolver::new(shown);
        let (mut rows, nested) = render(&source, block, |label| resolver.find(label));
        if let Some(flow) = rest.and_then(|rest| rest.flow)
            && let Some(first) = rows.first_mut()
        {
            first.continues = flow.continues;
        }
        if let Some(last) = rows.last_mut().filter(|_| shown.goes_on)
            && source.ends_with([' ', '\n'])
        {
            // The parser drops the space at the end of what it takes for a paragraph.
            last.push(" ", Token::Text);
        }
        text.unresolved = resolver.unresolved;
        if !text.sent {
            text.nested = nested;
        }
        text.width = width;
        text.height = rows.len();
        text.rows = Some(rows);
    }
}

/// What of the document a block shows now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) document: &'a str,
    /// The block's complete lines.
    pub(super) complete: &'a str,
    /// The unfinished line, or what is open of it.
    pub(super) partial: Option<&'a str>,
    pub(super) definitions: &'a Definitions,
    /// The same paragraph goes on in the block below.
    pub(super) goes_on: bool,
    /// Without boxes and drawings.
    pub(super) linear: bool,
    /// Counts the bytes that are laid out.
    pub(super) laid: &'a Cell<usize>,
}

impl Shown<'_> {
    fn text(&self) -> Cow<'_, str> {
        match self.partial {
            None => Cow::Borrowed(self.complete),
            Some(partial) if self.complete.is_empty() => Cow::Borrowed(partial),
            Some(partial) => Cow::Owned([self.complete, partial].concat()),
        }
    }
}

/// Finds the destinations of references and remembers those that have none.
pub(super) struct Resolver<'a> {
    definitions: &'a Definitions,
    pub(super) unresolved: Vec<String>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(shown: &Shown<'a>) -> Self {
        Self {
            definitions: shown.definitions,
            unresolved: Vec::new(),
        }
    }

    pub(super) fn find(&mut self, label: &str) -> Option<String> {
        let label = normalise(label);
        let found = self.definitions.get(&label).cloned();
        if found.is_none() && !label.starts_with('^') && !self.unresolved.contains(&label) {
            self.unresolved.push(label);
        }
        found
    }
}

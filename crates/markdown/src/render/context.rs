//! The containers and lists that are open at a place in a block, so that the text behind it can be laid out alone.

use pulldown_cmark::{Event, Tag};

use super::{Block, Renderer, parse};
use osier_term::face::Face;
use osier_term::row::{Row, Span};

/// The prefix of the rows in an open container.
#[derive(Debug, Clone, Default)]
pub(super) struct Prefix {
    /// In front of the next row only: a bullet.
    pub(super) first: Option<Span>,
    pub(super) rest: Span,
    /// What text inside is.
    pub(super) base: Face,
    /// The block that ended last inside this one.
    pub(super) previous: Option<Previous>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Previous {
    Text,
    List,
    Other,
}

/// An open list.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// The number of the next item; `None` for bullets.
    pub(super) number: Option<u64>,
    /// Items so far.
    pub(super) items: usize,
}

/// What is open in `source` where the block at `place` begins. `None` when the parser begins none there, or
/// when a marker above has no row yet.
pub(in super::super) fn context_at(
    source: &str,
    block: Block<'_>,
    place: usize,
) -> Option<Context> {
    let mut renderer = Renderer::new(source, block);
    for (event, range) in parse(source, &|_| None) {
        if range.start < place || matches!(event, Event::End(_)) {
            renderer.event(event, range);
            continue;
        }
        if !renderer.inline.is_empty() && !begins_block(&event) {
            return None;
        }
        renderer.flush();
        return renderer.context();
    }
    None
}

/// The rows of `source`, which ends in the middle of a paragraph of several rows, and what is open there.
pub(in super::super) fn open_paragraph(
    source: &str,
    block: Block<'_>,
) -> (Vec<Row>, Option<Context>) {
    let mut renderer = Renderer::new(source, block);
    let mut open = None;
    for (event, range) in parse(source, &|_| None) {
        let is_text = is_inline(&event);
        if begins_block(&event) || matches!(event, Event::Html(_)) {
            open = None;
        }
        renderer.event(event, range);
        if is_text {
            open = renderer.is_in_paragraph().then(|| {
                let mut context = Context {
                    prefixes: renderer.prefixes.clone(),
                    lists: renderer.lists.clone(),
                };
                context
                    .prefixes
                    .iter_mut()
                    .for_each(|prefix| prefix.first = None);
                context
            });
        }
    }
    renderer.flush();
    // The first row of a paragraph can have a marker.
    let open = open.filter(|_| renderer.block.rows.len() > renderer.above + 1);
    (renderer.block.rows, open)
}

pub(super) fn is_inline(event: &Event<'_>) -> bool {
    let is_mark = matches!(
        event,
        Event::End(_) | Event::Html(_) | Event::TaskListMarker(_)
    );
    !is_mark && !begins_block(event)
}

pub(in super::super) fn begins_block(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => !matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ),
        Event::Rule => true,
        _ => false,
    }
}

/// What is open at a place inside a block, from the outermost.
#[derive(Debug, Clone)]
pub(in super::super) struct Context {
    /// The first is the document's, then one for each container.
    pub(super) prefixes: Vec<Prefix>,
    pub(super) lists: Vec<List>,
}

/// The document's own: nothing is open.
impl Default for Context {
    fn default() -> Self {
        Self {
            prefixes: vec![Prefix::default()],
            lists: Vec::new(),
        }
    }
}

impl Context {
    /// Containers that are open.
    pub(in super::super) fn depth(&self) -> usize {
        self.prefixes.len() - 1
    }

    /// The prefix of a row.
    pub(in super::super) fn spans(&self) -> Vec<Span> {
        rest_of(&self.prefixes)
    }

    /// Whether the innermost container has a block above.
    pub(in super::super) fn follows(&self) -> bool {
        self.prefixes
            .last()
            .is_some_and(|prefix| prefix.previous.is_some())
    }

    /// What is open behind a block that is neither text nor a list.
    pub(in super::super) fn behind_block(&self) -> Self {
        let mut context = self.clone();
        if let Some(prefix) = context.prefixes.last_mut() {
            prefix.previous = Some(Previous::Other);
        }
        context
    }

    /// Adds the item above the next item of a list, which the opener opens and the next item closes.
    pub(in super::super) fn push_closing_item(&mut self) {
        self.prefixes.push(Prefix::default());
    }

    /// The empty row between two blocks.
    pub(in super::super) fn gap(&self) -> Row {
        gap(self.spans())
    }
}

/// An empty row with the bars of quotes.
pub(super) fn gap(prefix: Vec<Span>) -> Row {
    let mut row = Row::default();
    if prefix.iter().any(|span| !span.text.trim().is_empty()) {
        row.spans = prefix;
        row.decoration = row.width() as u16;
    }
    row
}

pub(super) fn rest_of(prefixes: &[Prefix]) -> Vec<Span> {
    let shown = prefixes
        .iter()
        .filter(|prefix| !prefix.rest.text.is_empty());
    shown.map(|prefix| prefix.rest.clone()).collect()
}

//! The containers and lists that are open at a place in a block, so that the text after it can be laid out alone.

use osier_term::face::Face;
use osier_term::row::{Row, Span};

/// The prefix of the rows in an open container.
#[derive(Debug, Clone, Default)]
pub(super) struct Prefix {
    /// The prefix of the next row only: a bullet.
    pub(super) first: Option<Span>,
    pub(super) rest: Span,
    /// The face of the text inside.
    pub(super) base: Face,
    /// The block that ended last inside this container.
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
    /// The number of items so far.
    pub(super) items: usize,
}

/// The containers and lists that are open at a place inside a block, from the outermost.
#[derive(Debug, Clone)]
pub(super) struct Context {
    /// The prefix of the document, then one for each open container.
    pub(super) prefixes: Vec<Prefix>,
    pub(super) lists: Vec<List>,
}

/// The context of the document itself: nothing is open.
impl Default for Context {
    fn default() -> Self {
        Self {
            prefixes: vec![Prefix::default()],
            lists: Vec::new(),
        }
    }
}

impl Context {
    /// The number of open containers.
    pub(super) fn depth(&self) -> usize {
        self.prefixes.len() - 1
    }

    /// The prefix of a row.
    pub(super) fn spans(&self) -> Vec<Span> {
        rest_of(&self.prefixes)
    }

    /// Whether the innermost container has a block above.
    pub(super) fn follows(&self) -> bool {
        self.prefixes
            .last()
            .is_some_and(|prefix| prefix.previous.is_some())
    }

    /// The context after a block that is neither text nor a list.
    pub(super) fn behind_block(&self) -> Self {
        let mut context = self.clone();
        if let Some(prefix) = context.prefixes.last_mut() {
            prefix.previous = Some(Previous::Other);
        }
        context
    }

    /// Adds the item above the next item of a list: the opener opens it, and the next item closes
    /// it.
    pub(super) fn push_closing_item(&mut self) {
        self.prefixes.push(Prefix::default());
    }

    /// The empty row between two blocks.
    pub(super) fn gap(&self) -> Row {
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

/// The last row of the part above in the same paragraph, which is drawn as the beginning of this part.
#[derive(Debug, Clone)]
pub(super) struct Carry {
    pub(super) spans: Vec<Span>,
    /// The row continues the logical line above it.
    pub(super) continues: bool,
}

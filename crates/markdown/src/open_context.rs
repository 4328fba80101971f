//! The context in which a part of a block begins or ends, found by laying out the block up to there.

use pulldown_cmark::Event;

use super::context::Context;
use super::dialect::Dialect;
use super::parse::{begins_block, is_inline, parse};
use super::render::{Block, Renderer};
use osier_term::row::Row;

/// The context in `source` where the block at `place` begins. `None` when the parser finds no block there, or when a
/// marker above has no row yet.
pub(super) fn context_at(source: &str, block: Block<'_>, place: usize) -> Option<Context> {
    let mut renderer = Renderer::new(source, block);
    for (event, range) in parse(&Dialect::new(source), &|_| None) {
        if range.start < place || matches!(event, Event::End(_)) {
            renderer.event(event, range);
            continue;
        }
        if renderer.has_text() && !begins_block(&event) {
            return None;
        }
        renderer.flush();
        return renderer.context();
    }
    None
}

/// The rows of `source`, which ends in the middle of a paragraph of several rows, and the context
/// at that place.
pub(super) fn open_paragraph(source: &str, block: Block<'_>) -> (Vec<Row>, Option<Context>) {
    let mut renderer = Renderer::new(source, block);
    let mut open = None;
    for (event, range) in parse(&Dialect::new(source), &|_| None) {
        let is_text = is_inline(&event);
        if begins_block(&event) || matches!(event, Event::Html(_)) {
            open = None;
        }
        renderer.event(event, range);
        if is_text {
            open = renderer.paragraph_context();
        }
    }
    let (rows, count) = renderer.finish();
    (rows, open.filter(|_| count > 1))
}

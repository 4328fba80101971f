//! The events of a block, whose references point to the definitions of the whole document.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Tag};

use super::dialect::Dialect;
pub(super) use super::dialect::rules::begins_block;

/// Parses a block. `resolve` finds the destination of a reference. A definition of the document
/// overrides one in `source`, which can be the second with the same label.
pub(crate) fn parse<'a>(
    source: &'a Dialect<'_>,
    resolve: &'a dyn Fn(&str) -> Option<String>,
) -> impl Iterator<Item = (Event<'a>, Range<usize>)> {
    source.events(resolve).map(|(mut event, range)| {
        if let Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                id,
                ..
            }
            | Tag::Image {
                link_type,
                dest_url,
                id,
                ..
            },
        ) = &mut event
            && matches!(
                link_type,
                LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut
            )
            && let Some(destination) = resolve(id)
        {
            *dest_url = destination.into();
        }
        (event, range)
    })
}

pub(super) fn is_inline(event: &Event<'_>) -> bool {
    let is_mark = matches!(
        event,
        Event::End(_) | Event::Html(_) | Event::TaskListMarker(_)
    );
    !is_mark && !begins_block(event)
}

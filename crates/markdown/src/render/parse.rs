//! The events of a block, whose references point to the definitions of the whole document.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Parser, Tag};

use super::options;

/// `resolve` finds the destination of a reference.
/// A definition of the document comes before one of `source`, which can be the second of its label.
pub(crate) fn parse<'s>(
    source: &'s str,
    resolve: &dyn Fn(&str) -> Option<String>,
) -> impl Iterator<Item = (Event<'s>, Range<usize>)> {
    let callback = |broken: BrokenLink<'s>| {
        let destination = resolve(&broken.reference)?;
        Some((CowStr::from(destination), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(source, options(), Some(callback));
    parser.into_offset_iter().map(|(mut event, range)| {
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

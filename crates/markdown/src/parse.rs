//! The events of a block, whose references point to the definitions of the whole document.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag};

/// The dialect.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
}

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

pub(super) fn is_inline(event: &Event<'_>) -> bool {
    let is_mark = matches!(
        event,
        Event::End(_) | Event::Html(_) | Event::TaskListMarker(_)
    );
    !is_mark && !begins_block(event)
}

pub(super) fn begins_block(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => !matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ),
        Event::Rule => true,
        _ => false,
    }
}

//! The extensions of the dialect, and which events begin blocks.

use pulldown_cmark::{Event, Options, Tag};

/// The replacement for characters that must have no meaning: it has none in Markdown, and is
/// punctuation like them.
pub(crate) const NEUTRAL: u8 = b'%';

/// The extensions of the dialect.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH
}

pub(crate) fn begins_block(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => !matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ),
        Event::Rule => true,
        _ => false,
    }
}

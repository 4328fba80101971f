//! Finds the plain text of a document, as opposed to code, markup and the destinations of links.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::rules::{begins_block, options};

/// Plain text of a paragraph, heading or cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) range: Range<usize>,
    /// A number that differs between two texts with a border between them: another block, code,
    /// markup, the end of a link.
    pub(super) stretch: usize,
    /// The latest possible offset of the next border.
    pub(super) border: usize,
    pub(super) in_cell: bool,
}

/// The plain text of a document, in order.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) plain: Vec<Plain>,
    stretch: usize,
    in_code: bool,
    in_cell: bool,
    /// Whether the position is inside of `<https://example.org>`.
    in_autolink: bool,
}

impl Survey {
    /// Parses `text` without formulas.
    pub(super) fn new(text: &str) -> Self {
        let mut survey = Self::default();
        let options = options() - Options::ENABLE_MATH;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            survey.event(&event, range);
        }
        let mut border = text.len();
        let mut last = survey.stretch;
        for index in (0..survey.plain.len()).rev() {
            let next = survey.plain.get(index + 1).map(|plain| plain.range.start);
            let plain = &mut survey.plain[index];
            if plain.stretch != last {
                border = next.unwrap_or(text.len());
                last = plain.stretch;
            }
            plain.border = border;
        }
        survey
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        let is_border = begins_block(event)
            || match event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. })
                | Event::Code(_)
                | Event::InlineHtml(_)
                | Event::FootnoteReference(_) => true,
                Event::End(end) => !matches!(
                    end,
                    TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough
                ),
                _ => false,
            };
        self.stretch += usize::from(is_border);
        match event {
            Event::Start(Tag::CodeBlock(_)) => self.in_code = true,
            Event::End(TagEnd::CodeBlock) => self.in_code = false,
            Event::Start(Tag::TableCell) => self.in_cell = true,
            Event::End(TagEnd::TableCell) => self.in_cell = false,
            Event::Start(Tag::Link { link_type, .. }) => {
                self.in_autolink = matches!(link_type, LinkType::Autolink | LinkType::Email);
            }
            Event::End(TagEnd::Link) => self.in_autolink = false,
            Event::Text(_) if !self.in_code && !self.in_autolink => self.plain.push(Plain {
                range,
                stretch: self.stretch,
                border: 0,
                in_cell: self.in_cell,
            }),
            _ => {}
        }
    }
}

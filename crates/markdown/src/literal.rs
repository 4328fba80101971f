//! Markup and indented code without an end. While such a block is open it is cut where a line begins: what stands
//! above changes nothing about the lines below. As with paragraphs (`pieces`), the pieces are a view, and the
//! finished block is laid out once as a whole.

use super::Markdown;
use super::pieces::{LONG, PIECE};
use super::render::Context;
use super::unit::{Body, Rest};

/// What the lines of an open block are, which are shown as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literal {
    /// HTML.
    Markup,
    /// Code by its indent.
    Indented,
}

impl Markdown {
    /// Where the open block can be cut, when it is literal, stands in no container and is long.
    pub(super) fn find_literal_cut(&self) -> Option<(usize, Rest)> {
        let literal = self.splitter.literal()?;
        let open = self.units.last()?;
        let start = open.source.start;
        let cuttable = !self.finished && self.tail.is_none() && matches!(open.body, Body::Text(_));
        if !cuttable || self.line - start < LONG {
            return None;
        }
        let complete = &self.source[..self.line];
        let mut ends = complete.as_bytes()[start + PIECE..].iter().enumerate();
        let place = ends.find_map(|(at, byte)| {
            let place = start + PIECE + at + 1;
            let below = complete.get(place..).filter(|_| *byte == b'\n')?;
            let is_begun = match literal {
                Literal::Markup => true,
                Literal::Indented => is_code(below) && is_code(last_line(&complete[..place])),
            };
            (is_begun && !below.is_empty()).then_some(place)
        })?;
        let rest = Rest {
            containers: Vec::new(),
            context: Context::default(),
            number: None,
            after_blank: false,
            flow: None,
            markup: literal == Literal::Markup,
        };
        Some((place, rest))
    }
}

/// Whether a text begins with a line of indented code that is not blank.
fn is_code(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    (line.starts_with("    ") || line.starts_with('\t')) && !line.trim().is_empty()
}

fn last_line(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.rfind('\n')
        .map_or(text, |newline| &text[newline + 1..])
}

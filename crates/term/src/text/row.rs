//! Laid-out screen rows: spans of sanitized text without tabs that fit the layout width.

use std::sync::Arc;

use super::image::ImageRow;
use crate::text::face::{Face, Token};
use osier_base::text;

/// A run of text with one face.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    pub text: Box<str>,
    pub face: Face,
    /// The target of a click or an OSC 8 hyperlink.
    pub link: Option<Arc<str>>,
}

impl Span {
    pub fn new(text: impl Into<Box<str>>, face: impl Into<Face>) -> Self {
        Self {
            text: text.into(),
            face: face.into(),
            link: None,
        }
    }
}

/// The spans of a sentence. Text in backticks gets the code face, without the backticks.
pub fn sentence(text: &str, face: impl Into<Face>) -> Vec<Span> {
    let face = face.into();
    let code = Face {
        token: Token::Code,
        ..face
    };
    let parts = text::ticked(text).into_iter();
    parts
        .map(|(part, is_code)| Span::new(part, if is_code { code } else { face }))
        .collect()
}

/// One screen row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub spans: Vec<Span>,
    /// Continues the logical line of the row above; copying joins the two.
    pub continues: bool,
    /// Number of leading decoration columns (gutter, quote bar, list indent), which are never
    /// copied.
    pub decoration: u16,
    /// Face of the rest of the row up to the right edge; `None` leaves it empty.
    pub fill: Option<Face>,
    /// Keeps its order where other right-to-left text is reordered: the order of the words in a command is its meaning.
    pub is_logical: bool,
    /// The image row drawn behind the spans.
    pub image: Option<Arc<ImageRow>>,
}

impl Row {
    pub fn new(spans: Vec<Span>) -> Self {
        Self {
            spans,
            ..Self::default()
        }
    }

    /// A row with one span.
    pub fn plain(text: impl Into<Box<str>>, face: impl Into<Face>) -> Self {
        Self::new(vec![Span::new(text, face)])
    }

    /// Width in cells.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| text::width(&span.text)).sum()
    }

    /// The text of all spans.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| &*span.text).collect()
    }

    /// The row cut at `width`; a text that does not fit ends with `…`.
    #[must_use]
    pub fn truncated(mut self, width: usize) -> Self {
        let mut left = width;
        for span in &mut self.spans {
            let shown = text::truncate(&span.text, left);
            left = left.saturating_sub(text::width(&shown));
            if *shown != *span.text {
                span.text = shown.into();
            }
        }
        self
    }

    /// Appends a span.
    pub fn push(&mut self, text: impl Into<Box<str>>, face: impl Into<Face>) {
        self.spans.push(Span::new(text, face));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_ends_with_a_mark_also_where_it_is_as_long_in_bytes() {
        let cut = |text: &str| Row::plain(text, Token::Text).truncated(5).text();
        assert_eq!(cut("abcdefg"), "abcd…");
        assert_eq!(cut("abcdefgh"), "abcd…");
        assert_eq!(cut("abcde"), "abcde");
    }
}

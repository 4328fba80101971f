//! The text of a paragraph as spans: emphasis, links, and the footnote marks in plain text.

use std::sync::Arc;

use super::context::Carry;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::Span;

/// Collects the spans of one paragraph, heading or cell.
#[derive(Debug, Default)]
pub(super) struct Inline {
    spans: Vec<Span>,
    /// Text that is not yet in the last span, so that a long span is not copied for each addition.
    open: String,
    bold: usize,
    italic: usize,
    strike: usize,
    link: Option<Link>,
    /// Description of the image that is open.
    image: Option<(Arc<str>, String)>,
}

#[derive(Debug)]
struct Link {
    destination: Arc<str>,
    /// The index of the first span of the link's text.
    start: usize,
}

impl Inline {
    /// The text of a paragraph that continues after a row.
    pub(super) fn continuing(carry: &Carry) -> Self {
        Self {
            spans: carry.spans.clone(),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(super) fn emphasise(&mut self, emphasis: Emphasis, on: bool) {
        let count = match emphasis {
            Emphasis::BOLD => &mut self.bold,
            Emphasis::ITALIC => &mut self.italic,
            _ => &mut self.strike,
        };
        *count = if on {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
    }

    /// Adds text; `base` is the face of text in this block.
    pub(super) fn text(&mut self, text: &str, base: Face) {
        if let Some((_, alt)) = &mut self.image {
            alt.push_str(text);
            return;
        }
        let token = if self.link.is_some() {
            Token::Link
        } else {
            base.token
        };
        self.push(text, Face { token, ..base });
    }

    pub(super) fn code(&mut self, code: &str, base: Face) {
        if let Some((_, alt)) = &mut self.image {
            alt.push_str(code);
            return;
        }
        self.push(
            code,
            Face {
                token: Token::Code,
                ..base
            },
        );
    }

    fn push(&mut self, text: &str, mut face: Face) {
        let link = self.link.as_ref();
        for (on, emphasis) in [
            (self.bold > 0, Emphasis::BOLD),
            (self.italic > 0, Emphasis::ITALIC),
            (self.strike > 0, Emphasis::STRIKE),
            (link.is_some(), Emphasis::UNDERLINE),
        ] {
            if on {
                face = face.emphasised(emphasis);
            }
        }
        if text.is_empty() {
            return;
        }
        let link = link.map(|link| link.destination.clone());
        let is_same = |last: &Span| last.face == face && last.link == link;
        if !self.spans.last().is_some_and(is_same) {
            self.end_span();
            let text = Box::default();
            self.spans.push(Span { text, face, link });
        }
        // Line breaks become spaces.
        for (number, line) in text.split(['\n', '\r']).enumerate() {
            if number > 0 {
                self.open.push(' ');
            }
            self.open.push_str(line);
        }
    }

    /// Moves the open text into its span.
    fn end_span(&mut self) {
        if let Some(last) = self.spans.last_mut().filter(|_| !self.open.is_empty()) {
            let text = [&*last.text, &self.open].concat();
            last.text = text.into();
            self.open.clear();
        }
    }

    pub(super) fn open_link(&mut self, destination: &str) {
        self.link = Some(Link {
            destination: destination.into(),
            start: self.spans.len(),
        });
    }

    /// Ends a link. Its destination follows if it differs from the text and fits into `room`.
    pub(super) fn close_link(&mut self, room: usize) {
        self.end_span();
        let Some(link) = self.link.take() else {
            return;
        };
        let spans = self.spans.get(link.start..).unwrap_or_default();
        let text: String = spans.iter().map(|span| &*span.text).collect();
        let destination = &*link.destination;
        let shown = format!(" ({destination})");
        if !is_destination(&text, destination) && osier_base::text::width(&shown) <= room {
            self.spans.push(Span {
                text: shown.into(),
                face: Token::Muted.into(),
                link: Some(link.destination),
            });
        }
    }

    pub(super) fn open_image(&mut self, destination: &str) {
        if self.image.is_none() {
            self.image = Some((destination.into(), String::new()));
        }
    }

    /// Ends an image: a symbol, its description, and its address if that fits into `room`.
    pub(super) fn close_image(&mut self, room: usize) {
        let Some((destination, alt)) = self.image.take() else {
            return;
        };
        self.end_span();
        // An image in a data URL has no address to show.
        let is_embedded = destination.starts_with("data:");
        let name = match (alt.trim(), is_embedded) {
            ("", true) => "picture",
            ("", false) => &*destination,
            (alt, _) => alt,
        };
        let mut span = Span::new(format!("▣ {name}"), Token::Muted);
        if !is_embedded {
            span.face = Face::from(Token::Link).emphasised(Emphasis::UNDERLINE);
            span.link = Some(Arc::clone(&destination));
        }
        self.spans.push(span);
        let shown = format!(" ({destination})");
        if !is_embedded && name != &*destination && osier_base::text::width(&shown) <= room {
            self.spans.push(Span {
                text: shown.into(),
                face: Token::Muted.into(),
                link: Some(destination),
            });
        }
    }

    /// Returns the finished spans, with the marks of footnotes in the face of links.
    pub(super) fn take(&mut self) -> Vec<Span> {
        self.end_span();
        let mut marked = Vec::with_capacity(self.spans.len());
        for span in self.spans.drain(..) {
            if span.link.is_some() || span.face.token == Token::Code {
                marked.push(span);
            } else {
                mark(span, &mut marked);
            }
        }
        if let Some(link) = &mut self.link {
            link.start = 0;
        }
        marked
    }
}

/// Whether the text of a link is its destination.
fn is_destination(text: &str, destination: &str) -> bool {
    let bare = |url: &str| {
        let url = url.trim().trim_end_matches('/');
        let url = url.strip_prefix("mailto:").unwrap_or(url);
        let url = url.strip_prefix("https://").unwrap_or(url);
        url.strip_prefix("http://").unwrap_or(url).to_owned()
    };
    destination.is_empty() || bare(text) == bare(destination)
}

/// Splits a span at the footnote marks in it.
fn mark(span: Span, out: &mut Vec<Span>) {
    let text = &*span.text;
    let mut plain = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find("[^") {
        let start = at + found;
        let Some(length) = footnote_mark(&text[start..]) else {
            at = start + 1;
            continue;
        };
        if plain < start {
            out.push(Span::new(&text[plain..start], span.face));
        }
        let face = Face {
            token: Token::Link,
            ..span.face
        };
        at = start + length;
        out.push(Span::new(&text[start..at], face));
        plain = at;
    }
    if plain == 0 && !text.is_empty() {
        out.push(span);
    } else if plain < text.len() {
        out.push(Span::new(&text[plain..], span.face));
    }
}

/// Bytes of the footnote mark at the start of `text`.
fn footnote_mark(text: &str) -> Option<usize> {
    let label = text.strip_prefix("[^")?;
    let end = label.find(|char: char| char == ']' || char.is_whitespace())?;
    (end > 0 && label[end..].starts_with(']')).then_some(end + 3)
}

//! Invariants that hold for every document, for fuzzing.

use crate::{Markdown, plain};
use osier_base::text;
use osier_term::row::Row;

/// Minimum columns at which decoration leaves room for text.
const ROOM: usize = 30;

/// An answer of a model.
pub fn markdown(data: &[u8]) {
    let source = String::from_utf8_lossy(data);
    for (width, linear) in [(2, false), (9, true), (33, false), (80, true)] {
        let whole = rows(&mut new(linear, &[&source]), width);
        for row in &whole {
            check(row, width);
        }
        // Only short documents are drawn after every character.
        let sizes = if source.len() < 200 {
            &[1, 3, 17][..]
        } else {
            &[17]
        };
        for size in sizes {
            let streamed = rows(&mut streamed(linear, &source, *size, width), width);
            assert_eq!(streamed, whole, "chunks of {size}, {width} columns");
        }
    }
    assert_safe(&plain::first_line(&source));
    for image in plain::images(&source, 10) {
        assert_safe(&image.alt);
    }
    assert_safe(Markdown::from_text(&source).source());
}

fn new(linear: bool, deltas: &[&str]) -> Markdown {
    let mut document = Markdown::new();
    document.set_linear(linear);
    for delta in deltas {
        document.push(delta);
    }
    document.finish();
    document
}

/// The document, streamed in chunks and drawn after each.
fn streamed(linear: bool, source: &str, size: usize, width: usize) -> Markdown {
    let mut document = Markdown::new();
    document.set_linear(linear);
    let mut rest = source;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        document.push(chunk);
        rows(&mut document, width);
        rest = after;
    }
    document.finish();
    document
}

fn rows(document: &mut Markdown, width: usize) -> Vec<Row> {
    let height = document.height(width);
    let mut rows = Vec::new();
    document.rows(width, 0..height, &mut rows);
    assert_eq!(rows.len(), height);
    rows
}

fn check(row: &Row, width: usize) {
    assert!(row.width() <= width || width < ROOM, "{row:?}");
    for span in &row.spans {
        assert_safe(&span.text);
        assert!(!span.text.contains(['\n', '\t']), "{span:?}");
        if let Some(link) = &span.link {
            assert!(!link.contains(char::is_control), "{link:?}");
        }
    }
}

fn assert_safe(text: &str) {
    assert_eq!(text::sanitize(text), text, "{text:?}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_documents_fit() {
        osier_testing::fuzz::run_cases("markdown", super::markdown);
    }
}

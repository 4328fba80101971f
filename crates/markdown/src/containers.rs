//! Quotes, items and footnotes: what lines inside of them begin with, and the text that is left without it.

use std::borrow::Cow;

use super::scan::{Line, is_delimiter_row, is_underline};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Quote,
    Item {
        offset: usize,
        marker: u8,
        /// Nothing but the marker was seen so far.
        empty: bool,
    },
    Footnote,
}

impl Container {
    /// Whether the line goes on in it; then what marks that is eaten.
    pub(super) fn takes(&self, line: &mut Line<'_>) -> bool {
        match self {
            Self::Quote => line.quote(),
            Self::Item { empty: true, .. } if line.is_blank() => false,
            Self::Item { offset, .. } => indented(line, *offset),
            Self::Footnote => indented(line, 4),
        }
    }
}

/// Whether the line is blank or has the indent, which is eaten.
fn indented(line: &mut Line<'_>, offset: usize) -> bool {
    let inside = line.is_blank() || line.indent() >= offset;
    if inside {
        line.skip(offset);
    }
    inside
}

/// A line behind the marks of the containers, as far as it has them, and whether it goes on in all of them.
pub(super) fn behind_marks<'a>(containers: &[Container], line: &'a str) -> (Line<'a>, bool) {
    let mut left = Line::new(line);
    let goes_on = containers
        .iter()
        .all(|container| container.takes(&mut left));
    (left, goes_on)
}

/// A line inside of containers without their marks. One that goes on lazily, with fewer of them, stays the
/// text that it is in the whole, whatever it would begin inside.
pub(super) fn inner_line<'a>(containers: &[Container], line: &'a str) -> Cow<'a, str> {
    /// Columns from which on nothing begins but a table.
    const FAR: usize = 256;
    let (left, goes_on) = behind_marks(containers, line);
    let text = left.rest();
    if goes_on || left.is_blank() {
        return left.remainder();
    }
    if let Some(mark) = table_mark(text) {
        return Cow::Owned(format!("{}\\{}", &text[..mark], &text[mark..]));
    }
    let is_marked = text.starts_with(|char: char| char.is_ascii_punctuation());
    if is_marked && left.indent() > 3 || is_underline(text) {
        return Cow::Owned(format!("{:FAR$}{text}", ""));
    }
    Cow::Borrowed(text)
}

/// What in a line makes it a row of a table.
fn table_mark(text: &str) -> Option<usize> {
    match text.as_bytes().first() {
        Some(b'|') => Some(0),
        _ if !is_delimiter_row(text.trim_end()) => None,
        Some(b':') => Some(0),
        _ => text.find('|'),
    }
}

/// Whether a line goes on in all of the containers with something that shows.
pub(super) fn is_inside(containers: &[Container], line: &str) -> bool {
    let (left, goes_on) = behind_marks(containers, line);
    goes_on && !left.is_blank()
}

/// Lines inside of containers without their marks. `whole` says that the first line has none.
pub(super) fn inner<'a>(containers: &[Container], text: &'a str, whole: bool) -> Cow<'a, str> {
    if containers.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut inside = String::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index == 0 && whole {
            inside.push_str(line);
        } else {
            inside.push_str(&inner_line(containers, line));
        }
    }
    Cow::Owned(inside)
}

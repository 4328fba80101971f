//! Quotes, items and footnotes: what lines inside of them begin with, and the text that is left without it.

use std::borrow::Cow;

use super::scan::Line;

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

/// A line inside of containers without their marks. One that goes on lazily, with fewer of them, keeps
/// the rest.
pub(super) fn inner_line<'a>(containers: &[Container], line: &'a str) -> Cow<'a, str> {
    let mut left = Line::new(line);
    let goes_on = containers
        .iter()
        .all(|container| container.takes(&mut left));
    // What is indented so far is text, whatever it looks like; inside it might be less far.
    if !goes_on
        && left.indent() > 3
        && left
            .rest()
            .starts_with(|char: char| char.is_ascii_punctuation())
    {
        return Cow::Owned(format!("\\{}", left.rest()));
    }
    left.remainder()
}

/// Whether a line goes on in all of the containers with something that shows.
pub(super) fn is_inside(containers: &[Container], line: &str) -> bool {
    let mut left = Line::new(line);
    containers
        .iter()
        .all(|container| container.takes(&mut left))
        && !left.is_blank()
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

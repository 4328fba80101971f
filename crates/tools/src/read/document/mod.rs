//! The text of documents: Word, PowerPoint, Excel and OpenDocument files as Markdown. Headings, lists and tables keep their
//! form; sheets are tables with their names, slides have their notes, and footnotes are at the end.
//!
//! A file can be built to need any amount of memory and time. Its parts are read as streams, the unpacked size and the text
//! have limits, and references to places outside of the file are ignored.

mod container;
mod lists;
mod notes;
mod opendocument;
mod presentation;
mod sheet;
mod table;
mod word;
mod xml;

use std::io::Cursor;

pub(crate) use self::container::DocumentError;
use self::container::{Container, TEXT};

/// Bytes of a file at most.
pub(crate) const LIMIT: u64 = 32 * 1024 * 1024;

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Presentation,
    Sheet,
    OpenDocument,
}

/// Each kind with a part that only its files have.
const KINDS: [(&str, Kind); 3] = [
    ("word/document.xml", Kind::Word),
    ("ppt/presentation.xml", Kind::Presentation),
    ("xl/workbook.xml", Kind::Sheet),
];

impl Kind {
    /// The kind of a file that begins like this, as far as that is known.
    pub(crate) fn may_be(start: &[u8]) -> bool {
        start.starts_with(b"PK\x03\x04")
    }

    /// The kind of a file; `None` for other archives.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        if !Self::may_be(bytes) {
            return None;
        }
        let container = Container::open(Cursor::new(bytes)).ok()?;
        let known = KINDS.iter().find(|(part, _)| container.has(part));
        known.map(|(_, kind)| *kind).or_else(|| {
            let is_open = container.has("mimetype") && container.has("content.xml");
            is_open.then_some(Self::OpenDocument)
        })
    }
}

/// The text of a document, cut to its limit.
pub(crate) fn text(kind: Kind, bytes: &[u8]) -> Result<String, DocumentError> {
    let mut container = Container::open(Cursor::new(bytes))?;
    let mut text = match kind {
        Kind::Word => word::text(&mut container),
        Kind::Presentation => presentation::text(&mut container),
        Kind::Sheet => sheet::text(&mut container),
        Kind::OpenDocument => opendocument::text(&mut container),
    }?;
    if text.len() > TEXT {
        let end = text.floor_char_boundary(TEXT);
        text.truncate(end);
        text.push_str("\n\n[the rest of the document is left out]\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests;

//! Footnotes and endnotes: a mark in the text, and the notes at its end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::container::TEXT;
use super::table::Cell;

/// The notes of a text.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The names of the notes in the file, in the order of their marks.
    marks: Vec<String>,
    texts: BTreeMap<String, Cell>,
}

impl Notes {
    /// Adds a note. Returns its mark.
    pub(super) fn mark(&mut self, name: String) -> String {
        self.marks.push(name);
        format!("[^{}]", self.marks.len())
    }

    /// Adds a paragraph to the note with this name.
    pub(super) fn add(&mut self, name: &str, paragraph: &str) {
        let text = self.texts.entry(name.to_owned()).or_default();
        text.push(paragraph.trim());
    }

    /// Adds a paragraph to the note that was marked last.
    pub(super) fn add_to_last(&mut self, paragraph: &str) {
        if let Some(name) = self.marks.last().cloned() {
            self.add(&name, paragraph);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Writes the notes.
    pub(super) fn write(&self, text: &mut String) {
        for (number, name) in (1..).zip(&self.marks) {
            if text.len() > TEXT {
                return;
            }
            let note = self.texts.get(name).map_or("", Cell::text);
            let _ = writeln!(text, "[^{number}]: {note}");
        }
    }
}

//! The current text of a block, and the destinations of its references.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Destinations of reference links by normalised label. The first definition applies.
pub(super) type Definitions = std::collections::HashMap<String, String>;

/// A label for comparison: case and the kind of white space do not matter.
pub(super) fn normalise(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// The text of a block as it is drawn now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) document: &'a str,
    /// The block's complete lines.
    pub(super) complete: &'a str,
    /// The unfinished line, or the rest of it.
    pub(super) partial: Option<&'a str>,
    pub(super) definitions: &'a Definitions,
    /// Whether the part below draws the last row, because the paragraph continues there.
    pub(super) is_carried: bool,
    /// Whether tables and diagrams are text.
    pub(super) linear: bool,
    /// Counts the bytes that are parsed.
    pub(super) parsed: &'a Cell<usize>,
}

impl<'a> Shown<'a> {
    pub(super) fn text(&self, opener: &str) -> Cow<'a, str> {
        match (opener, self.partial) {
            ("", None) => Cow::Borrowed(self.complete),
            ("", Some(partial)) if self.complete.is_empty() => Cow::Borrowed(partial),
            _ => Cow::Owned([opener, self.complete, self.partial.unwrap_or_default()].concat()),
        }
    }
}

/// Finds the destinations of references and collects the labels that have none.
pub(super) struct Resolver<'a> {
    definitions: &'a Definitions,
    unresolved: RefCell<Vec<String>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(shown: &Shown<'a>) -> Self {
        Self {
            definitions: shown.definitions,
            unresolved: RefCell::default(),
        }
    }

    pub(super) fn find(&self, label: &str) -> Option<String> {
        let label = normalise(label);
        let found = self.definitions.get(&label).cloned();
        let mut unresolved = self.unresolved.borrow_mut();
        if found.is_none() && !label.starts_with('^') && !unresolved.contains(&label) {
            unresolved.push(label);
        }
        found
    }

    pub(super) fn into_unresolved(self) -> Vec<String> {
        self.unresolved.into_inner()
    }
}

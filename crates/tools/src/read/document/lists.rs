//! The marks of list items.

use std::collections::{BTreeMap, BTreeSet};

/// The levels of list styles whose items have numbers, and the last numbers.
#[derive(Debug, Default)]
pub(super) struct Lists {
    numbered: BTreeSet<(String, usize)>,
    last: BTreeMap<(String, usize), usize>,
}

impl Lists {
    /// The items of this level of a style have numbers.
    pub(super) fn add_numbered(&mut self, style: &str, level: usize) {
        self.numbered.insert((style.to_owned(), level));
    }

    pub(super) fn is_numbered(&self, style: &str, level: usize) -> bool {
        self.numbered.contains(&(style.to_owned(), level))
    }

    /// A list of this style begins: its numbers do, too.
    pub(super) fn restart(&mut self, style: &str) {
        self.last.retain(|(known, _), _| known != style);
    }

    /// The start of the line of the next item, from level 0 on.
    pub(super) fn item(&mut self, style: &str, level: usize) -> String {
        let indent = "  ".repeat(level.min(9));
        let is_numbered = self.is_numbered(style, level);
        self.last
            .retain(|(known, inner), _| known != style || *inner <= level);
        if !is_numbered {
            return format!("{indent}- ");
        }
        let last = self.last.entry((style.to_owned(), level)).or_default();
        *last += 1;
        format!("{indent}{last}. ")
    }
}

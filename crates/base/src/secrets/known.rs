//! Values that are secret whatever their format: the keys that osier itself uses.

use crate::sort;
use parking_lot::RwLock;
use std::ops::Range;

/// Shorter values are placeholders (`k`, `ollama`, `EMPTY`), which would match words.
const SHORTEST: usize = 8;

static KNOWN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Adds values that exports must not contain. They stay in memory only.
pub fn add_known(values: impl IntoIterator<Item = String>) {
    let mut known = KNOWN.write();
    for value in values {
        let value = value.trim();
        if value.len() >= SHORTEST && !known.iter().any(|have| have == value) {
            known.push(value.to_owned());
        }
    }
}

/// Where these values are in `text`.
pub fn find_known(text: &str) -> Vec<Range<usize>> {
    let known = KNOWN.read();
    let mut found: Vec<Range<usize>> = known
        .iter()
        .flat_map(|value| text.match_indices(value.as_str()))
        .map(|(at, value)| at..at + value.len())
        .collect();
    sort::by_key(&mut found, |range| range.start);
    found
}

//! Finds symbols by a part of their names.

use std::path::Path;

use crate::definition::stored;
use crate::index::Index;
use crate::kind::Kind;

/// A symbol of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolMatch {
    pub name: String,
    pub kind: Kind,
    /// The path below the root.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// The symbols that match `query`, the best first.
pub(crate) fn find(
    root: &Path,
    index: &Index,
    query: &str,
    limit: usize,
    may_show: &dyn Fn(&Path) -> bool,
) -> Vec<SymbolMatch> {
    let query = query.as_bytes();
    if query.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(u32, usize, usize)> = Vec::new();
    for (number, row) in index.rows.iter().enumerate() {
        for (place, symbol) in stored(index.definitions(row)).enumerate() {
            let Some(score) = score(symbol.name.as_bytes(), query) else {
                continue;
            };
            let used = u32::from(symbol.uses) + (row.rank.clamp(0.0, 100.0) as u32);
            found.push(((score << 12) + used, number, place));
        }
    }
    found.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
    let mut matches = Vec::new();
    for (_, number, place) in found.into_iter().take(limit * 20) {
        if matches.len() == limit {
            break;
        }
        let row = &index.rows[number];
        let path = index.path(row);
        let symbol = stored(index.definitions(row)).nth(place);
        if let Some(symbol) = symbol
            && may_show(&root.join(path))
        {
            matches.push(SymbolMatch {
                name: symbol.name.to_owned(),
                kind: symbol.kind,
                path: path.to_owned(),
                line: symbol.line,
            });
        }
    }
    matches
}

/// How well a name matches: completely, at its start, in its middle, or with other letters in
/// between.
fn score(name: &[u8], query: &[u8]) -> Option<u32> {
    if name.len() < query.len() {
        return None;
    }
    if name.eq_ignore_ascii_case(query) {
        return Some(if name == query { 200 } else { 190 });
    }
    // A shorter name is closer to the query.
    let close = 30_u32.saturating_sub((name.len() - query.len()) as u32);
    if name[..query.len()].eq_ignore_ascii_case(query) {
        return Some(140 + close);
    }
    let mut parts = name.windows(query.len());
    if parts.any(|part| part.eq_ignore_ascii_case(query)) {
        return Some(90 + close);
    }
    if query.len() < 3 {
        return None;
    }
    let mut rest = name.iter();
    let mut letters = query.iter();
    letters
        .all(|letter| rest.any(|other| other.eq_ignore_ascii_case(letter)))
        .then_some(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_exactly_then_by_start_then_inside() {
        let names = [
            "CartItems",
            "Cart",
            "cart",
            "ShoppingCart",
            "carve_top",
            "Tart",
        ];
        let mut found: Vec<_> = names
            .iter()
            .filter_map(|name| Some((score(name.as_bytes(), b"cart")?, *name)))
            .collect();
        found.sort_by(|one, other| other.cmp(one));
        let found: Vec<_> = found.into_iter().map(|(_, name)| name).collect();
        assert_eq!(
            found,
            ["cart", "Cart", "CartItems", "ShoppingCart", "carve_top"]
        );
        assert_eq!(score(b"anything", b"zz"), None);
    }
}

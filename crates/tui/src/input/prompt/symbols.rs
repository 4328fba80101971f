//! Symbols of the project for `@`: one search at a time runs in the session, so that typing never waits.

use std::sync::Arc;

use osier_protocol::ProjectSymbol;

/// Shorter words match too many symbols.
const SHORTEST: usize = 2;
/// Longer words name no symbol.
const LONGEST: usize = 100;

/// The symbols that are known, and the search that runs.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// The last query.
    query: String,
    request: u64,
    is_running: bool,
    /// The word that `found` matches.
    found_for: String,
    found: Arc<Vec<ProjectSymbol>>,
}

impl Symbols {
    /// The search for `query`, unless it was made already or another search runs.
    pub(super) fn want(&mut self, query: &str) -> Option<(u64, String)> {
        let is_name = !query.contains(['/', '.', ':', '"']);
        let is_wanted = (SHORTEST..=LONGEST).contains(&query.len()) && is_name;
        if !is_wanted || self.is_running || self.query == query {
            return None;
        }
        self.request += 1;
        self.is_running = true;
        query.clone_into(&mut self.query);
        Some((self.request, query.to_owned()))
    }

    /// Stores the result of a search; returns whether it belongs to the running search.
    pub(super) fn store(&mut self, request: u64, found: Arc<Vec<ProjectSymbol>>) -> bool {
        if request != self.request || !self.is_running {
            return false;
        }
        self.is_running = false;
        self.found_for.clone_from(&self.query);
        self.found = found;
        true
    }

    /// The known symbols for `query`.
    pub(super) fn of(&self, query: &str) -> Vec<&ProjectSymbol> {
        if self.found_for.is_empty() || !query.starts_with(&self.found_for) {
            return Vec::new();
        }
        let is_same = query == self.found_for;
        let query = query.to_lowercase();
        let matches =
            |symbol: &&ProjectSymbol| is_same || symbol.name.to_lowercase().contains(&query);
        self.found.iter().filter(matches).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Arc<Vec<ProjectSymbol>> {
        let symbol = |name: &&str| ProjectSymbol {
            name: (*name).to_owned(),
            kind: "function".to_owned(),
            path: "a.rs".to_owned(),
            line: 1,
        };
        Arc::new(names.iter().map(symbol).collect())
    }

    #[test]
    fn one_search_runs_at_a_time_and_a_longer_word_narrows_its_result() {
        let mut symbols = Symbols::default();
        for query in ["", "c", "src/ca", "a.b"] {
            assert_eq!(symbols.want(query), None, "{query}");
        }
        assert_eq!(symbols.want("ca"), Some((1, "ca".to_owned())));
        assert_eq!(symbols.want("car"), None);
        assert!(!symbols.store(7, found(&[])));
        assert!(symbols.store(1, found(&["cart_total", "catch"])));
        let names = |query: &str| -> Vec<String> {
            let found = symbols.of(query).into_iter();
            found.map(|symbol| symbol.name.clone()).collect()
        };
        assert_eq!(names("ca"), ["cart_total", "catch"]);
        assert_eq!(names("car"), ["cart_total"]);
        assert_eq!(names("x"), [""; 0]);
        assert_eq!(symbols.want("car"), Some((2, "car".to_owned())));
    }
}

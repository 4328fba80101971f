//! Finds files by a part of their name in slices, so that keys are echoed meanwhile. A longer query searches the
//! results of the shorter one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::candidates::CANDIDATE_LIMIT;
use osier_base::text;

/// Paths between two checks of the clock.
const SLICE: usize = 256;

/// How well a path matches, the best first: score, then the shorter, then the earlier in the alphabet.
type Rank = (u32, Reverse<usize>, Reverse<u32>);

/// A running search and its results so far.
pub(super) struct Find {
    paths: Arc<Vec<String>>,
    query: String,
    pattern: Pattern,
    matcher: Matcher,
    /// The paths to search; all when not set.
    among: Option<Vec<u32>>,
    /// How many of them are done.
    next: usize,
    /// The paths that match, in their order.
    matching: Vec<u32>,
    /// The best of them, the worst on top.
    best: BinaryHeap<Reverse<Rank>>,
}

osier_base::opaque_debug!(Find);

impl Find {
    /// A search for `query`; it reuses the results of `before` when it extends its query.
    pub(super) fn new(query: &str, paths: &Arc<Vec<String>>, before: Option<Self>) -> Self {
        let narrows = |before: &Self| {
            Arc::ptr_eq(&before.paths, paths) && before.is_done() && narrows(&before.query, query)
        };
        let among = before.filter(narrows).map(|before| before.matching);
        Self {
            paths: Arc::clone(paths),
            query: query.to_owned(),
            pattern: Pattern::parse(
                &text::composed(query),
                CaseMatching::Smart,
                Normalization::Smart,
            ),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            among,
            next: 0,
            matching: Vec::new(),
            best: BinaryHeap::new(),
        }
    }

    pub(super) fn is_for(&self, query: &str, paths: &Arc<Vec<String>>) -> bool {
        self.query == query && Arc::ptr_eq(&self.paths, paths)
    }

    fn count(&self) -> usize {
        self.among.as_ref().map_or(self.paths.len(), Vec::len)
    }

    pub(super) fn is_done(&self) -> bool {
        self.next >= self.count()
    }

    /// Continues the search until it is done or `is_enough`, for at least one slice. Returns
    /// whether better paths were found.
    pub(super) fn go_on(&mut self, is_enough: impl Fn() -> bool) -> bool {
        let mut buffer = Vec::new();
        let mut changed = false;
        while !self.is_done() {
            let end = self.count().min(self.next + SLICE);
            for place in self.next..end {
                changed |= self.visit(place, &mut buffer);
            }
            self.next = end;
            if is_enough() {
                break;
            }
        }
        changed
    }

    fn visit(&mut self, place: usize, buffer: &mut Vec<char>) -> bool {
        let index = match &self.among {
            Some(among) => among[place],
            None => place as u32,
        };
        let path = &self.paths[index as usize];
        let composed = text::composed(path);
        let haystack = Utf32Str::new(&composed, buffer);
        let Some(score) = self.pattern.score(haystack, &mut self.matcher) else {
            return false;
        };
        self.matching.push(index);
        let rank = (score, Reverse(path.len()), Reverse(index));
        if self.best.len() < CANDIDATE_LIMIT {
            self.best.push(Reverse(rank));
            return true;
        }
        let is_better = self.best.peek().is_some_and(|worst| rank > worst.0);
        if is_better {
            self.best.pop();
            self.best.push(Reverse(rank));
        }
        is_better
    }

    /// The best ones that are known, the best first.
    pub(super) fn found(&self) -> Vec<&str> {
        let mut ranks: Vec<Rank> = self.best.iter().map(|rank| rank.0).collect();
        ranks.sort_unstable_by(|left, right| right.cmp(left));
        let paths = ranks.into_iter().map(|(.., Reverse(index))| index as usize);
        paths.map(|index| self.paths[index].as_str()).collect()
    }
}

/// Whether every match of `longer` is also a match of `shorter`. A pattern with special characters can have other
/// matches.
fn narrows(shorter: &str, longer: &str) -> bool {
    let is_plain = |char: char| char.is_alphanumeric() || "/._-".contains(char);
    !shorter.is_empty()
        && longer.starts_with(shorter)
        && longer.chars().all(is_plain)
        && !longer.ends_with('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(count: usize) -> Arc<Vec<String>> {
        let path = |number: usize| format!("src/part{}/file{number}.rs", number % 100);
        Arc::new((0..count).map(path).collect())
    }

    fn all(find: &mut Find) -> Vec<String> {
        find.go_on(|| false);
        find.found().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn slices_find_what_one_search_finds() {
        let paths = paths(3_000);
        let expected = all(&mut Find::new("file29", &paths, None));
        assert_eq!(expected.len(), CANDIDATE_LIMIT);
        assert_eq!(expected[0], "src/part29/file29.rs");
        let mut find = Find::new("file29", &paths, None);
        let mut slices = 0;
        while !find.is_done() {
            find.go_on(|| true);
            slices += 1;
        }
        assert_eq!(slices, 3_000_usize.div_ceil(SLICE));
        assert_eq!(find.found(), expected);
    }

    #[test]
    fn a_longer_query_searches_the_results_of_the_shorter_one() {
        let paths = paths(3_000);
        let mut first = Find::new("file2", &paths, None);
        first.go_on(|| false);
        let matching = first.matching.len();
        assert!(matching < 3_000, "{matching}");
        let mut longer = Find::new("file29", &paths, Some(first));
        assert_eq!(longer.count(), matching);
        assert_eq!(
            all(&mut longer),
            all(&mut Find::new("file29", &paths, None))
        );
        // A negated pattern starts again, and so does another list.
        let again = Find::new("file29 !x", &paths, Some(longer));
        assert_eq!(again.count(), 3_000);
        let mut done = Find::new("file2", &paths, None);
        done.go_on(|| false);
        assert_eq!(
            Find::new("file29", &self::paths(10), Some(done)).count(),
            10
        );
    }
}

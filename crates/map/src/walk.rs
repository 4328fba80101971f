//! Lists the files of a project, by the same rules as the tools that search.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_walk::{Entry, Rules, WalkError, visit, walk};

use crate::index::NO_LANGUAGE;
use crate::language;

/// Maximum number of files of a map.
pub(crate) const FILE_LIMIT: usize = 200_000;

/// A file that exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FoundFile {
    /// The path below the root.
    pub(crate) path: String,
    pub(crate) language: u8,
}

/// The number of threads that work on a map.
pub(crate) fn threads() -> usize {
    let count = std::thread::available_parallelism();
    count.map_or(2, |count| count.get().clamp(1, 8))
}

/// The files below `root`, sorted, and whether there are more.
pub(crate) fn files(root: &Path) -> (Vec<FoundFile>, bool) {
    let count = AtomicUsize::new(0);
    let add = |found: &mut Vec<FoundFile>, entry: Result<Entry, WalkError>| {
        let file = entry.ok().filter(|entry| entry.kind.is_file());
        let path = file.as_ref().and_then(|file| {
            // A name that is not UTF-8 cannot be named by a model.
            file.path.strip_prefix(root).ok()?.to_str()
        });
        let Some(path) = path else {
            return ControlFlow::Continue(());
        };
        found.push(FoundFile {
            path: path.to_owned(),
            language: language::of_path(path).unwrap_or(NO_LANGUAGE),
        });
        // One file more than the limit shows that there are more.
        if count.fetch_add(1, Ordering::Relaxed) > FILE_LIMIT {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let mut found = visit(root, Rules::SEARCH, threads(), add).concat();
    found.sort_unstable();
    let is_cut = found.len() > FILE_LIMIT;
    found.truncate(FILE_LIMIT);
    (found, is_cut)
}

/// Whether there are at least `count` source files below `root`. Checks a limited number of files.
pub fn has_sources(root: &Path, count: usize) -> bool {
    const ENTRIES: usize = 5000;
    let entries = walk(root, Rules::SEARCH)
        .take(ENTRIES)
        .filter_map(Result::ok);
    let sources = entries.filter(|entry| {
        let path = entry.path.to_str();
        entry.kind.is_file() && path.is_some_and(|path| language::of_path(path).is_some())
    });
    sources.take(count).count() == count
}

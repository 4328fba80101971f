//! Lists the files of a project on several threads, by the same rules as the tools that search: hidden files and what
//! .gitignore, .ignore, .rgignore and git's own excludes name are skipped, and links are not followed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};

use crate::index::{NO_LANGUAGE, Version};
use crate::language;

/// Files of a map at most.
pub(crate) const FILE_LIMIT: usize = 200_000;

/// A file that exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FoundFile {
    /// Below the root.
    pub(crate) path: String,
    pub(crate) language: u8,
}

/// The threads that work on a map.
pub(crate) fn threads() -> usize {
    let count = std::thread::available_parallelism();
    count.map_or(2, |count| count.get().clamp(1, 8))
}

/// The files below `root`, sorted, and whether there are more.
pub(crate) fn files(root: &Path) -> (Vec<FoundFile>, bool) {
    let shared = Shared {
        root,
        count: AtomicUsize::new(0),
        found: Mutex::default(),
    };
    let walk = walk(root).threads(threads()).build_parallel();
    walk.visit(&mut Visitors(&shared));
    let parts = shared.found.into_inner();
    let mut found = parts.unwrap_or_else(PoisonError::into_inner).concat();
    found.sort_unstable();
    found.dedup();
    let is_cut = found.len() > FILE_LIMIT;
    found.truncate(FILE_LIMIT);
    (found, is_cut)
}

/// Whether there are at least `count` source files below `root`. Looks at a limited number of files.
pub fn has_sources(root: &Path, count: usize) -> bool {
    const ENTRIES: usize = 5000;
    let entries = walk(root).build().take(ENTRIES).filter_map(Result::ok);
    let sources = entries.filter(|entry| {
        let path = entry.path().to_str();
        entry.file_type().is_some_and(|kind| kind.is_file())
            && path.is_some_and(|path| language::of_path(path).is_some())
    });
    sources.take(count).count() == count
}

fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git");
    walk.add_custom_ignore_filename(".rgignore");
    walk
}

/// The version of an open or found file.
pub(crate) fn version(metadata: &std::fs::Metadata) -> Version {
    use std::os::unix::fs::MetadataExt as _;
    Version {
        size: metadata.len(),
        modified: metadata
            .mtime()
            .saturating_mul(1_000_000_000)
            .saturating_add(metadata.mtime_nsec()),
    }
}

struct Shared<'a> {
    root: &'a Path,
    count: AtomicUsize,
    found: Mutex<Vec<Vec<FoundFile>>>,
}

struct Visitors<'a>(&'a Shared<'a>);

impl<'a> ParallelVisitorBuilder<'a> for Visitors<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 'a> {
        Box::new(Visitor {
            shared: self.0,
            found: Vec::new(),
        })
    }
}

struct Visitor<'a> {
    shared: &'a Shared<'a>,
    found: Vec<FoundFile>,
}

impl ParallelVisitor for Visitor<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        let Ok(entry) = entry else {
            return WalkState::Continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return WalkState::Continue;
        }
        let path = entry.path().strip_prefix(self.shared.root);
        // A name that is not UTF-8 cannot be named by a model.
        if let Some(path) = path.ok().and_then(Path::to_str)
            && !path.is_empty()
        {
            let language = language::of_path(path).unwrap_or(NO_LANGUAGE);
            self.found.push(FoundFile {
                path: path.to_owned(),
                language,
            });
            // The excess tells that there are more.
            if self.shared.count.fetch_add(1, Ordering::Relaxed) > FILE_LIMIT {
                return WalkState::Quit;
            }
        }
        WalkState::Continue
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        let found = std::mem::take(&mut self.found);
        let parts = self.shared.found.lock();
        parts.unwrap_or_else(PoisonError::into_inner).push(found);
    }
}

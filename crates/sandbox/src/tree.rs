//! The directories below one, read again only when they change: every command needs to know what is in them.

use std::collections::HashMap;
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

/// Directory entries that are read.
pub(super) const MAX_ENTRIES: usize = 1_000_000;

/// Longer than the steps in which file systems count time.
const STEP: Duration = Duration::from_secs(2);

/// The facts about one directory that a feature needs.
pub(super) trait Contents: Clone {
    /// Adds an entry of the directory. Returns whether the directories below it belong to the tree.
    fn add(&mut self, entry: &DirEntry) -> bool;
}

/// The directories below one. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Tree<C> {
    root: Arc<Mutex<Option<Folder<C>>>>,
    max_entries: usize,
}

/// There are more entries than [`MAX_ENTRIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

#[derive(Debug, Clone)]
struct Folder<C> {
    path: PathBuf,
    /// When its entries last changed, since 1970. Unlike the time of modification, a command cannot set it. `None` if a
    /// later change could have the same time.
    changed: Option<Duration>,
    entries: usize,
    below: Vec<Self>,
    contents: C,
}

impl<C> Default for Tree<C> {
    fn default() -> Self {
        Self::limited(MAX_ENTRIES)
    }
}

impl<C> Tree<C> {
    pub(super) fn limited(max_entries: usize) -> Self {
        Self {
            root: Arc::default(),
            max_entries,
        }
    }
}

impl<C: Contents> Tree<C> {
    /// Calls `with` for every directory below `root`, the upper ones first, without those behind symbolic links. `empty` is the
    /// contents of an empty directory.
    ///
    /// # Errors
    /// The tree is too large: `with` was called for a part of it.
    pub(super) fn visit(
        &self,
        root: &Path,
        empty: &C,
        mut with: impl FnMut(&C),
    ) -> Result<(), TooLarge> {
        let mut known = self.root.lock();
        if known.as_ref().is_some_and(|known| known.path != root) {
            *known = None;
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let top = known.get_or_insert_with(|| Folder::new(root.to_owned(), empty));
        let mut entries = 0;
        let mut level = vec![top];
        while !level.is_empty() {
            let mut next = Vec::new();
            for folder in level {
                folder.update(empty, now, self.max_entries.saturating_sub(entries));
                entries += folder.entries;
                with(&folder.contents);
                if entries > self.max_entries {
                    return Err(TooLarge);
                }
                next.extend(folder.below.iter_mut());
            }
            level = next;
        }
        Ok(())
    }
}

impl<C: Contents> Folder<C> {
    fn new(path: PathBuf, empty: &C) -> Self {
        Self {
            path,
            changed: None,
            entries: 0,
            below: Vec::new(),
            contents: empty.clone(),
        }
    }

    /// Reads the directory again if it has changed, and one entry more than `left` at most.
    fn update(&mut self, empty: &C, now: Duration, left: usize) {
        let changed = time_of_change(&self.path, now);
        if changed.is_some() && self.changed == changed {
            return;
        }
        let known = std::mem::take(&mut self.below).into_iter();
        let mut known: HashMap<PathBuf, Self> =
            known.map(|folder| (folder.path.clone(), folder)).collect();
        self.changed = changed;
        self.entries = 0;
        self.contents = empty.clone();
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries.take(left + 1) {
            self.entries += 1;
            if self.entries > left {
                self.changed = None;
            }
            if self.contents.add(&entry) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                let folder = known.remove(&path);
                self.below
                    .push(folder.unwrap_or_else(|| Self::new(path, empty)));
            }
        }
    }
}

/// `None` for a time of just now, because file systems count in steps.
fn time_of_change(path: &Path, now: Duration) -> Option<Duration> {
    let data = fs::symlink_metadata(path).ok()?;
    let seconds = Duration::from_secs(data.ctime().try_into().ok()?);
    let changed = seconds + Duration::from_nanos(data.ctime_nsec().try_into().ok()?);
    (changed + STEP < now).then_some(changed)
}

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
    folders: Arc<Mutex<HashMap<PathBuf, Folder<C>>>>,
    max_entries: usize,
}

/// There are more entries than [`MAX_ENTRIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

#[derive(Debug, Clone)]
struct Folder<C> {
    /// When its entries last changed, since 1970. Unlike the time of modification, a command cannot set it. `None` if a
    /// later change could have the same time.
    changed: Option<Duration>,
    entries: usize,
    below: Vec<PathBuf>,
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
            folders: Arc::default(),
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
        let mut known = self.folders.lock();
        let mut entries = 0;
        let mut current = HashMap::with_capacity(known.len());
        let mut level = vec![root.to_owned()];
        let mut is_complete = true;
        while !level.is_empty() && is_complete {
            let mut next = Vec::new();
            for path in level {
                let left = self.max_entries.saturating_sub(entries);
                let folder = Folder::read(&path, known.remove(&path), empty, left);
                entries += folder.entries;
                next.extend(folder.below.iter().cloned());
                with(&folder.contents);
                current.insert(path, folder);
                is_complete = entries <= self.max_entries;
                if !is_complete {
                    break;
                }
            }
            level = next;
        }
        *known = current;
        if is_complete { Ok(()) } else { Err(TooLarge) }
    }
}

impl<C: Contents> Folder<C> {
    /// Reads one entry more than `left` at most.
    fn read(path: &Path, known: Option<Self>, empty: &C, left: usize) -> Self {
        let changed = time_of_change(path);
        if let Some(known) = known
            && changed.is_some()
            && known.changed == changed
        {
            return known;
        }
        let mut folder = Self {
            changed,
            entries: 0,
            below: Vec::new(),
            contents: empty.clone(),
        };
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries.take(left + 1) {
            folder.entries += 1;
            if folder.contents.add(&entry) && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folder.below.push(entry.path());
            }
        }
        folder
    }
}

/// `None` for a time of just now, because file systems count in steps.
fn time_of_change(path: &Path) -> Option<Duration> {
    let data = fs::symlink_metadata(path).ok()?;
    let seconds = Duration::from_secs(data.ctime().try_into().ok()?);
    let changed = seconds + Duration::from_nanos(data.ctime_nsec().try_into().ok()?);
    let now = SystemTime::UNIX_EPOCH.elapsed().ok()?;
    (changed + STEP < now).then_some(changed)
}

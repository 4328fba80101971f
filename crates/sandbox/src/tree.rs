//! The directories below one, read again only when they change: every command needs to know what is in them.
//!
//! osier compares the times of changes of a few directories. It watches many directories instead,
//! so that the cost of a command does not depend on their number.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::watch::{Number, Unwatched, Watch};

/// Directory entries that are read.
pub(super) const MAX_ENTRIES: usize = 1_000_000;

/// Longer than the steps in which file systems count time.
const STEP: Duration = Duration::from_secs(2);

/// From this number on, directories are watched: fewer are compared in less than a millisecond.
const WATCHED_FROM: usize = 500;

/// The facts about one directory that a feature needs.
pub(super) trait Contents: Clone {
    /// Adds an entry of the directory. Returns whether the directories below it belong to the tree.
    fn add(&mut self, entry: &DirEntry) -> bool;
}

/// The directories below one. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Tree<C> {
    known: Arc<Mutex<Known<C>>>,
    max_entries: usize,
    watched_from: usize,
}

/// There are more entries than [`MAX_ENTRIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

#[derive(Debug)]
struct Known<C> {
    top: Option<Folder<C>>,
    watching: Watching,
}

#[derive(Debug)]
enum Watching {
    /// There were few directories.
    NotYet,
    On(Watch),
    /// There are too many to watch all.
    Never,
}

#[derive(Debug, Clone)]
struct Folder<C> {
    path: PathBuf,
    /// The device and the number of the directory that was read.
    identity: Option<(u64, u64)>,
    /// When its entries last changed, since 1970. Unlike the time of modification, a command cannot set it. `None` if a
    /// later change could have the same time.
    changed: Option<Duration>,
    /// The directory, and those above it in the tree, are watched.
    watched: Option<Number>,
    entries: usize,
    below: Vec<Self>,
    contents: C,
}

/// How a visit finds out what has changed.
struct Visit<'a> {
    now: Duration,
    watch: Option<&'a mut Watch>,
    /// The watched directories that have changed; `None` if any could have.
    changes: Option<HashSet<Number>>,
    is_limit_reached: bool,
}

impl<C> Default for Tree<C> {
    fn default() -> Self {
        Self::limited(MAX_ENTRIES)
    }
}

impl<C> Tree<C> {
    pub(super) fn limited(max_entries: usize) -> Self {
        let known = Known {
            top: None,
            watching: Watching::NotYet,
        };
        Self {
            known: Arc::new(Mutex::new(known)),
            max_entries,
            watched_from: WATCHED_FROM,
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
        let known = &mut *self.known.lock();
        // A watch reports nothing about the directories above the tree.
        let identity = Facts::of(root).map(|facts| facts.identity);
        let is_same = |top: &Folder<C>| top.path == root && top.identity == identity;
        if !known.top.as_ref().is_some_and(is_same) {
            known.top = None;
            known.watching = Watching::NotYet;
        }
        let mut visit = Visit {
            now: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
            changes: None,
            watch: None,
            is_limit_reached: false,
        };
        if let Watching::On(watch) = &mut known.watching {
            visit.changes = watch.changes();
            visit.watch = Some(watch);
        }
        let top = known
            .top
            .get_or_insert_with(|| Folder::new(root.to_owned(), empty));
        let (mut entries, mut folders) = (0, 0);
        let mut level = vec![(top, true)];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (folder, can_watch) in level {
                let left = self.max_entries.saturating_sub(entries);
                folder.update(empty, &mut visit, can_watch, left);
                entries += folder.entries;
                folders += 1;
                with(&folder.contents);
                if entries > self.max_entries {
                    return Err(TooLarge);
                }
                let is_watched = folder.watched.is_some();
                next.extend(folder.below.iter_mut().map(|below| (below, is_watched)));
            }
            level = next;
        }
        let is_limit_reached = visit.is_limit_reached;
        match &known.watching {
            _ if is_limit_reached => known.watching = Watching::Never,
            Watching::NotYet if folders >= self.watched_from => {
                known.watching = Watch::start().map_or(Watching::Never, Watching::On);
            }
            _ => {}
        }
        Ok(())
    }
}

impl<C: Contents> Folder<C> {
    fn new(path: PathBuf, empty: &C) -> Self {
        Self {
            path,
            identity: None,
            changed: None,
            watched: None,
            entries: 0,
            below: Vec::new(),
            contents: empty.clone(),
        }
    }

    /// Reads the directory again if it has changed, and one entry more than `left` at most.
    fn update(&mut self, empty: &C, visit: &mut Visit<'_>, can_watch: bool, left: usize) {
        let watched = self.watched.take().filter(|_| can_watch);
        if visit.is_unchanged(watched) {
            self.watched = watched;
            return;
        }
        let mut facts = Facts::of(&self.path);
        if let Some(found) = facts.filter(|_| can_watch && visit.watch.is_some()) {
            // Before it is read, so that no change is missed.
            self.watched = visit.watch(&self.path, found);
            facts = Facts::of(&self.path);
        }
        let changed = facts.and_then(|facts| facts.settled(visit.now));
        let identity = facts.map(|facts| facts.identity);
        let is_same = identity.is_some() && self.identity == identity;
        if is_same && changed.is_some() && self.changed == changed {
            return;
        }
        let mut known = HashMap::new();
        let below = std::mem::take(&mut self.below).into_iter();
        // Another directory can have other ones with the same names below it.
        if is_same {
            known.extend(below.map(|folder| (folder.path.clone(), folder)));
        }
        self.identity = identity;
        self.changed = changed;
        self.entries = 0;
        self.contents = empty.clone();
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries.take(left + 1) {
            self.entries += 1;
            if self.entries > left {
                self.changed = None;
                self.watched = None;
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

impl Visit<'_> {
    fn is_unchanged(&self, watched: Option<Number>) -> bool {
        let changes = self.changes.as_ref();
        watched.is_some_and(|number| changes.is_some_and(|changes| !changes.contains(&number)))
    }

    fn watch(&mut self, path: &Path, facts: Facts) -> Option<Number> {
        let watched = self.watch.as_mut()?.add(path, facts.identity.0);
        if watched == Err(Unwatched::Limit) {
            self.is_limit_reached = true;
            self.watch = None;
        }
        watched.ok()
    }
}

/// A directory, and when it changed.
#[derive(Debug, Clone, Copy)]
struct Facts {
    identity: (u64, u64),
    changed: Option<Duration>,
}

impl Facts {
    fn of(path: &Path) -> Option<Self> {
        let data = fs::symlink_metadata(path).ok()?;
        let seconds = data.ctime().try_into().map(Duration::from_secs);
        let below = data.ctime_nsec().try_into().map(Duration::from_nanos);
        Some(Self {
            identity: (data.dev(), data.ino()),
            changed: seconds
                .ok()
                .zip(below.ok())
                .map(|(seconds, below)| seconds + below),
        })
    }

    /// `None` for a time of just now, because file systems count in steps.
    fn settled(self, now: Duration) -> Option<Duration> {
        self.changed.filter(|changed| *changed + STEP < now)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Names(Vec<PathBuf>);

    impl Contents for Names {
        fn add(&mut self, entry: &DirEntry) -> bool {
            self.0.push(entry.path());
            true
        }
    }

    fn names(tree: &Tree<Names>, root: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let visited = tree.visit(root, &Names::default(), |folder| {
            found.extend(folder.0.iter().cloned());
        });
        assert_eq!(visited, Ok(()));
        found.sort();
        found
    }

    /// A number below `most` of a fixed sequence.
    fn next(state: &mut u64, most: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 33) % most
    }

    #[test]
    fn watched_directories_are_as_directories_that_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let away = folder.path().join("away");
        fs::create_dir(&root).unwrap();
        fs::create_dir(&away).unwrap();
        let watched = Tree::<Names> {
            watched_from: 0,
            ..Tree::default()
        };
        let mut state = 7;
        for step in 0..3000 {
            // Few names, so that directories are replaced by others with the same names.
            let path = |state: &mut u64| {
                let above = if next(state, 8) == 0 { &away } else { &root };
                let depth = 1 + next(state, 3);
                let names = (0..depth).map(|_| ["a", "b", "c"][next(state, 3) as usize]);
                above.join(names.collect::<PathBuf>())
            };
            let (from, to) = (path(&mut state), path(&mut state));
            let _ = match next(&mut state, 6) {
                0 => fs::remove_dir_all(&from),
                1 => fs::write(&from, ""),
                2 => fs::rename(&from, &to),
                3 => rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    &from,
                    rustix::fs::CWD,
                    &to,
                    rustix::fs::RenameFlags::EXCHANGE,
                )
                .map_err(Into::into),
                4 => fs::remove_file(&from),
                _ => fs::create_dir_all(&from),
            };
            // Also several changes between two visits.
            if next(&mut state, 3) > 0 {
                let read = names(&Tree::default(), &root);
                assert_eq!(names(&watched, &root), read, "{step}");
            }
        }
        assert!(matches!(watched.known.lock().watching, Watching::On(_)));
        // The directory above the tree is another one.
        fs::rename(&root, folder.path().join("old")).unwrap();
        fs::create_dir_all(root.join("new")).unwrap();
        assert_eq!(names(&watched, &root), [root.join("new")]);
    }
}

//! Stamps of the files of a directory, to detect changes without reading the files.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

/// Size, times, mode and inode of one file: a write changes one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: u64,
}

/// The files below a directory that are not ignored, by relative path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamps(BTreeMap<PathBuf, Stamp>);

impl Stamp {
    /// The stamp of a file or symbolic link; `None` if it does not exist.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        (!metadata.is_dir()).then(|| Self {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        })
    }
}

impl Stamps {
    /// Reads the stamps of all files below `root`. Blocks.
    pub(crate) fn of(root: &Path) -> Self {
        let mut walk = WalkBuilder::new(root);
        walk.hidden(false)
            .require_git(false)
            .parents(false)
            .filter_entry(|entry| entry.file_name() != ".git");
        let files = walk.build().filter_map(Result::ok).filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_owned();
            Some((path, Stamp::of(entry.path())?))
        });
        Self(files.collect())
    }

    pub(crate) fn get(&self, path: &Path) -> Option<Stamp> {
        self.0.get(path).copied()
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// The paths that were created, deleted or written between this and `later`.
    pub(crate) fn changed(&self, later: &Self) -> Vec<PathBuf> {
        let gone = self.0.keys().filter(|path| !later.0.contains_key(*path));
        let other = later
            .0
            .iter()
            .filter(|(path, stamp)| self.0.get(*path) != Some(*stamp));
        let mut changed: Vec<PathBuf> = gone.chain(other.map(|(path, _)| path)).cloned().collect();
        changed.sort();
        changed
    }
}

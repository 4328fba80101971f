//! Stamps of the files of a directory, to detect changes without reading the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use osier_base::file_stamp::FileStamp;
use osier_walk::{Rules, walk};

/// The files below a directory that are not ignored, by relative path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamps(BTreeMap<PathBuf, FileStamp>);

impl Stamps {
    /// Reads the stamps of all files below `root`. Blocks.
    pub(crate) fn of(root: &Path) -> Self {
        let entries = walk(root, Rules::COPY).filter_map(Result::ok);
        let files = entries.filter(|entry| !entry.kind.is_dir());
        let stamps = files.filter_map(|file| {
            let path = file.path.strip_prefix(root).ok()?.to_owned();
            Some((path, FileStamp::at(&file.path).ok()?))
        });
        Self(stamps.collect())
    }

    pub(crate) fn get(&self, path: &Path) -> Option<FileStamp> {
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

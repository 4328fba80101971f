//! Lists the folders that osier searches without being asked. A walk visits each folder once, so that links to a
//! folder above end, and it ends after a number of entries.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of entries of a walk.
const ENTRIES: usize = 20_000;

/// A walk through folders.
#[derive(Debug)]
pub struct Walk {
    /// Folders with another real path are not listed.
    root: Option<PathBuf>,
    /// Device and inode of the visited folders.
    seen: HashSet<(u64, u64)>,
    left: usize,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub path: PathBuf,
    /// The entry is a folder, or a link to a folder.
    pub is_folder: bool,
}

impl Walk {
    /// A walk that stays below `root` after all symbolic links; without `root`, it can lead
    /// anywhere.
    pub fn new(root: Option<&Path>) -> Self {
        Self {
            root: root.map(|root| root.canonicalize().unwrap_or_else(|_| root.to_owned())),
            seen: HashSet::new(),
            left: ENTRIES,
        }
    }

    /// Whether the walk ended before everything was listed.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The entries of `folder`, sorted; none if it cannot be read, was listed before or is outside of the root.
    pub fn entries(&mut self, folder: &Path) -> Vec<Entry> {
        let Ok(metadata) = fs::metadata(folder) else {
            return Vec::new();
        };
        if !metadata.is_dir()
            || !self.is_inside(folder)
            || !self.seen.insert((metadata.dev(), metadata.ino()))
        {
            return Vec::new();
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let path = entry.path();
            let is_folder = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => kind.is_dir(),
                _ => path.is_dir(),
            };
            entries.push(Entry { path, is_folder });
        }
        entries.sort();
        entries
    }

    /// The files of `folder` and `depth` levels below it, sorted by folder. A result of more than
    /// `most` files is incomplete.
    pub fn files(&mut self, folder: &Path, depth: usize, most: usize) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.collect(folder, depth, most, &mut found);
        found
    }

    fn collect(&mut self, folder: &Path, depth: usize, most: usize, found: &mut Vec<PathBuf>) {
        for entry in self.entries(folder) {
            if found.len() > most {
                return;
            }
            if !entry.is_folder {
                found.push(entry.path);
            } else if depth > 0 {
                self.collect(&entry.path, depth - 1, most, found);
            }
        }
    }

    fn is_inside(&self, folder: &Path) -> bool {
        self.root.as_ref().is_none_or(|root| {
            folder
                .canonicalize()
                .is_ok_and(|real| real.starts_with(root))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn all(walk: &mut Walk, folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in walk.entries(folder) {
            if entry.is_folder {
                all(walk, &entry.path, found);
            }
            found.push(entry.path);
        }
    }

    #[test]
    fn a_walk_visits_each_folder_below_its_root_once() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(place.path().join("outside")).unwrap();
        crate::atomic_file::write(&place.path().join("outside/file"), b"").unwrap();
        for name in ["a/b/up", "a/b/up2"] {
            symlink("..", root.join(name)).unwrap();
        }
        symlink("../outside", root.join("out")).unwrap();
        let names = |root: Option<&Path>| {
            let mut found = Vec::new();
            all(&mut Walk::new(root), &place.path().join("root"), &mut found);
            let names = found.iter().map(|path| path.strip_prefix(place.path()));
            let names = names.map(|path| path.unwrap().display().to_string());
            names.collect::<Vec<_>>()
        };
        let inside = ["root/a/b/up", "root/a/b/up2", "root/a/b", "root/a"];
        let expected = |rest: &[&'static str]| [&inside, rest].concat();
        assert_eq!(names(Some(&root)), expected(&["root/out"]));
        assert_eq!(names(None), expected(&["root/out/file", "root/out"]));
    }
}

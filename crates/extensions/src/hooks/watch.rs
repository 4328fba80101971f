//! The watch for files that hooks of `FileChanged` name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use osier_base::watch::{Watched, Watcher};
use tokio::sync::mpsc::UnboundedReceiver;

/// The largest number of watched files.
const MOST: usize = 1_000;

/// The file names in a matcher, which `|` separates. Patterns do not count.
pub(super) fn names(matcher: &str) -> Vec<String> {
    let is_name =
        |name: &&str| !name.is_empty() && !name.contains(['*', '?', '[', '(', '\\', '^', '$']);
    let names = matcher.split('|').map(str::trim).filter(is_name);
    names.map(str::to_owned).collect()
}

/// A running watch; dropping it ends the watch.
pub(super) struct FileWatch {
    cwd: PathBuf,
    /// The watched files, each with whether it exists.
    files: BTreeMap<PathBuf, bool>,
    changes: UnboundedReceiver<Vec<PathBuf>>,
    _watcher: Watcher,
}

impl FileWatch {
    /// Starts to watch the files `names`, which are relative to `cwd`; `None` if the system cannot start a watch. Blocks.
    pub(super) fn start(cwd: PathBuf, names: &[String]) -> Option<Self> {
        let mut files = BTreeMap::new();
        add(&mut files, names, &cwd);
        Self::of(cwd, files)
    }

    fn of(cwd: PathBuf, files: BTreeMap<PathBuf, bool>) -> Option<Self> {
        let watched = files.keys().cloned().map(Watched::File).collect();
        let (watcher, changes) = Watcher::start(watched).ok()?;
        Some(Self {
            cwd,
            files,
            changes,
            _watcher: watcher,
        })
    }

    /// Waits for the next changes, and returns the files with the kind of their changes: `change`, `add` or `unlink`. `None` when the watch
    /// has ended.
    pub(super) async fn next(&mut self) -> Option<Vec<(PathBuf, &'static str)>> {
        let changed = self.changes.recv().await?.into_iter();
        let changed = changed.map(|path| {
            let exists = path.exists();
            let existed = self.files.insert(path.clone(), exists);
            let what = match (existed.unwrap_or_default(), exists) {
                (false, _) => "add",
                (true, true) => "change",
                (true, false) => "unlink",
            };
            (path, what)
        });
        Some(changed.collect())
    }

    /// Watches these files, too. Starts a new watch if one of them is new.
    pub(super) fn add(mut self, names: &[String]) -> Option<Self> {
        let count = self.files.len();
        add(&mut self.files, names, &self.cwd);
        if self.files.len() == count {
            return Some(self);
        }
        Self::of(self.cwd, self.files)
    }
}

/// Adds the files with whether they exist, up to [`MOST`].
fn add(files: &mut BTreeMap<PathBuf, bool>, names: &[String], cwd: &Path) {
    for name in names {
        let path = cwd.join(name);
        if files.len() < MOST {
            let exists = path.exists();
            files.entry(path).or_insert(exists);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_names_files_or_is_a_pattern() {
        assert_eq!(names(".envrc|.env"), [".envrc", ".env"]);
        assert_eq!(names("Cargo.toml"), ["Cargo.toml"]);
        assert_eq!(names(""), [""; 0]);
        assert_eq!(names(r".*\.env|a"), ["a"]);
    }
}

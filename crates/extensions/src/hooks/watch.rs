//! Files that hooks of `FileChanged` watch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use osier_base::watch::{Watched, Watcher};
use tokio::sync::mpsc::UnboundedReceiver;

/// Files that are watched.
const MOST: usize = 1_000;

/// The names of files in a matcher, which stand between `|`; a pattern names none.
pub(super) fn names(matcher: &str) -> Vec<String> {
    let is_name =
        |name: &&str| !name.is_empty() && !name.contains(['*', '?', '[', '(', '\\', '^', '$']);
    let names = matcher.split('|').map(str::trim).filter(is_name);
    names.map(str::to_owned).collect()
}

/// A running watch of files. Dropping it ends it.
pub(super) struct FileWatch {
    cwd: PathBuf,
    /// Whether each file exists.
    files: BTreeMap<PathBuf, bool>,
    changes: UnboundedReceiver<Vec<PathBuf>>,
    _watcher: Watcher,
}

impl FileWatch {
    /// Watches the files `names`, which are relative to `cwd`; `None` if the system has no thread for it. Blocks.
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

    /// The next files that have changed, and how: `change`, `add` or `unlink`. `None` when the watch has ended.
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

    /// Watches more files.
    pub(super) fn add(mut self, names: &[String]) -> Option<Self> {
        let count = self.files.len();
        add(&mut self.files, names, &self.cwd);
        if self.files.len() == count {
            return Some(self);
        }
        Self::of(self.cwd, self.files)
    }
}

/// Adds files, and whether they exist.
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

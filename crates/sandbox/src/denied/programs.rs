//! The files of denied programs: by their names in the folders of `PATH`, and under other names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::tree::MAX_ENTRIES;

/// Where programs are, besides the folders of `PATH`.
pub(super) const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Files that are many programs, by the name with which they are started. Where other programs are links to them, nothing would
/// run without them.
const MULTI_CALL: [&str; 5] = ["busybox", "coreutils", "sbase-box", "toybox", "uutils"];

/// Where a program can have names besides those in the folders of `PATH`: `git` has 140 in `libexec/git-core`.
const INSTALLED: [&str; 2] = ["/opt", "/usr"];

/// The files of denied programs in the folders of `PATH`.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// When the folders changed, a time that no program can set.
    state: Vec<Option<(i64, i64)>>,
    pub(super) files: Vec<PathBuf>,
    /// The files of many programs that stay.
    pub(super) many: BTreeSet<PathBuf>,
}

/// Whether a program of this name is one of many in its file.
pub(crate) fn is_one_of_many(name: &str) -> bool {
    let folders = folders();
    let files = folders.iter().map(|folder| folder.join(name));
    let files = files.filter_map(|file| file.canonicalize().ok());
    let files: Vec<PathBuf> = files.filter(|file| is_multi_call(file)).collect();
    let many = (!files.is_empty()).then(|| many_programs(&folders));
    many.is_some_and(|(_, needed)| files.iter().any(|file| needed.contains(file)))
}

fn folders() -> BTreeSet<PathBuf> {
    let variable = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&variable).filter(|folder| folder.is_absolute());
    let folders = named.chain(FOLDERS.map(PathBuf::from));
    folders
        .filter_map(|folder| folder.canonicalize().ok())
        .collect()
}

impl Programs {
    /// Searches for the programs `names` again if the folders of `PATH` have changed.
    pub(super) fn update(&mut self, names: &[&str]) {
        let folders = folders();
        let changed = |folder: &PathBuf| {
            let data = fs::metadata(folder).ok()?;
            Some((data.ctime(), data.ctime_nsec()))
        };
        let state: Vec<Option<(i64, i64)>> = folders.iter().map(changed).collect();
        if self.state != state {
            *self = Self {
                state,
                ..Self::of(names, &folders, &INSTALLED.map(PathBuf::from))
            };
        }
    }

    /// The files of the programs `names`, and their other names in `folders` and below `installed`.
    fn of(names: &[&str], folders: &BTreeSet<PathBuf>, installed: &[PathBuf]) -> Self {
        let mut found = BTreeSet::new();
        for program in names {
            if !program.contains('*') {
                let files = folders.iter().map(|folder| folder.join(program));
                found.extend(files.filter_map(|file| file.canonicalize().ok()));
                continue;
            }
            let parts: Vec<String> = program.split('*').map(globset::escape).collect();
            let Some(pattern) = glob(&parts.join("*")) else {
                continue;
            };
            let named = entries(folders).filter(|entry| pattern.is_match(entry.file_name()));
            found.extend(named.filter_map(|entry| entry.path().canonicalize().ok()));
        }
        let (alone, many) = many_programs(folders);
        found.retain(|file| file.is_file() && !many.contains(file));
        // Such a file could be the program, too: `busybox touch`.
        found.extend(alone);
        let other_names = other_names(&found, folders, installed);
        found.extend(other_names);
        Self {
            state: Vec::new(),
            files: found.into_iter().collect(),
            many,
        }
    }
}

/// The files in `folders` that are many programs: those with one name, and those that other programs are links to.
fn many_programs(folders: &BTreeSet<PathBuf>) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let files = entries(folders).filter(|entry| is_multi_call(&entry.path()));
    let files = files.filter_map(|entry| entry.path().canonicalize().ok());
    let files: BTreeSet<PathBuf> = files.collect();
    if files.is_empty() {
        return (files.clone(), files);
    }
    let links = entries(folders).filter(|entry| {
        let kind = entry.file_type();
        kind.is_ok_and(|kind| kind.is_symlink()) && !is_multi_call(&entry.path())
    });
    let targets = links.filter_map(|entry| entry.path().canonicalize().ok());
    let targets: BTreeSet<PathBuf> = targets.collect();
    let is_needed = |file: &PathBuf| {
        let has_names = fs::metadata(file).is_ok_and(|data| data.nlink() > 1);
        has_names || targets.contains(file)
    };
    files.into_iter().partition(|file| !is_needed(file))
}

fn entries(folders: &BTreeSet<PathBuf>) -> impl Iterator<Item = DirEntry> {
    let read = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    read.flatten().flatten()
}

fn is_multi_call(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| MULTI_CALL.iter().any(|multi| name.starts_with(multi)))
}

/// The hard links of `files` in `folders`, and below `installed` if they have more.
fn other_names(
    files: &BTreeSet<PathBuf>,
    folders: &BTreeSet<PathBuf>,
    installed: &[PathBuf],
) -> Vec<PathBuf> {
    let linked = files.iter().filter_map(|file| fs::metadata(file).ok());
    let linked = linked.filter(|data| data.nlink() > 1);
    let linked: BTreeMap<(u64, u64), u64> = linked
        .map(|data| ((data.dev(), data.ino()), data.nlink()))
        .collect();
    if linked.is_empty() {
        return Vec::new();
    }
    let identity = |entry: &DirEntry| {
        let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let identity = (data.dev(), data.ino());
        linked.contains_key(&identity).then_some(identity)
    };
    let mut left = linked.clone();
    let mut found = Vec::new();
    for entry in entries(folders) {
        if let Some(identity) = identity(&entry) {
            left.entry(identity)
                .and_modify(|left| *left = left.saturating_sub(1));
            found.push(entry.path());
        }
    }
    if left.values().all(|left| *left == 0) {
        return found;
    }
    let numbers: BTreeSet<u64> = linked.keys().map(|(_, number)| *number).collect();
    let mut unread: Vec<PathBuf> = installed.to_vec();
    let mut seen = 0;
    while let Some(folder) = unread.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && seen < MAX_ENTRIES {
                unread.push(entry.path());
            } else if numbers.contains(&entry.ino()) && identity(&entry).is_some() {
                found.push(entry.path());
            }
        }
    }
    found
}

/// A pattern for paths, in which `*` is no slash.
pub(super) fn glob(pattern: &str) -> Option<GlobMatcher> {
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    Some(built.ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test writes its own files")]

    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_and_its_identity() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let folder = |name: &str| {
            let folder = root.join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let (one, two, elsewhere) = (folder("one"), folder("two"), folder("elsewhere"));
        fs::write(elsewhere.join("tool-1.2"), "").unwrap();
        std::os::unix::fs::symlink(elsewhere.join("tool-1.2"), one.join("tool")).unwrap();
        fs::write(two.join("tool"), "").unwrap();
        fs::hard_link(two.join("tool"), one.join("other")).unwrap();
        // A name that is not in `PATH`.
        fs::create_dir(elsewhere.join("libexec")).unwrap();
        fs::hard_link(two.join("tool"), elsewhere.join("libexec/tool-run")).unwrap();
        fs::write(two.join("unrelated"), "").unwrap();
        // A file that is many programs stays if others are links to it.
        fs::write(two.join("busybox"), "").unwrap();
        std::os::unix::fs::symlink("busybox", two.join("touch")).unwrap();
        let folders = BTreeSet::from([one.clone(), two.clone()]);
        let installed = [elsewhere.clone()];
        let expected = [
            elsewhere.join("libexec/tool-run"),
            elsewhere.join("tool-1.2"),
            one.join("other"),
            two.join("tool"),
        ];
        for programs in [&["tool", "touch", "missing"][..], &["to*l"], &["t*o*"]] {
            assert_eq!(
                Programs::of(programs, &folders, &installed).files,
                expected,
                "{programs:?}"
            );
        }
        let files = |program: &str| Programs::of(&[program], &folders, &installed).files;
        assert_eq!(files("unrel*"), [two.join("unrelated")]);
        assert_eq!(files("[tu]*"), Vec::<PathBuf>::new());
        // Without links, it is hidden: it could be each program.
        fs::remove_file(two.join("touch")).unwrap();
        assert_eq!(
            files("unrel*"),
            [two.join("busybox"), two.join("unrelated")]
        );
        fs::hard_link(two.join("busybox"), two.join("ls")).unwrap();
        assert_eq!(files("unrel*"), [two.join("unrelated")]);
    }
}

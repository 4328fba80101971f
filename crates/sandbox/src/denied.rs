//! The programs and files that deny rules take from commands in the sandbox. Mounts hide them, so that no spelling of a command
//! finds them again, neither a link nor the loader of the system with the program as its argument.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where programs are, besides the folders of `PATH`.
const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Files that are many programs, by the name with which they are started: without them nothing would run.
const MULTI_CALL: [&str; 5] = ["busybox", "coreutils", "sbase-box", "toybox", "uutils"];

/// Programs and files that commands cannot use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denied {
    /// Names of programs.
    pub programs: Vec<String>,
    /// Files and directories, which can be read as little as written.
    pub unreadable: Vec<PathBuf>,
    /// Files and directories that stay readable.
    pub unwritable: Vec<PathBuf>,
}

impl Denied {
    /// The files of the programs in the folders of `PATH`. A program without an own file is only named by rules.
    pub(super) fn program_files(&self) -> Vec<PathBuf> {
        if self.programs.is_empty() {
            return Vec::new();
        }
        let variable = std::env::var_os("PATH").unwrap_or_default();
        let named = std::env::split_paths(&variable).filter(|folder| folder.is_absolute());
        let folders = named.chain(FOLDERS.map(PathBuf::from));
        let folders: BTreeSet<PathBuf> = folders
            .filter_map(|folder| folder.canonicalize().ok())
            .collect();
        files_of(&self.programs, &folders)
    }
}

fn files_of(programs: &[String], folders: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for program in programs.iter().filter(|program| !program.contains('/')) {
        for folder in folders {
            found.extend(folder.join(program).canonicalize().ok());
        }
    }
    let paths = programs.iter().map(Path::new);
    let paths = paths.filter(|path| path.is_absolute());
    found.extend(paths.filter_map(|path| path.canonicalize().ok()));
    found.retain(|file| file.is_file() && !is_multi_call(file));
    let other_names = other_names(&found, folders);
    found.extend(other_names);
    found.into_iter().collect()
}

fn is_multi_call(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    name.is_none_or(|name| MULTI_CALL.iter().any(|multi| name.starts_with(multi)))
}

/// The hard links of `files` in `folders`.
fn other_names(files: &BTreeSet<PathBuf>, folders: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let linked = files.iter().filter_map(|file| fs::metadata(file).ok());
    let linked = linked.filter(|data| data.nlink() > 1);
    let linked: BTreeSet<(u64, u64)> = linked.map(|data| (data.dev(), data.ino())).collect();
    if linked.is_empty() {
        return Vec::new();
    }
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let entries = entries.flatten().flatten();
    let same = entries.filter(|entry| {
        let data = entry.metadata();
        data.is_ok_and(|data| data.is_file() && linked.contains(&(data.dev(), data.ino())))
    });
    same.map(|entry| entry.path()).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
mod tests {
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
        fs::write(two.join("unrelated"), "").unwrap();
        // A file that is many programs stays.
        fs::write(two.join("busybox"), "").unwrap();
        std::os::unix::fs::symlink("busybox", two.join("touch")).unwrap();
        let folders = BTreeSet::from([one.clone(), two.clone()]);
        let programs = ["tool", "touch", "missing"].map(str::to_owned);
        let expected = [
            elsewhere.join("tool-1.2"),
            one.join("other"),
            two.join("tool"),
        ];
        assert_eq!(files_of(&programs, &folders), expected);
    }
}

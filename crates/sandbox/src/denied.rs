//! The programs, files and hosts that deny rules take from commands in the sandbox, whatever their spelling: mounts hide programs
//! and files, also from links and from the loader of the system with the program as its argument.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use globset::{GlobBuilder, GlobMatcher};
use parking_lot::Mutex;

use super::network::HostRule;

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

/// Directory entries that are compared with a pattern; those of the upper levels come first.
const MOST_ENTRIES: usize = 30_000;
/// Files that rules can hide; each is a mount.
const MOST_FILES: usize = 500;

/// A program, a path or a host that a deny rule closes to commands. `*` in names of programs is any text; paths are absolute globs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// A program, by its name or path.
    Program(String),
    /// Files, which can be read as little as written, and the contents of directories.
    Reading(PathBuf),
    /// Files and directories that stay readable.
    Writing(PathBuf),
    /// A host; without one, the network.
    Connecting(Option<HostRule>),
}

/// Why a deny rule does not hold for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The sandbox is off.
    NoSandbox,
    /// Only bubblewrap could enforce it.
    NeedsBubblewrap,
    /// The program is one of many in a file.
    ManyPrograms,
}

/// All that commands cannot use.
#[derive(Debug, Clone, Default)]
pub(super) struct Denied {
    pub list: Vec<Denial>,
    found: Arc<Mutex<Found>>,
}

/// The files that rules have found. A file that a rule has named once stays hidden, whatever a command does to links.
#[derive(Debug, Default)]
struct Found {
    programs: Option<(Vec<Option<SystemTime>>, Vec<PathBuf>)>,
    files: BTreeMap<bool, BTreeSet<PathBuf>>,
}

/// The files that a command cannot use.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    pub programs: Vec<PathBuf>,
    pub unreadable: BTreeSet<PathBuf>,
    pub unwritable: BTreeSet<PathBuf>,
}

impl Denied {
    pub(super) fn of(list: Vec<Denial>) -> Self {
        Self {
            list,
            found: Arc::default(),
        }
    }

    /// Whether no command has a network.
    pub(super) fn network(&self) -> bool {
        self.list.contains(&Denial::Connecting(None))
    }

    /// The denied hosts.
    pub(super) fn hosts(&self) -> Vec<HostRule> {
        let hosts = self.list.iter().filter_map(|denial| match denial {
            Denial::Connecting(host) => host.clone(),
            _ => None,
        });
        hosts.collect()
    }

    /// The files as they are now.
    ///
    /// # Errors
    /// A rule names too many.
    pub(super) fn files(&self) -> Result<Files, String> {
        if self.list.is_empty() {
            return Ok(Files::default());
        }
        let mut found = self.found.lock();
        let mut files = Files {
            programs: self.program_files(&mut found),
            ..Files::default()
        };
        for denial in &self.list {
            let (is_hidden, path) = match denial {
                Denial::Reading(path) => (true, path),
                Denial::Writing(path) => (false, path),
                Denial::Program(name) if name.contains('/') => {
                    files.programs.extend(expand(Path::new(name)));
                    continue;
                }
                Denial::Program(_) | Denial::Connecting(_) => continue,
            };
            let known = found.files.entry(is_hidden).or_default();
            known.retain(|file| file.symlink_metadata().is_ok());
            known.extend(expand(path));
            if known.len() > MOST_FILES {
                return Err(format!(
                    "the deny rule for `{}` names more than {MOST_FILES} files; name their folder",
                    path.display()
                ));
            }
        }
        files
            .programs
            .retain(|file| file.is_file() && !is_multi_call(file));
        let named = |is_hidden| found.files.get(&is_hidden).cloned().unwrap_or_default();
        (files.unreadable, files.unwritable) = (named(true), named(false));
        Ok(files)
    }

    /// The files of the programs in the folders of `PATH`, which are only read again if these change.
    fn program_files(&self, found: &mut Found) -> Vec<PathBuf> {
        let names = self.list.iter().filter_map(|denial| match denial {
            Denial::Program(name) if !name.contains('/') => Some(name.as_str()),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        if names.is_empty() {
            return Vec::new();
        }
        let folders = folders();
        let changed = |folder: &PathBuf| fs::metadata(folder).and_then(|data| data.modified()).ok();
        let state: Vec<Option<SystemTime>> = folders.iter().map(changed).collect();
        match &found.programs {
            Some((known, files)) if *known == state => files.clone(),
            _ => {
                let files = files_of(&names, &folders);
                found.programs = Some((state, files.clone()));
                files
            }
        }
    }
}

/// Whether a program of this name is one of many in its file.
pub(super) fn is_one_of_many(name: &str) -> bool {
    let files = folders().into_iter().map(|folder| folder.join(name));
    let mut files = files.filter_map(|file| file.canonicalize().ok());
    files.any(|file| is_multi_call(&file))
}

fn folders() -> BTreeSet<PathBuf> {
    let variable = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&variable).filter(|folder| folder.is_absolute());
    let folders = named.chain(FOLDERS.map(PathBuf::from));
    folders
        .filter_map(|folder| folder.canonicalize().ok())
        .collect()
}

/// The files of programs, and their other names in `folders`.
fn files_of(programs: &[&str], folders: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for program in programs {
        if !program.contains('*') {
            let files = folders.iter().map(|folder| folder.join(program));
            found.extend(files.filter_map(|file| file.canonicalize().ok()));
            continue;
        }
        let parts: Vec<String> = program.split('*').map(globset::escape).collect();
        let Some(pattern) = glob(&parts.join("*")) else {
            continue;
        };
        for entry in folders
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
        {
            let named = entry
                .flatten()
                .filter(|entry| pattern.is_match(entry.file_name()));
            found.extend(named.filter_map(|entry| entry.path().canonicalize().ok()));
        }
    }
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

fn glob(pattern: &str) -> Option<GlobMatcher> {
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    Some(built.ok()?.compile_matcher())
}

/// The directory that a glob begins with, and whether more follows.
pub(super) fn base_of(pattern: &Path) -> (PathBuf, bool) {
    let is_plain = |part: &&std::path::Component<'_>| {
        let text = part.as_os_str().to_string_lossy();
        !text.contains(['*', '?', '[', '{', '\\'])
    };
    let parts: Vec<_> = pattern.components().collect();
    let base: PathBuf = parts.iter().take_while(is_plain).collect();
    let has_more = base.components().count() < parts.len();
    (base, has_more)
}

/// The files and directories that the glob `pattern` finds, without symbolic links.
fn expand(pattern: &Path) -> BTreeSet<PathBuf> {
    let (base, has_more) = base_of(pattern);
    let is_all = pattern
        .strip_prefix(&base)
        .is_ok_and(|rest| rest == Path::new("**"));
    if !has_more || is_all {
        return base.canonicalize().into_iter().collect();
    }
    let Some(glob) = glob(&pattern.to_string_lossy()) else {
        return BTreeSet::new();
    };
    let mut found = BTreeSet::new();
    let mut left = MOST_ENTRIES;
    let mut folders = VecDeque::from([base]);
    while let Some(folder) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else {
                return found;
            };
            left = rest;
            let path = entry.path();
            if glob.is_match(&path) {
                found.extend(path.canonicalize().ok());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push_back(path);
            }
        }
    }
    found
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
        let expected = [
            elsewhere.join("tool-1.2"),
            one.join("other"),
            two.join("tool"),
        ];
        for programs in [&["tool", "touch", "missing"][..], &["to*l"], &["t*o*"]] {
            assert_eq!(files_of(programs, &folders), expected, "{programs:?}");
        }
        assert_eq!(files_of(&["unrel*"], &folders), [two.join("unrelated")]);
        assert_eq!(files_of(&["[tu]*"], &folders), Vec::<PathBuf>::new());
    }

    #[test]
    fn patterns_find_files_when_a_command_starts() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let put = |name: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        };
        for name in ["a.pem", "deep/b.pem", "deep/c.txt", "real/key", "secrets/x"] {
            put(name);
        }
        std::os::unix::fs::symlink("real/key", root.join("linked.pem")).unwrap();
        let reading = |pattern: &str| Denial::Reading(root.join(pattern));
        let denied = Denied::of(vec![
            reading("**/*.pem"),
            reading("secrets/**"),
            reading("missing"),
            Denial::Writing(root.join("deep/*.txt")),
        ]);
        let below = |files: &BTreeSet<PathBuf>| -> Vec<String> {
            let names = files.iter().map(|file| file.strip_prefix(&root).unwrap());
            names.map(|name| name.display().to_string()).collect()
        };
        let files = denied.files().unwrap();
        assert_eq!(
            (below(&files.unreadable), below(&files.unwritable)),
            (
                vec![
                    "a.pem".into(),
                    "deep/b.pem".into(),
                    "real/key".into(),
                    "secrets".into()
                ],
                vec!["deep/c.txt".to_owned()]
            )
        );
        // New files are found, and the target of a link stays hidden.
        put("later.pem");
        put("missing");
        fs::remove_file(root.join("linked.pem")).unwrap();
        assert_eq!(
            below(&denied.files().unwrap().unreadable),
            [
                "a.pem",
                "deep/b.pem",
                "later.pem",
                "missing",
                "real/key",
                "secrets"
            ]
        );
        for number in 0..=MOST_FILES {
            put(&format!("many/{number}.pem"));
        }
        let error = denied.files().unwrap_err();
        assert!(error.contains("more than 500 files"), "{error}");
    }
}

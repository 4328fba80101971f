//! The programs, files and hosts that deny rules take from commands in the sandbox, whatever their spelling: mounts hide programs
//! and files, also from links and from the loader of the system with the program as its argument.

mod patterns;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobBuilder;
use osier_base::real_path;
use parking_lot::Mutex;

use super::mount_table::MountTable;
use super::network::HostRule;
use super::tree::MAX_ENTRIES;
use patterns::{Named, Patterns, named};

/// Where programs are, besides the folders of `PATH`.
const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// The names of files that contain many programs and run one of them by the name with which they
/// are started. Where other programs are links to such a file, nothing would run without it.
const MULTI_CALL: [&str; 5] = ["busybox", "coreutils", "sbase-box", "toybox", "uutils"];

/// Where a program can have names besides those in the folders of `PATH`: `git` has 140 in `libexec/git-core`.
const INSTALLED: [&str; 2] = ["/opt", "/usr"];

/// Programs and libraries of the system, besides [`FOLDERS`], and what bubblewrap mounts.
const SYSTEM: [&str; 8] = [
    "/dev",
    "/gnu/store",
    "/lib",
    "/lib64",
    "/nix/store",
    "/proc",
    "/sys",
    "/usr/lib",
];

/// Files that rules can hide; each is a mount.
const MOST_FILES: usize = 500;

/// A program, a path or a host that a deny rule closes to commands. `*` in names of programs is any text; paths are absolute globs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// A program, by its name or path.
    Program(String),
    /// Files and the contents of directories, which commands can neither read nor write.
    Reading(PathBuf),
    /// Files and directories that commands can read, but not write.
    Writing(PathBuf),
    /// A host; without one, the network.
    Connecting(Option<HostRule>),
}

impl Denial {
    /// The path or the pattern of paths that it names.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Program(name) => Some(Path::new(name)).filter(|_| name.contains('/')),
            Self::Reading(path) | Self::Writing(path) => Some(path),
            Self::Connecting(_) => None,
        }
    }
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

/// The files that rules have found. A file that a rule has named before the first command stays hidden, whatever a command does
/// to links.
#[derive(Debug, Default)]
struct Found {
    programs: Programs,
    files: BTreeMap<bool, BTreeSet<PathBuf>>,
    /// Compiled by the first command.
    patterns: Option<Patterns>,
    /// Whether commands could have created links.
    had_commands: bool,
}

/// The files of denied programs in the folders of `PATH`.
#[derive(Debug, Default)]
struct Programs {
    /// When the folders changed, a time that no program can set.
    state: Vec<(PathBuf, Option<(i64, i64)>)>,
    /// The names in the folders, and the files to which these lead.
    targets: BTreeMap<PathBuf, PathBuf>,
    files: Vec<PathBuf>,
    /// The files of many programs that stay.
    many: BTreeSet<PathBuf>,
}

/// The files that a command cannot use.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    pub programs: Vec<PathBuf>,
    pub unreadable: BTreeSet<PathBuf>,
    pub unwritable: BTreeSet<PathBuf>,
    /// Symbolic links by which rules name files.
    pub links: BTreeSet<PathBuf>,
}

impl Files {
    /// Adds the paths of the same files in other mounts.
    fn add_other_paths(&mut self) {
        let table = MountTable::read();
        let others = |path: &PathBuf| table.other_paths(path);
        let programs: Vec<PathBuf> = self.programs.iter().flat_map(others).collect();
        self.programs.extend(programs);
        for files in [&mut self.unreadable, &mut self.unwritable] {
            let paths: Vec<PathBuf> = files.iter().flat_map(others).collect();
            files.extend(paths);
        }
    }
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

    /// The files as they are now, for commands that can write to `cwd`.
    ///
    /// # Errors
    /// A rule names too many, or too many files would have to be compared.
    pub(super) fn files(&self, cwd: &Path) -> Result<Files, String> {
        if self.list.is_empty() {
            return Ok(Files::default());
        }
        let mut found = self.found.lock();
        let had_commands = found.had_commands;
        let mut files = Files::default();
        let mut named_programs = Vec::new();
        let named = found.named(self.list.iter().filter_map(Denial::path))?;
        for denial in &self.list {
            let Some(path) = denial.path() else {
                continue;
            };
            let paths = named.get(path).into_iter().flatten();
            let is_hidden = match denial {
                Denial::Reading(_) => true,
                Denial::Writing(_) => false,
                _ => {
                    named_programs
                        .extend(paths.filter_map(|path| resolve(path, cwd, had_commands)));
                    continue;
                }
            };
            let known = found.files.entry(is_hidden).or_default();
            known.retain(|file| file.symlink_metadata().is_ok());
            let mut now = known.clone();
            for path in paths {
                if path.canonicalize().ok().as_ref() != Some(path) {
                    files.links.extend(real_path::resolve(path).links);
                }
                let Some(file) = resolve(path, cwd, had_commands) else {
                    continue;
                };
                if file == *path || !had_commands {
                    known.insert(file.clone());
                }
                now.insert(file);
            }
            if now.len().max(files.links.len()) > MOST_FILES {
                return Err(format!(
                    "the deny rule for `{}` names more than {MOST_FILES} files; name their folder",
                    path.display()
                ));
            }
            let all = if is_hidden {
                &mut files.unreadable
            } else {
                &mut files.unwritable
            };
            all.extend(now);
        }
        found.had_commands = true;
        let programs = self.programs(&mut found);
        let is_program = |file: &PathBuf| file.is_file() && !programs.many.contains(file);
        files.programs.clone_from(&programs.files);
        files
            .programs
            .extend(named_programs.into_iter().filter(is_program));
        files.add_other_paths();
        Ok(files)
    }

    /// The programs in the folders of `PATH`, which are only read again if these change.
    fn programs<'a>(&self, found: &'a mut Found) -> &'a Programs {
        let names = self.list.iter().filter_map(|denial| match denial {
            Denial::Program(name) if !name.contains('/') => Some(name.as_str()),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        if !self
            .list
            .iter()
            .any(|denial| matches!(denial, Denial::Program(_)))
        {
            return &found.programs;
        }
        let folders = folders();
        let changed = |folder: &PathBuf| {
            let data = fs::metadata(folder).ok()?;
            Some((data.ctime(), data.ctime_nsec()))
        };
        let state = folders
            .iter()
            .map(|folder| (folder.clone(), changed(folder)));
        let state: Vec<_> = state.collect();
        let mut targets = found.programs.targets.iter();
        let is_current = found.programs.state == state
            && targets.all(|(name, file)| name.canonicalize().is_ok_and(|now| now == *file));
        if !is_current {
            found.programs = Programs {
                state,
                ..Programs::of(&names, &folders, &INSTALLED.map(PathBuf::from))
            };
        }
        &found.programs
    }
}

/// Whether a program of this name is one of many in its file.
pub(super) fn is_one_of_many(name: &str) -> bool {
    let folders = folders();
    let files = folders.iter().map(|folder| folder.join(name));
    let files = files.filter_map(|file| file.canonicalize().ok());
    let files: Vec<PathBuf> = files.filter(|file| is_multi_call(file)).collect();
    let many = (!files.is_empty()).then(|| many_programs(&folders));
    many.is_some_and(|(_, needed)| files.iter().any(|file| needed.contains(file)))
}

/// The directory that a pattern begins with, or the path itself.
pub(super) fn directory_of(pattern: &Path) -> PathBuf {
    match named(pattern) {
        Named::One(path) | Named::Matched(path) => path,
    }
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
    /// The files of the programs `names`, including their other names in `folders` and below
    /// `installed`.
    fn of(names: &[&str], folders: &BTreeSet<PathBuf>, installed: &[PathBuf]) -> Self {
        let mut named = Vec::new();
        for program in names {
            if !program.contains('*') {
                named.extend(folders.iter().map(|folder| folder.join(program)));
                continue;
            }
            let parts: Vec<String> = program.split('*').map(globset::escape).collect();
            let pattern = GlobBuilder::new(&parts.join("*")).build();
            let Ok(pattern) = pattern.map(|pattern| pattern.compile_matcher()) else {
                continue;
            };
            let matched = entries(folders).filter(|entry| pattern.is_match(entry.file_name()));
            named.extend(matched.map(|entry| entry.path()));
        }
        let targets = named.into_iter().filter_map(|name| {
            let file = name.canonicalize().ok()?;
            Some((name, file))
        });
        let targets: BTreeMap<PathBuf, PathBuf> = targets.collect();
        let mut found: BTreeSet<PathBuf> = targets.values().cloned().collect();
        let (alone, many) = many_programs(folders);
        found.retain(|file| file.is_file() && !many.contains(file));
        // Such a file could be the program, too: `busybox touch`.
        found.extend(alone);
        let other_names = other_names(&found, folders, installed);
        found.extend(other_names);
        Self {
            state: Vec::new(),
            targets,
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

impl Found {
    /// The files and directories that each of `patterns` names.
    fn named<'a>(
        &mut self,
        patterns: impl Iterator<Item = &'a Path> + Clone,
    ) -> Result<BTreeMap<&'a Path, BTreeSet<PathBuf>>, String> {
        if self.patterns.is_none() {
            self.patterns = Some(Patterns::of(patterns.clone())?);
        }
        let matched = self.patterns.as_ref().map(Patterns::find).transpose()?;
        let matched = matched.unwrap_or_default();
        let paths = patterns.map(|pattern| match named(pattern) {
            Named::One(path) => (pattern, BTreeSet::from([path])),
            Named::Matched(_) => (pattern, matched.get(pattern).cloned().unwrap_or_default()),
        });
        Ok(paths.collect())
    }
}

/// The file at `path`. `None` if a link in `cwd` leads out of it to what commands need, such as `/` or a part of the system, or if a
/// command could have made the link: hiding its target would keep the next commands from starting.
fn resolve(path: &Path, cwd: &Path, had_commands: bool) -> Option<PathBuf> {
    let file = path.canonicalize().ok()?;
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_inside = path.starts_with(cwd) || folder.is_some_and(|folder| folder.starts_with(cwd));
    let leaves = !file.starts_with(cwd) || (file == cwd && path != cwd);
    if !is_inside || !leaves {
        return Some(file);
    }
    let mut system = FOLDERS.iter().chain(&SYSTEM).map(Path::new);
    let is_system = system.any(|part| part.starts_with(&file) || file.starts_with(part));
    (!had_commands && !cwd.starts_with(&file) && !is_system).then_some(file)
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
        let files = denied.files(&root).unwrap();
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
            below(&denied.files(&root).unwrap().unreadable),
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
        let error = denied.files(&root).unwrap_err();
        assert!(error.contains("more than 500 files"), "{error}");
    }

    #[test]
    fn rules_share_patterns_and_keep_the_links_that_they_name() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir(root.join("deep")).unwrap();
        fs::write(root.join("deep/a.key"), "").unwrap();
        for (target, name) in [("deep", "folder"), ("missing", "gone"), ("deep", "other")] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let writing = ["**/*.key", "folder/a.key", "gone"].map(|name| root.join(name));
        let mut rules = vec![Denial::Reading(root.join("**/*.key"))];
        rules.extend(writing.map(Denial::Writing));
        let key = BTreeSet::from([root.join("deep/a.key")]);
        let expected = Files {
            programs: Vec::new(),
            unreadable: key.clone(),
            unwritable: key,
            links: [root.join("folder"), root.join("gone")].into(),
        };
        assert_eq!(Denied::of(rules).files(&root).unwrap(), expected);
    }

    /// A command that can make links cannot keep the next ones from starting, and one that can make files cannot exceed a limit.
    #[test]
    fn links_of_commands_hide_nothing_that_commands_need() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        };
        fs::create_dir_all(root.join("src/keys")).unwrap();
        link("src/keys", "secret-early");
        let denied = Denied::of(vec![
            Denial::Reading(root.join("secret*")),
            Denial::Reading(root.join("secrets/*")),
            Denial::Program(root.join("secret*").display().to_string()),
        ]);
        let keys = root.join("src/keys");
        assert_eq!(
            denied.files(&root).unwrap().unreadable,
            [keys.clone()].into()
        );
        for (target, name) in [
            ("/usr/share", "secrets"),
            ("/", "secretx"),
            (".", "secret-here"),
            ("..", "secret-above"),
            ("/usr", "secret-usr"),
            ("/usr/bin/env", "secret-env"),
            ("/dev/null", "secret-null"),
            ("/etc/passwd", "secret-etc"),
        ] {
            link(target, name);
        }
        link("src", "secret-late");
        let files = denied.files(&root).unwrap();
        assert_eq!(files.unreadable, [keys.clone(), root.join("src")].into());
        let env = Path::new("/usr/bin/env").canonicalize().unwrap();
        assert!(!files.programs.contains(&env));
        // The target of a link that commands made is only hidden as long as the link is there.
        for name in ["secret-late", "secret-early"] {
            fs::remove_file(root.join(name)).unwrap();
        }
        assert_eq!(denied.files(&root).unwrap().unreadable, [keys].into());
    }

    #[test]
    fn a_rule_about_too_many_files_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["a", "b", "c"] {
            fs::create_dir_all(root.join(name).join("below")).unwrap();
        }
        let denied = Denied::of(vec![Denial::Reading(root.join("**/secret*"))]);
        let limited = |entries| {
            let mut patterns =
                Patterns::of([root.join("**/secret*").as_path()].into_iter()).unwrap();
            patterns.limit(&root, entries);
            denied.found.lock().patterns = Some(patterns);
            denied.files(&root)
        };
        assert_eq!(limited(6), Ok(Files::default()));
        let error = limited(5).unwrap_err();
        assert_eq!(
            error,
            format!(
                "`{root}` contains more than 1000000 files, and the deny rule for `{root}/**/secret*` could name any of them; name their folder",
                root = root.display()
            )
        );
    }
}

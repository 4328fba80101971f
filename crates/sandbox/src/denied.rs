//! The programs, files and hosts that deny rules take from commands in the sandbox, whatever their spelling: mounts hide programs
//! and files, also from links and from the loader of the system with the program as its argument.

mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobMatcher;
use parking_lot::Mutex;

pub(super) use self::programs::is_one_of_many;
use self::programs::{FOLDERS, Programs, glob};
use super::network::HostRule;
use super::tree::{Contents, MAX_ENTRIES, TooLarge, Tree};

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

/// The files that rules have found. A file that a rule has named before the first command stays hidden, whatever a command does
/// to links.
#[derive(Debug, Default)]
struct Found {
    programs: Programs,
    files: BTreeMap<bool, BTreeSet<PathBuf>>,
    trees: BTreeMap<PathBuf, Tree<Matches>>,
    /// Whether commands could have created links.
    had_commands: bool,
}

/// The entries of a directory that a glob matches.
#[derive(Debug, Clone)]
struct Matches {
    glob: Arc<GlobMatcher>,
    paths: Vec<PathBuf>,
}

impl Contents for Matches {
    fn add(&mut self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let is_match = self.glob.is_match(&path);
        if is_match {
            self.paths.push(path);
        }
        !is_match
    }
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
        for denial in &self.list {
            let (is_hidden, path) = match denial {
                Denial::Reading(path) => (true, path),
                Denial::Writing(path) => (false, path),
                Denial::Program(name) if name.contains('/') => {
                    let named = found.expand(Path::new(name))?;
                    let real = named
                        .iter()
                        .filter_map(|path| resolve(path, cwd, had_commands));
                    named_programs.extend(real);
                    continue;
                }
                Denial::Program(_) | Denial::Connecting(_) => continue,
            };
            let named = found.expand(path)?;
            let known = found.files.entry(is_hidden).or_default();
            known.retain(|file| file.symlink_metadata().is_ok());
            let mut now = known.clone();
            for path in named {
                let Some(file) = resolve(&path, cwd, had_commands) else {
                    continue;
                };
                if file == path || !had_commands {
                    known.insert(file.clone());
                }
                now.insert(file);
            }
            if now.len() > MOST_FILES {
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
        found.programs.update(&names);
        &found.programs
    }
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

impl Found {
    /// The files and directories that the glob `pattern` finds, without what is behind links to directories.
    fn expand(&mut self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        let (base, has_more) = base_of(pattern);
        let is_all = pattern
            .strip_prefix(&base)
            .is_ok_and(|rest| rest == Path::new("**"));
        if !has_more || is_all {
            return Ok(vec![base]);
        }
        let glob = glob(&pattern.to_string_lossy());
        let glob = glob.ok_or_else(|| format!("`{}` is not a pattern", pattern.display()))?;
        let tree = self.trees.entry(pattern.to_owned()).or_default();
        let empty = Matches {
            glob: Arc::new(glob),
            paths: Vec::new(),
        };
        let mut found = Vec::new();
        let visited = tree.visit(&base, &empty, |folder| {
            found.extend(folder.paths.iter().cloned());
        });
        visited.map_err(|TooLarge| {
            format!(
                "`{}` contains more than {MAX_ENTRIES} files, and the deny rule for `{}` could name any of them; name their folder",
                base.display(),
                pattern.display()
            )
        })?;
        Ok(found)
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
    use std::fs;

    use super::*;

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
            let tree = Tree::limited(entries);
            denied
                .found
                .lock()
                .trees
                .insert(root.join("**/secret*"), tree);
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

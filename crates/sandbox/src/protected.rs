//! Files below a writable directory that stay read-only: those that make git and osier run programs later.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use osier_base::regular_file;

use super::backend::SandboxError;
use super::tree::{Contents, MAX_ENTRIES, TooLarge, Tree};

/// Protected files; each is a mount.
const MAX_PROTECTED: usize = 256;

/// Bytes of a file that names a directory, as for git: a path, and ends of lines behind it.
const POINTER_LIMIT: u64 = 1024 * 1024;

/// Protected files of the working directory only.
const PROJECT_FILES: [&str; 4] = [".git", ".osier", ".claude", ".mcp.json"];
/// With this file, git takes the directory itself for a repository.
const BARE: &str = "HEAD";

/// The protected files below one directory. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Protected {
    tree: Tree<Folder>,
}

/// The protected files in the directories below one.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// The canonical paths of the protected files that exist.
    pub paths: Vec<PathBuf>,
    /// The files that make directories repositories.
    repositories: BTreeSet<PathBuf>,
}

/// The files of a directory by which git finds repositories.
#[derive(Debug, Clone, Default)]
struct Folder {
    /// The `.git` of the directory.
    repository: Option<PathBuf>,
    head: Option<PathBuf>,
    has_objects: bool,
}

impl Folder {
    fn repositories(&self) -> impl Iterator<Item = PathBuf> {
        let head = self.head.clone().filter(|_| self.has_objects);
        self.repository.clone().into_iter().chain(head)
    }
}

impl Contents for Folder {
    fn add(&mut self, entry: &DirEntry) -> bool {
        let name = entry.file_name();
        self.has_objects |= name == "objects" || name == "commondir";
        if name == ".git" {
            self.repository = Some(entry.path());
            return false;
        }
        if name == BARE {
            self.head = Some(entry.path());
        }
        true
    }
}

impl Protected {
    /// The files below `root`. Every directory is compared, so a command asks once.
    ///
    /// # Errors
    /// There are too many to protect all.
    pub(super) fn find(&self, root: &Path) -> Result<Found, SandboxError> {
        let mut repositories = BTreeSet::new();
        let mut found: BTreeSet<PathBuf> = PROJECT_FILES[1..]
            .iter()
            .filter_map(|name| root.join(name).canonicalize().ok())
            .collect();
        let visited = self.tree.visit(root, &Folder::default(), |folder| {
            let repository = folder.repository.iter();
            found.extend(repository.flat_map(|repository| git_directories(repository)));
            repositories.extend(folder.repositories());
        });
        let reason = match visited {
            Err(TooLarge) => format!("more than {MAX_ENTRIES} files"),
            Ok(()) if found.len() > MAX_PROTECTED => {
                format!("more than {MAX_PROTECTED} repositories")
            }
            Ok(()) => {
                let paths = found.into_iter().collect();
                return Ok(Found {
                    paths,
                    repositories,
                });
            }
        };
        let reason = format!(
            "`{}` contains {reason}, so that some repositories would be unprotected",
            root.display()
        );
        let advice = "Start osier in a folder of it, or use `--sandbox read-only`";
        Err(SandboxError::new(reason).with_advice(advice))
    }

    /// The files that make directories below `root` repositories.
    fn repositories(&self, root: &Path) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        // The next command is refused if there are too many.
        let _ = self.tree.visit(root, &Folder::default(), |folder| {
            found.extend(folder.repositories());
        });
        found
    }
}

/// `.git` itself, and the directories that it names when it is the file of a worktree or a submodule.
pub(super) fn git_directories(git: &Path) -> Vec<PathBuf> {
    let folder = git.parent().unwrap_or(Path::new("/"));
    let mut found = vec![git.to_owned()];
    let pointer = |path: &Path| {
        let text = regular_file::read_text(path, POINTER_LIMIT).ok()?;
        // Git removes only the ends of lines.
        Some(text.trim_end_matches(['\n', '\r']).to_owned())
    };
    if let Some(text) = pointer(git)
        && let Some(target) = text.strip_prefix("gitdir: ")
    {
        let target = folder.join(target);
        if let Some(common) = pointer(&target.join("commondir")) {
            found.push(target.join(common));
        }
        found.push(target);
    }
    let real = found
        .into_iter()
        .filter_map(|path| path.canonicalize().ok());
    real.collect()
}

/// Which files are at the protected paths. A mount protects a file, but not a path: a command can create a file that did
/// not exist, replace a symbolic link, and move a directory above the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Identities {
    root: PathBuf,
    protected: Protected,
    /// The files that made directories repositories before the command.
    repositories: BTreeSet<PathBuf>,
    files: Vec<(PathBuf, Option<Identity>)>,
}

impl Identities {
    pub(super) fn of(root: &Path, protected: &Protected, found: Found) -> Self {
        let names = PROJECT_FILES.iter().chain([&BARE]);
        let mut paths: Vec<PathBuf> = names.map(|name| root.join(name)).collect();
        let below = found.paths.into_iter();
        paths.extend(below.filter(|path| path.starts_with(root)));
        paths.sort();
        paths.dedup();
        let files = paths
            .into_iter()
            .map(|path| (path.clone(), identity(&path)));
        Self {
            root: root.to_owned(),
            protected: protected.clone(),
            repositories: found.repositories,
            files: files.collect(),
        }
    }

    /// The paths below the root that have another file now.
    pub(super) fn changed(&self) -> Vec<String> {
        if self.files.is_empty() {
            return Vec::new();
        }
        let files = self.files.iter();
        let changed = files.filter(|(path, before)| {
            let now = identity(path);
            now.is_some() && now != *before
        });
        let mut changed: BTreeSet<PathBuf> = changed.map(|(path, _)| path.clone()).collect();
        let repositories = self.protected.repositories(&self.root);
        changed.extend(repositories.difference(&self.repositories).cloned());
        let below = |path: &Path| {
            path.strip_prefix(&self.root)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        changed.iter().map(|path| below(path)).collect()
    }
}

/// The device, the number, the kind with the permissions, and the time of creation, because numbers are used again.
type Identity = (u64, u64, u32, Option<SystemTime>);

fn identity(path: &Path) -> Option<Identity> {
    let data = fs::symlink_metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.mode(), data.created().ok()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes its own files")]
mod tests {
    use super::*;

    #[test]
    fn every_repository_below_the_root_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            ".git",
            "a/b/.git",
            "elsewhere/modules/x",
            "link",
            "plain",
            ".osier",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::create_dir_all(root.join("elsewhere/common")).unwrap();
        // Git ignores the ends of lines.
        let pointer = format!("gitdir: ../elsewhere/modules/x{}", "\n".repeat(100_000));
        fs::write(root.join("plain/.git"), pointer).unwrap();
        fs::write(root.join("elsewhere/modules/x/commondir"), "../../common\n").unwrap();
        std::os::unix::fs::symlink("../elsewhere", root.join("link/.git")).unwrap();
        let protected = Protected::default();
        let names = |found: Found| {
            let below = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            found.paths.into_iter().map(below).collect::<Vec<_>>()
        };
        let expected = [
            ".git",
            ".osier",
            "a/b/.git",
            "elsewhere",
            "elsewhere/common",
            "elsewhere/modules/x",
            "plain/.git",
        ];
        assert_eq!(names(protected.find(&root).unwrap()), expected);
        // A repository that appears later is found by the time of its directory.
        fs::create_dir_all(root.join("a/c")).unwrap();
        protected.find(&root).unwrap();
        fs::create_dir_all(root.join("a/c/.git")).unwrap();
        assert!(names(protected.find(&root).unwrap()).contains(&"a/c/.git".to_owned()));
    }

    #[test]
    fn a_project_that_cannot_be_protected_completely_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in 1..MAX_PROTECTED {
            fs::create_dir_all(root.join(format!("!{name}/.git"))).unwrap();
        }
        fs::create_dir(root.join(".osier")).unwrap();
        let protected = Protected::default();
        assert_eq!(protected.find(&root).unwrap().paths.len(), MAX_PROTECTED);
        fs::create_dir(root.join(".git")).unwrap();
        let refused = protected.find(&root).unwrap_err();
        assert_eq!(
            refused.reason,
            format!(
                "`{}` contains more than 256 repositories, so that some repositories would be unprotected",
                root.display()
            )
        );
        let tree = Tree::limited(100);
        let refused = Protected { tree }.find(&root).unwrap_err();
        assert!(
            refused.reason.contains("more than 1000000 files"),
            "{refused}"
        );
    }

    #[test]
    fn created_and_replaced_project_files_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join(".git")).unwrap();
        std::os::unix::fs::symlink("one", root.join(".claude")).unwrap();
        fs::create_dir_all(root.join("sub/.git")).unwrap();
        let protected = Protected::default();
        let before = Identities::of(root, &protected, protected.find(root).unwrap());
        assert_eq!(before.changed(), Vec::<String>::new());
        fs::write(root.join(".mcp.json"), "{}").unwrap();
        fs::write(root.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::remove_file(root.join(".claude")).unwrap();
        fs::create_dir(root.join(".claude")).unwrap();
        fs::rename(root.join("sub"), root.join("moved")).unwrap();
        fs::create_dir_all(root.join("sub/.git")).unwrap();
        assert_eq!(
            before.changed(),
            [".claude", ".mcp.json", "HEAD", "moved/.git", "sub/.git"]
        );
    }

    #[test]
    fn new_repositories_are_reported_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("old/.git")).unwrap();
        fs::create_dir_all(root.join("docs/objects")).unwrap();
        fs::create_dir_all(root.join("deep/bare/objects")).unwrap();
        let protected = Protected::default();
        let before = Identities::of(root, &protected, protected.find(root).unwrap());
        assert_eq!(before.changed(), Vec::<String>::new());
        fs::create_dir_all(root.join("deep/copy/.git")).unwrap();
        fs::create_dir(root.join("tree")).unwrap();
        fs::write(root.join("tree/.git"), "gitdir: ../x\n").unwrap();
        fs::create_dir(root.join("linked")).unwrap();
        std::os::unix::fs::symlink("../old/.git", root.join("linked/.git")).unwrap();
        fs::write(root.join("deep/bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        // Not a repository.
        fs::write(root.join("old/HEAD"), "").unwrap();
        assert_eq!(
            before.changed(),
            [
                "deep/bare/HEAD",
                "deep/copy/.git",
                "linked/.git",
                "tree/.git"
            ]
        );
    }
}

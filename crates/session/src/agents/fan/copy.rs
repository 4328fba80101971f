//! A copy of the working directory for a lane: a git worktree with the uncommitted changes, or a plain copy without a
//! repository. Ignored files are not copied. Dropping it deletes the files and unregisters the worktree. After a kill a sweep of
//! the leftovers does both.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use super::stamps::Stamps;
use osier_base::git::{self, Git, GitError};
use osier_base::leftovers::{FolderKind, TemporaryFolder, worktree as lane_worktree};
use osier_base::pending_file::PendingFile;
use osier_base::private;
use osier_base::process::QuietError;
use osier_base::without_links;

/// The time limit of a git command: a checkout of a large repository is slow.
const PATIENCE: Duration = Duration::from_mins(2);
/// Maximum bytes of a list of files.
const LIST: usize = 64 << 20;
/// The maximum of files of a plain copy, and of bytes of one file.
const FILES: usize = 50_000;
const FILE_BYTES: u64 = 256 << 20;

/// The folder of a copy. Dropping it deletes the folder and its registration in git, also an
/// incomplete one.
#[derive(Debug)]
struct Folder(TemporaryFolder);

impl Folder {
    fn new_in(parent: &Path) -> io::Result<Self> {
        private::create_folder(parent)?;
        TemporaryFolder::new_in(FolderKind::Lane, parent).map(Self)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        lane_worktree::unregister(self.0.path());
    }
}

/// A copy on disk.
#[derive(Debug)]
pub(crate) struct Copy {
    folder: Folder,
    /// The working directory in the copy.
    cwd: PathBuf,
    /// The repository of a worktree.
    repository: Option<Git>,
    /// The file stamps when the copy was made.
    pub stamps: Stamps,
}

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("cannot copy `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot make a worktree: git failed: {message}")]
    Git { message: String },
    #[error("a worktree needs a git repository with a commit")]
    NoRepository,
    #[error("more than {FILES} files are not ignored: make it a git repository or ignore some")]
    TooMany,
}

impl Copy {
    /// Copies `cwd` to a folder below `parent`.
    ///
    /// # Errors
    /// A file cannot be written, or git failed.
    pub(crate) async fn new(cwd: &Path, parent: &Path) -> Result<Self, CopyError> {
        let failed = |source| CopyError::Io {
            path: parent.to_owned(),
            source,
        };
        let folder = Folder::new_in(parent).map_err(failed)?;
        let target = lane_worktree::path(folder.0.path());
        let repository = repository(cwd).await?;
        let work = if let Some(Repository {
            git,
            prefix,
            common,
        }) = &repository
        {
            lane_worktree::will_register(folder.0.path(), common).map_err(failed)?;
            worktree(git, &target).await?;
            target.join(prefix)
        } else {
            let (from, to) = (cwd.to_owned(), target.clone());
            let copied = osier_base::task::spawn_blocking(move || plain(&from, &to)).await;
            copied.unwrap_or(Err(CopyError::TooMany))?;
            target
        };
        fs::create_dir_all(&work).map_err(failed)?;
        let root = work.clone();
        let stamps = osier_base::task::spawn_blocking(move || Stamps::of(&root)).await;
        Ok(Self {
            folder,
            cwd: work,
            repository: repository.map(|repository| repository.git),
            stamps: stamps.unwrap_or_default(),
        })
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Deletes the copy and its registration in git.
    pub(crate) async fn remove(self) {
        if let Some(repository) = &self.repository {
            let target = lane_worktree::path(self.folder.0.path());
            let arguments = git_arguments("worktree remove --force", &[target.as_os_str()]);
            let _ = run(repository, arguments, None).await;
        }
        drop(self.folder);
    }
}

async fn run(git: &Git, arguments: Vec<OsString>, input: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let output = git.run(arguments, input, LIST, PATIENCE).await;
    let output = output.map_err(|error| error.to_string())?;
    if output.stdout.len() >= LIST {
        return Err("the repository has too many files".to_owned());
    }
    if output.exit.is_success() {
        return Ok(output.stdout);
    }
    Err(git::first_line(&output.stderr)
        .unwrap_or("no error message")
        .to_owned())
}

/// Arguments of git; `last` can contain spaces.
fn git_arguments(words: &str, rest: &[&OsStr]) -> Vec<OsString> {
    let words = words.split(' ').map(OsString::from);
    words.chain(rest.iter().map(OsString::from)).collect()
}

/// The repository around a working directory.
struct Repository {
    git: Git,
    /// The working directory below its root.
    prefix: PathBuf,
    /// The directory of git that its worktrees share.
    common: PathBuf,
}

/// The repository around `cwd`; `None` without one that has a commit.
async fn repository(cwd: &Path) -> Result<Option<Repository>, CopyError> {
    let git = match Git::open(cwd).await {
        Ok(git) => git,
        Err(GitError::NoRepository | GitError::Run(QuietError::NotFound { .. })) => {
            return Ok(None);
        }
        Err(error) => {
            let message = error.to_string();
            return Err(CopyError::Git { message });
        }
    };
    let ask = git_arguments(
        "rev-parse --show-prefix --git-common-dir HEAD^{commit}",
        &[],
    );
    let Ok(output) = run(&git, ask, None).await else {
        return Ok(None);
    };
    let mut lines = output.split(|byte| *byte == b'\n').map(OsStr::from_bytes);
    let mut next = || PathBuf::from(lines.next().unwrap_or_default());
    let (prefix, common) = (next(), next());
    // Git prints a path relative to the working directory.
    let common = fs::canonicalize(cwd).unwrap_or_default().join(common);
    Ok(Some(Repository {
        git,
        prefix,
        common,
    }))
}

/// A worktree next to its repository that stays after `keep`. Dropping it before, or a kill,
/// removes it like a copy.
#[derive(Debug)]
pub(crate) struct LastingWorktree {
    folder: Folder,
    git: Git,
    /// The working directory in it.
    pub cwd: PathBuf,
    name: String,
}

impl LastingWorktree {
    /// Makes a worktree of the repository around `cwd`. The temporary folder below `parent` knows it until it is kept.
    ///
    /// # Errors
    /// There is no repository, a file cannot be written, or git failed.
    pub(crate) async fn new(cwd: &Path, parent: &Path, name: &str) -> Result<Self, CopyError> {
        let found = repository(cwd).await?;
        let Repository {
            git,
            prefix,
            common,
        } = found.ok_or(CopyError::NoRepository)?;
        let mut last = git.root().file_name().unwrap_or_default().to_owned();
        last.push(format!("-{name}"));
        let target = git.root().with_file_name(last);
        let failed = |source| CopyError::Io {
            path: target.clone(),
            source,
        };
        let folder = Folder::new_in(parent).map_err(failed)?;
        lane_worktree::will_register_outside(folder.0.path(), &target, &common).map_err(failed)?;
        let git = worktree(&git, &target).await?;
        // Without the slash that an empty prefix adds: sessions are found by this path.
        let cwd: PathBuf = target.join(prefix).components().collect();
        fs::create_dir_all(&cwd).map_err(failed)?;
        let name = name.to_owned();
        Ok(Self {
            folder,
            git,
            cwd,
            name,
        })
    }

    /// The worktree stays, on the new branch `osier/NAME`.
    ///
    /// # Errors
    /// The temporary folder cannot be changed, or git failed: then the worktree stays without a
    /// branch.
    pub(crate) async fn keep(self) -> Result<(), CopyError> {
        let kept = lane_worktree::keep_outside(self.folder.0.path());
        kept.map_err(|source| CopyError::Io {
            path: self.folder.0.path().to_owned(),
            source,
        })?;
        let branch = format!("osier/{}", self.name);
        let head = format!("refs/heads/{branch}");
        for arguments in [
            git_arguments("branch --no-track", &[OsStr::new(&branch)]),
            git_arguments("symbolic-ref HEAD", &[OsStr::new(&head)]),
        ] {
            let done = run(&self.git, arguments, None).await;
            done.map_err(|message| CopyError::Git { message })?;
        }
        Ok(())
    }
}

/// A worktree at `target`, without a branch, with the files as they are on disk. Git does not write them, so neither hooks nor filters
/// run, and large files that a filter downloaded need no second download.
async fn worktree(git: &Git, target: &Path) -> Result<Git, CopyError> {
    let failed = |message| CopyError::Git { message };
    let place = [target.as_os_str(), OsStr::new("HEAD")];
    let add = git_arguments("worktree add --no-checkout --quiet --detach", &place);
    run(git, add, None).await.map_err(failed)?;
    let list = git_arguments(
        "ls-files -z -t --full-name --cached --others --exclude-standard :/",
        &[],
    );
    let list = run(git, list, None).await.map_err(failed)?;
    let (top, to) = (git.root().to_owned(), target.to_owned());
    let copied = osier_base::task::spawn_blocking(move || copy_listed(&list, &top, &to)).await;
    let sparse = copied.unwrap_or(Err(CopyError::TooMany))?;
    let lane = Git::open(target).await;
    let lane = lane.map_err(|error| failed(error.to_string()))?;
    let read = git_arguments("read-tree HEAD", &[]);
    run(&lane, read, None).await.map_err(failed)?;
    if !sparse.is_empty() {
        let skip = git_arguments("update-index -z --skip-worktree --stdin", &[]);
        // A path that only the index of the original has is unknown here.
        let _ = run(&lane, skip, Some(&sparse)).await;
    }
    // Fails if files differ from the commit.
    let _ = run(&lane, git_arguments("update-index -q --refresh", &[]), None).await;
    Ok(lane)
}

/// Copies what `ls-files -t -z` lists. Returns the paths that a sparse checkout leaves out.
fn copy_listed(list: &[u8], top: &Path, target: &Path) -> Result<Vec<u8>, CopyError> {
    let mut sparse = Vec::new();
    let mut folders = HashMap::new();
    for entry in list.split(|byte| *byte == 0) {
        let Some((tag, path)) = entry.split_at_checked(2) else {
            continue;
        };
        if tag == b"S " {
            sparse.extend_from_slice(path);
            sparse.push(0);
            continue;
        }
        let path = Path::new(OsStr::from_bytes(path));
        let parent = path.parent().unwrap_or(path);
        let is_inside = *folders
            .entry(parent.to_owned())
            .or_insert_with(|| !is_behind_link(top, parent));
        if is_inside {
            copy_file(&top.join(path), &target.join(path)).map_err(|source| CopyError::Io {
                path: path.to_owned(),
                source,
            })?;
        }
    }
    Ok(sparse)
}

/// Whether a folder above is a link now: git regards the files below as deleted.
fn is_behind_link(top: &Path, folder: &Path) -> bool {
    let above = folder
        .ancestors()
        .filter(|path| !path.as_os_str().is_empty());
    above.into_iter().any(|path| top.join(path).is_symlink())
}

/// Copies the files that are neither ignored nor too large.
fn plain(from: &Path, to: &Path) -> Result<(), CopyError> {
    let stamps = Stamps::of(from);
    for (place, path) in stamps.paths().enumerate() {
        if place == FILES {
            return Err(CopyError::TooMany);
        }
        let source = from.join(path);
        if source
            .symlink_metadata()
            .is_ok_and(|file| file.len() > FILE_BYTES)
        {
            continue;
        }
        copy_file(&source, &to.join(path)).map_err(|source| CopyError::Io {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Makes `to` equal to `from`: a file with its mode, a link, or nothing.
pub(super) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = match from.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return remove_file(to),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() && !metadata.is_symlink() {
        // A nested repository is not copied, and reading a pipe would wait.
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if metadata.is_symlink() {
        remove_file(to)?;
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    // To a temporary file first: a full disk must not leave a partial file.
    let folder = to.parent().unwrap_or(Path::new("."));
    let copy = PendingFile::create(folder, private::FILE_MODE)?;
    io::copy(&mut without_links::open_last(from)?, &mut copy.file())?;
    copy.file().set_permissions(metadata.permissions())?;
    copy.persist(to).map(drop)
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

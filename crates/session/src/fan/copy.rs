//! A copy of the working directory for a lane: a git worktree with the uncommitted changes, or a plain copy without a
//! repository. Ignored files are not copied. Dropping it deletes the files; `remove` also unregisters the worktree,
//! otherwise git does that when it prunes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use tempfile::TempDir;

use super::stamps::Stamps;
use osier_base::process::{QuietOutput, run_quietly};

/// The time limit of a git command: a checkout of a large repository is slow.
const PATIENCE: Duration = Duration::from_mins(2);
/// The maximum of files of a plain copy, and of bytes of one file.
const FILES: usize = 50_000;
const FILE_BYTES: u64 = 256 << 20;

/// A copy on disk.
#[derive(Debug)]
pub(crate) struct Copy {
    folder: TempDir,
    /// The working directory in the copy.
    cwd: PathBuf,
    /// The repository of a worktree.
    repository: Option<PathBuf>,
    /// The file stamps when it was made.
    pub stamps: Stamps,
}

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("cannot copy `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`git worktree add` failed: {message}")]
    Git { message: String },
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
        fs::create_dir_all(parent).map_err(failed)?;
        let folder = tempfile::Builder::new()
            .prefix("fan-")
            .tempdir_in(parent)
            .map_err(failed)?;
        let target = folder.path().join("files");
        let repository = repository(cwd).await;
        let work = if let Some((top, prefix)) = &repository {
            worktree(top, &target).await?;
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
            repository: repository.map(|(top, _)| top),
            stamps: stamps.unwrap_or_default(),
        })
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Deletes the copy and its registration in git.
    pub(crate) async fn remove(self) {
        if let Some(repository) = &self.repository {
            let target = self.folder.path().join("files");
            let arguments = words("worktree remove --force", &[target.as_os_str()]);
            let _ = git(repository, arguments).await;
        }
        drop(self.folder);
    }
}

/// The original of a file in a copy below `parent`, relative to the working directory `cwd` if it is below it. `None`
/// for a file that is in no copy.
pub(crate) fn original(path: &Path, parent: &Path, cwd: &Path) -> Option<PathBuf> {
    let mut rest = path.strip_prefix(parent).ok()?.components();
    rest.next()?;
    if rest.next()?.as_os_str() != "files" {
        return None;
    }
    let mut above = cwd.ancestors();
    let top = above.find(|folder| folder.join(".git").exists());
    let there = top.unwrap_or(cwd).join(rest.as_path());
    let inside = there.strip_prefix(cwd).map(Path::to_owned);
    Some(inside.unwrap_or(there))
}

async fn git(directory: &Path, arguments: Vec<OsString>) -> Result<QuietOutput, String> {
    let mut all = vec![OsString::from("-C"), directory.into()];
    all.extend(arguments);
    let output = run_quietly("git", all, None, PATIENCE).await;
    let output = output.map_err(|error| error.to_string())?;
    if output.exit.is_success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.unwrap_or("no error message").trim().to_owned())
}

/// Arguments of git; `last` can contain spaces.
fn words(words: &str, rest: &[&OsStr]) -> Vec<OsString> {
    let words = words.split(' ').map(OsString::from);
    words.chain(rest.iter().map(OsString::from)).collect()
}

/// The root of the repository around `cwd` and the path below it; `None` without a repository that has a commit.
async fn repository(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let ask = words("rev-parse --show-toplevel --show-prefix HEAD", &[]);
    let output = git(cwd, ask).await.ok()?;
    let mut lines = output.stdout.split(|byte| *byte == b'\n');
    let mut path = || Some(PathBuf::from(OsStr::from_bytes(lines.next()?)));
    Some((path()?, path()?))
}

/// A worktree at `target` with the uncommitted changes.
async fn worktree(top: &Path, target: &Path) -> Result<(), CopyError> {
    let failed = |message| CopyError::Git { message };
    let place = [target.as_os_str(), OsStr::new("HEAD")];
    let add = words("worktree add --detach --quiet", &place);
    git(top, add).await.map_err(failed)?;
    let status = words("status --porcelain=v1 -z -uall --no-renames", &[]);
    let status = git(top, status).await.map_err(failed)?;
    for entry in status.stdout.split(|byte| *byte == 0) {
        let Some(path) = entry.get(3..) else { continue };
        let path = Path::new(OsStr::from_bytes(path));
        copy_file(&top.join(path), &target.join(path)).map_err(|source| CopyError::Io {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
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
    if metadata.is_dir() {
        // A nested repository is not copied.
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
    let copy = tempfile::NamedTempFile::new_in(folder)?;
    fs::copy(from, copy.path())?;
    copy.persist(to).map_err(|error| error.error)?;
    Ok(())
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! A copy of the working directory for somebody else to work in: a git worktree with what is not
//! committed laid over it, or a plain copy where there is no repository. Ignored files are left out.
//! Dropping it removes the files; the worktree is forgotten by `remove`, or by git when it cleans up.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::stamps::Stamps;
use osier_base::process::{QuietOutput, run_quietly};

/// A checkout of a large repository takes its time.
const PATIENCE: Duration = Duration::from_mins(2);
/// Files a plain copy has at most, and bytes of one of them.
const FILES: usize = 50_000;
const FILE_BYTES: u64 = 256 << 20;

/// A copy on disk.
#[derive(Debug)]
pub struct Copy {
    folder: TempDir,
    /// Where the work happens: what the working directory is in the original.
    cwd: PathBuf,
    /// The repository a worktree belongs to.
    repository: Option<PathBuf>,
    /// What the files looked like when it was made.
    pub stamps: Stamps,
    /// Files that were too large to be copied.
    pub left_out: Vec<PathBuf>,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
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
    /// The disk is full or git refuses.
    pub async fn new(cwd: &Path, parent: &Path) -> Result<Self, CopyError> {
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
        let (work, left_out) = if let Some((top, prefix)) = &repository {
            worktree(top, &target).await?;
            (target.join(prefix), Vec::new())
        } else {
            let (from, to) = (cwd.to_owned(), target.clone());
            let copied = tokio::task::spawn_blocking(move || plain(&from, &to)).await;
            let left_out = copied.unwrap_or(Err(CopyError::TooMany))?;
            (target, left_out)
        };
        fs::create_dir_all(&work).map_err(failed)?;
        let looked = work.clone();
        let stamps = tokio::task::spawn_blocking(move || Stamps::of(&looked)).await;
        Ok(Self {
            folder,
            cwd: work,
            repository: repository.map(|(top, _)| top),
            stamps: stamps.unwrap_or_default(),
            left_out,
        })
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Takes the copy away, and what git knows of it.
    pub async fn remove(self) {
        if let Some(repository) = &self.repository {
            let target = self.folder.path().join("files");
            let arguments = words("worktree remove --force", &[target.as_os_str()]);
            let _ = git(repository, arguments).await;
        }
        drop(self.folder);
    }
}

/// What a file in a copy below `parent` is in the original: its path relative to the working directory `cwd` where
/// it is in there. `None` for one that is in no copy.
pub fn original(path: &Path, parent: &Path, cwd: &Path) -> Option<PathBuf> {
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
    Err(last.unwrap_or("it said nothing").trim().to_owned())
}

/// Arguments of git, the last ones as they are.
fn words(words: &str, rest: &[&OsStr]) -> Vec<OsString> {
    let words = words.split(' ').map(OsString::from);
    words.chain(rest.iter().map(OsString::from)).collect()
}

/// The top of the repository around `cwd` and the way from there; `None` without one that has a commit.
async fn repository(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let ask = words("rev-parse --show-toplevel --show-prefix HEAD", &[]);
    let output = git(cwd, ask).await.ok()?;
    let mut lines = output.stdout.split(|byte| *byte == b'\n');
    let mut path = || Some(PathBuf::from(OsStr::from_bytes(lines.next()?)));
    Some((path()?, path()?))
}

/// A worktree at `target` with what is not committed.
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

/// A plain copy of what is not ignored; the files that were too large.
fn plain(from: &Path, to: &Path) -> Result<Vec<PathBuf>, CopyError> {
    let mut left_out = Vec::new();
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
            left_out.push(path.to_owned());
            continue;
        }
        copy_file(&source, &to.join(path)).map_err(|source| CopyError::Io {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(left_out)
}

/// Makes `to` what `from` is: a file with its mode, a link, or nothing.
pub(super) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = match from.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return remove_file(to),
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        // A repository inside of the repository: it is not ours to copy.
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if metadata.is_symlink() {
        remove_file(to)?;
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    // Beside the target first: a full disk must not leave half a file.
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

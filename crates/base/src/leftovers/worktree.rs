//! The worktree of a lane, and its registration in the repository of the user.
//!
//! Git writes a registration in several steps and locks it until the last one, so that it never prunes the registration of a
//! `git worktree add` that was killed. The folder of a lane therefore names the repository before git starts, and the name of
//! the registration is that of the folder, which no other worktree has.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::atomic_file;
use crate::regular_file::{self, ReadError};

/// The file in the folder of a lane with the path of the repository's `worktrees`.
const REGISTRATIONS: &str = "registrations";
/// Maximum bytes of a path.
const PATH_LIMIT: u64 = 4096;
/// The worktree of a lane of an earlier version.
const EARLIER: &str = "files";

/// The path of the worktree in the folder of a lane. Git names a registration after the last part.
pub fn path(lane: &Path) -> PathBuf {
    lane.join(lane.file_name().unwrap_or_default())
}

/// Stores in which repository the worktree of a lane will be registered; `common` is its common directory.
///
/// # Errors
/// The file cannot be written.
pub fn will_register(lane: &Path, common: &Path) -> io::Result<()> {
    let folder = common.join("worktrees");
    let written = atomic_file::write(&lane.join(REGISTRATIONS), folder.as_os_str().as_bytes());
    written.map_err(io::Error::other)
}

/// Removes the registration of a lane's worktree from its repository, as git does when it removes the worktree. Blocks.
pub fn unregister(lane: &Path) {
    if let Some(registration) = registration(lane) {
        // The user can remove what remains with `git worktree remove`.
        let _ = fs::remove_dir_all(registration);
    }
    unregister_earlier(&lane.join(EARLIER));
}

/// The registration of a lane, complete or not.
fn registration(lane: &Path) -> Option<PathBuf> {
    let folder = regular_file::read(&lane.join(REGISTRATIONS), PATH_LIMIT).ok()?;
    let folder = PathBuf::from(OsString::from_vec(folder));
    let registration = folder.join(lane.file_name()?);
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let is_registration = folder.is_absolute()
        && folder.ends_with("worktrees")
        && is_folder(&folder)
        && is_folder(&registration);
    let is_own = match regular_file::read_text(&registration.join("gitdir"), PATH_LIMIT) {
        Ok(link) => is_same(Path::new(link.trim_end()).parent()?, &path(lane)),
        // Git was killed before it wrote the file.
        Err(error) => error == ReadError::Missing,
    };
    (is_registration && is_own).then_some(registration)
}

/// Whether two paths name one file or folder, whose last part may be missing.
fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| {
        let parent = fs::canonicalize(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    };
    resolved(one).is_some_and(|one| Some(one) == resolved(other))
}

/// The same for a lane that does not name its repository: by the link in its worktree.
fn unregister_earlier(worktree: &Path) {
    let link = worktree.join(".git");
    let Ok(text) = regular_file::read_text(&link, PATH_LIMIT) else {
        return;
    };
    let Some(registration) = text.trim_end().strip_prefix("gitdir: ").map(Path::new) else {
        return;
    };
    let is_registration = registration
        .parent()
        .is_some_and(|parent| parent.ends_with(".git/worktrees"));
    let back = regular_file::read_text(&registration.join("gitdir"), PATH_LIMIT);
    // Both must name each other: the file in the worktree could have been changed.
    let same =
        |named: &str| fs::canonicalize(named.trim_end()).ok() == fs::canonicalize(&link).ok();
    if is_registration && back.is_ok_and(|back| same(&back)) {
        let _ = fs::remove_dir_all(registration);
    }
}

//! The worktree of a lane or a fork, and its registration in the repository of the user. The worktree of a lane is in a temporary
//! folder. That of a fork is outside, and its temporary folder is there until the worktree is complete.
//!
//! Git writes a registration in several steps and locks it until the last one, so that it never prunes the registration of a
//! `git worktree add` that was killed. The temporary folder therefore names the repository before git starts, and the name of
//! the registration has the random end of the worktree's name, which no other worktree has.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::atomic_file;
use crate::regular_file::{self, ReadError};

/// The file in the folder of a lane with the path of the repository's `worktrees`.
const REGISTRATIONS: &str = "registrations";
/// The file in a temporary folder with the path of a worktree outside.
const OUTSIDE: &str = "worktree";
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
    write_path(&lane.join(REGISTRATIONS), &common.join("worktrees"))
}

/// Like [`will_register`], for a `worktree` outside of the temporary folder. Its name ends with `-`
/// and random letters.
///
/// # Errors
/// A file cannot be written.
pub fn will_register_outside(folder: &Path, worktree: &Path, common: &Path) -> io::Result<()> {
    write_path(&folder.join(OUTSIDE), worktree)?;
    will_register(folder, common)
}

/// The worktree outside of the temporary folder is complete: it stays.
///
/// # Errors
/// The file cannot be removed.
pub fn keep_outside(folder: &Path) -> io::Result<()> {
    fs::remove_file(folder.join(REGISTRATIONS))
}

/// Removes the registration of a worktree from its repository, as git does when it removes the worktree, and the worktree if
/// it is outside of the temporary folder. Blocks.
pub fn unregister(folder: &Path) {
    if let Some(registration) = registration(folder) {
        let outside = read_path(&folder.join(OUTSIDE));
        // The user can remove what remains with `git worktree remove`.
        if outside.is_none_or(|worktree| remove_outside(&worktree, &registration)) {
            let _ = fs::remove_dir_all(registration);
        }
    }
    unregister_earlier(&folder.join(EARLIER));
}

/// Removes a worktree that was not completed. Returns false if it stays, because it is on a branch
/// or has another registration.
fn remove_outside(worktree: &Path, registration: &Path) -> bool {
    let head = regular_file::read_text(&registration.join("HEAD"), PATH_LIMIT);
    if head.is_ok_and(|head| head.starts_with("ref:")) {
        return false;
    }
    match regular_file::read_text(&worktree.join(".git"), PATH_LIMIT) {
        Ok(link) => {
            let named = link.trim_end().strip_prefix("gitdir: ");
            let is_own = named.is_some_and(|named| is_same(&worktree.join(named), registration));
            is_own && fs::remove_dir_all(worktree).is_ok()
        }
        // Git was killed before it wrote the file: the folder is empty.
        Err(ReadError::Missing) => match fs::remove_dir(worktree) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        },
        Err(_) => false,
    }
}

fn write_path(file: &Path, path: &Path) -> io::Result<()> {
    let written = atomic_file::write(file, path.as_os_str().as_bytes());
    written.map_err(io::Error::other)
}

fn read_path(file: &Path) -> Option<PathBuf> {
    let bytes = regular_file::read(file, PATH_LIMIT).ok()?;
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// The registration of a worktree, complete or not.
fn registration(folder: &Path) -> Option<PathBuf> {
    let registrations = read_path(&folder.join(REGISTRATIONS))?;
    let worktree = read_path(&folder.join(OUTSIDE)).unwrap_or_else(|| path(folder));
    let name = worktree.file_name()?.as_bytes();
    let random = name.rsplit(|byte| *byte == b'-').next()?;
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !registrations.is_absolute()
        || !registrations.ends_with("worktrees")
        || !is_folder(&registrations)
    {
        return None;
    }
    let is_own = |registration: &PathBuf| {
        // Git replaces characters of the name that a reference cannot have.
        let name = registration.file_name().unwrap_or_default();
        let is_named = name.as_bytes().ends_with(random) && is_folder(registration);
        let gitdir = || regular_file::read_text(&registration.join("gitdir"), PATH_LIMIT);
        is_named
            && match gitdir() {
                Ok(link) => {
                    // Git can be set to write relative paths.
                    let named = registration.join(link.trim_end());
                    named
                        .parent()
                        .is_some_and(|named| is_same(named, &worktree))
                }
                // Git was killed before it wrote the file.
                Err(error) => error == ReadError::Missing,
            }
    };
    let entries = fs::read_dir(&registrations).ok()?.flatten();
    entries.map(|entry| entry.path()).find(is_own)
}

/// Whether two paths name one file or folder, whose last part may be missing.
fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| {
        let parent = fs::canonicalize(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    };
    resolved(one).is_some_and(|one| Some(one) == resolved(other))
}

/// Like [`unregister`], for a lane of an earlier version, which names its repository only by the
/// link in its worktree.
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
    // The worktree and the registration must name each other: the file in the worktree could have
    // been changed.
    let same =
        |named: &str| fs::canonicalize(named.trim_end()).ok() == fs::canonicalize(&link).ok();
    if is_registration && back.is_ok_and(|back| same(&back)) {
        let _ = fs::remove_dir_all(registration);
    }
}

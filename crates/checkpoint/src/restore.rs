//! Executes a plan file by file; every file is replaced atomically.
//!
//! A path is checked again just before it is changed: files that changed since the plan was made stay. Links
//! are never followed, because a directory may have been replaced by a link since.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cache::Stamp;
use super::objects::{Hash, Objects};
use super::plan::{FileChange, Plan, Step};
use super::scan::MAX_FILE;
use super::state::Held;
use osier_base::atomic_file;

/// The result of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    pub changes: Vec<FileChange>,
    pub left: Vec<Unrestored>,
}

/// A file that stayed as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unrestored {
    /// Relative to the working directory.
    pub path: String,
    pub reason: String,
}

/// Executes the steps of `plan`; those of externally changed files only with `by_hand`.
pub(super) fn restore(root: &Path, objects: &Objects, plan: &Plan, by_hand: bool) -> Restored {
    let mut restored = Restored::default();
    // Removals first: a file may be in the place of a directory.
    let (removals, rest): (Vec<&Step>, Vec<&Step>) =
        plan.steps.iter().partition(|step| step.to.is_none());
    for step in removals.into_iter().chain(rest) {
        let done = match step.obstacle {
            Some(obstacle) => Err(obstacle.to_owned()),
            None if step.by_hand && !by_hand => {
                Err("it was changed outside of osier and is not restored".to_owned())
            }
            None => take(root, objects, step),
        };
        match done {
            Ok(()) => restored.changes.push(step.change()),
            Err(reason) => restored.left.push(Unrestored {
                path: step.path.to_string_lossy().into_owned(),
                reason,
            }),
        }
    }
    restored
}

/// One step.
fn take(root: &Path, objects: &Objects, step: &Step) -> Result<(), String> {
    let path = root.join(&step.path);
    check_parents(root, &step.path)?;
    if look(&path) != step.from {
        return Err("it has changed since".to_owned());
    }
    match step.to {
        None => {
            fs::remove_file(&path).map_err(|error| error.to_string())?;
            remove_empty_parents(root, &path);
            Ok(())
        }
        Some(Held::File { mode, content }) => {
            let bytes = objects.get(content).map_err(|error| missing(&error))?;
            write(&path, &bytes, mode, step.from)
        }
        Some(Held::Link { target }) => {
            let target = objects.get(target).map_err(|error| missing(&error))?;
            link(&path, &target).map_err(|error| error.to_string())
        }
        // Planned with an obstacle.
        Some(Held::NotKept { .. }) => Err("it was not recorded".to_owned()),
    }
}

fn missing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "its earlier content is no longer stored".to_owned(),
        _ => error.to_string(),
    }
}

/// Every directory on the way must be one, or not be there yet.
pub(super) fn check_parents(root: &Path, relative: &Path) -> Result<(), String> {
    let mut folder = root.to_path_buf();
    for name in relative.parent().into_iter().flat_map(Path::iter) {
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(format!("`{}` is not a directory", folder.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// The current content of `path`.
fn look(path: &Path) -> Option<Held> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        let target = Hash::of(target.as_os_str().as_bytes());
        return Some(Held::Link { target });
    }
    if metadata.is_dir() {
        return None;
    }
    let not_kept = Held::NotKept {
        mark: Stamp::of(&metadata).mark(),
    };
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Some(not_kept);
    }
    let Ok(bytes) = fs::read(path) else {
        return Some(not_kept);
    };
    Some(Held::File {
        mode: metadata.permissions().mode() & 0o7777,
        content: Hash::of(&bytes),
    })
}

fn write(path: &Path, bytes: &[u8], mode: u32, from: Option<Held>) -> Result<(), String> {
    if matches!(from, Some(Held::Link { .. })) {
        // A write would go through the link.
        fs::remove_file(path).map_err(|error| error.to_string())?;
    }
    let options = atomic_file::Options {
        parents: true,
        mode: Some(mode),
    };
    atomic_file::write_with(path, bytes, options).map_err(|error| error.to_string())
}

/// Creates a link under a temporary name and renames it.
fn link(path: &Path, target: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    let folder = tempfile::Builder::new()
        .prefix(".osier-")
        .tempdir_in(parent)?;
    let made: PathBuf = folder.path().join("link");
    symlink(OsStr::from_bytes(target), &made)?;
    fs::rename(&made, path)
}

/// Removes directories that became empty.
fn remove_empty_parents(root: &Path, path: &Path) {
    let parents = path.ancestors().skip(1);
    for folder in parents.take_while(|folder| *folder != root) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

//! Executes a plan file by file; every file is replaced atomically.
//!
//! A path is checked again just before it is changed: files that changed since the plan was made stay. Links
//! are never followed, because a directory may have been replaced by a link since.

use osier_protocol::Unrestored;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::cache::Stamp;
use super::objects::{Hash, Objects};
use super::plan::{Plan, Step};
use super::scan::MAX_FILE;
use super::state::Content;
use osier_base::atomic_file;
use osier_protocol::FileChange;

/// The result of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    pub changes: Vec<FileChange>,
    pub left: Vec<Unrestored>,
}

/// Executes the steps of `plan`; those of externally changed files only with `by_hand`.
pub(super) fn restore(root: &Path, objects: &Objects, plan: &Plan, by_hand: bool) -> Restored {
    let mut restored = Restored::default();
    // Removals first: a file may replace a directory.
    let (removals, rest): (Vec<&Step>, Vec<&Step>) =
        plan.steps.iter().partition(|step| step.to.is_none());
    for step in removals.into_iter().chain(rest) {
        let done = match step.obstacle {
            Some(obstacle) => Err(obstacle.to_owned()),
            None if step.by_hand && !by_hand => {
                Err("it was changed by hand and is not restored".to_owned())
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
    if current_content(&path) != step.from {
        return Err("it has changed since then".to_owned());
    }
    match step.to {
        None => {
            fs::remove_file(&path).map_err(|error| error.to_string())?;
            remove_empty_parents(root, &path);
            Ok(())
        }
        Some(Content::File { mode, content }) => {
            let bytes = objects.get(content).map_err(|error| missing(&error))?;
            write(&path, &bytes, mode, step.from)
        }
        Some(Content::Link { target }) => {
            let target = objects.get(target).map_err(|error| missing(&error))?;
            link(&path, &target).map_err(|error| error.to_string())
        }
        // Planned with an obstacle.
        Some(Content::NotRecorded { .. }) => Err("it was not recorded".to_owned()),
    }
}

fn missing(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "its earlier content is no longer stored".to_owned(),
        _ => error.to_string(),
    }
}

/// Every parent must be a directory or missing.
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
fn current_content(path: &Path) -> Option<Content> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let target = fs::read_link(path).ok()?;
        let target = Hash::of(target.as_os_str().as_bytes());
        return Some(Content::Link { target });
    }
    if metadata.is_dir() {
        return None;
    }
    let not_recorded = Content::NotRecorded {
        mark: Stamp::of(&metadata).mark(),
    };
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Some(not_recorded);
    }
    let Ok(bytes) = fs::read(path) else {
        return Some(not_recorded);
    };
    Some(Content::File {
        mode: metadata.permissions().mode() & 0o7777,
        content: Hash::of(&bytes),
    })
}

fn write(path: &Path, bytes: &[u8], mode: u32, from: Option<Content>) -> Result<(), String> {
    if matches!(from, Some(Content::Link { .. })) {
        // A write would go through the link.
        fs::remove_file(path).map_err(|error| error.to_string())?;
    }
    let options = atomic_file::Options {
        parents: true,
        mode: Some(mode),
        ..atomic_file::Options::default()
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

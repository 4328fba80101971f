//! Finds and removes temporary files and folders that no process uses. Links are not followed;
//! files of other users stay.

use std::fs::{self, DirEntry, File, Metadata, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::table::{FILES, FOLDERS, FolderKind, FolderRow, Parent, Places, Unneeded, Unused};
use super::worktree;
use crate::{pending_file, without_links};

/// A file or folder that changed within this time may be new and not locked yet.
const NEW: Duration = Duration::from_secs(3);
/// Where the file system has no locks, a file that has not changed for this time is unused.
const WITHOUT_LOCKS: Duration = Duration::from_hours(24);
/// The permissions of other users.
const OTHERS: u32 = 0o077;
/// Maximum bytes of a displaced file that is compared.
const COMPARED: u64 = 64 << 20;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub folders: usize,
    pub files: usize,
}

/// Removes what killed processes left. Blocks.
pub fn sweep(places: &Places) -> Swept {
    sweep_at(places, SystemTime::now())
}

/// Like [`sweep`], at the time `now`.
pub fn sweep_at(places: &Places, now: SystemTime) -> Swept {
    let mut swept = Swept::default();
    for row in &FOLDERS {
        let parent = match row.parent {
            Parent::Temporary => places.temporary.clone(),
            Parent::Fans => places.data.join("fans"),
        };
        swept.folders += matching(row, &parent)
            .filter(|path| sweep_folder(row, path, now))
            .count();
    }
    for row in &FILES {
        if let Some(folder) = (row.folder)(places) {
            let mut search = Search {
                unneeded: row.unneeded,
                left: row.entries,
                now,
                removed: Vec::new(),
            };
            swept.files += search.sweep(folder, row.depth);
        }
    }
    swept
}

/// The folders of a kind, also of other processes.
pub(super) fn folders_of(kind: FolderKind, parent: &Path) -> impl Iterator<Item = PathBuf> {
    let rows = FOLDERS
        .iter()
        .filter(move |row| row.prefix == kind.prefix());
    rows.flat_map(|row| matching(row, parent))
}

/// The folders with a name of this row.
fn matching(row: &FolderRow, parent: &Path) -> impl Iterator<Item = PathBuf> {
    let is_named = |entry: &DirEntry| {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(row.prefix));
        random.is_some_and(|random| {
            random.len() == row.random && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(is_named).map(|entry| entry.path())
}

/// The bytes of the files directly in a folder.
pub(super) fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.filter_map(|entry| entry.metadata().ok().map(|metadata| metadata.len()));
    bytes.sum()
}

/// Deletes a folder that no process uses.
fn sweep_folder(row: &FolderRow, path: &Path, now: SystemTime) -> bool {
    let Some((folder, metadata)) = own(path, Metadata::is_dir) else {
        return false;
    };
    let is_private = metadata.mode() & OTHERS == 0;
    if !is_private || !is_free(&folder) || !is_at(&folder, path) {
        return false;
    }
    let is_unused = match row.unused {
        Unused::Unlocked => age(&metadata, now) >= NEW || !is_empty(path),
        Unused::Old(limit, contains) => newest(path, &metadata, now) >= limit && contains(path),
    };
    if !is_unused {
        return false;
    }
    if row.parent == Parent::Fans {
        worktree::unregister(path);
    }
    fs::remove_dir_all(path).is_ok()
}

/// The file at `path`, which is no link and belongs to this user.
fn own(path: &Path, is_kind: fn(&Metadata) -> bool) -> Option<(File, Metadata)> {
    let is_own = |metadata: &Metadata| {
        is_kind(metadata) && metadata.uid() == rustix::process::geteuid().as_raw()
    };
    fs::symlink_metadata(path).ok().filter(is_own)?;
    let file = without_links::open_last(path).ok()?;
    let metadata = file.metadata().ok().filter(is_own)?;
    Some((file, metadata))
}

/// Whether no process had the file locked. If so, it is locked now, until `file` is closed.
fn is_free(file: &File) -> bool {
    file.try_lock().is_ok()
}

/// Whether `file` is still the one at `path`: another process may have replaced it.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: io::Result<Metadata>| {
        let metadata = metadata.ok();
        metadata.map(|metadata| (metadata.dev(), metadata.ino()))
    };
    id(file.metadata()).is_some_and(|here| Some(here) == id(fs::symlink_metadata(path)))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The time since the last change of the file or its metadata.
fn age(metadata: &Metadata, now: SystemTime) -> Duration {
    let changed = Duration::from_secs(metadata.ctime().max(0).cast_unsigned());
    let changed = SystemTime::UNIX_EPOCH + changed;
    let modified = metadata.modified().unwrap_or(changed);
    // A time in the future comes from another clock.
    now.duration_since(modified.max(changed))
        .unwrap_or_default()
}

/// The time since the last change of a folder and its entries.
fn newest(folder: &Path, metadata: &Metadata, now: SystemTime) -> Duration {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let ages =
        entries.filter_map(|entry| entry.metadata().ok().map(|metadata| age(&metadata, now)));
    ages.fold(age(metadata, now), Duration::min)
}

/// A search for temporary files.
struct Search {
    unneeded: fn(&str) -> Option<Unneeded<'_>>,
    /// The entries that may still be visited.
    left: usize,
    now: SystemTime,
    /// Device and inode of the deleted files.
    removed: Vec<(u64, u64)>,
}

impl Search {
    /// Deletes the temporary files in a folder and below. Returns their number.
    fn sweep(&mut self, folder: &Path, depth: usize) -> usize {
        let mut swept = 0;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else {
                continue;
            };
            if kind.is_dir() && depth > 0 && name != ".git" {
                swept += self.sweep(&entry.path(), depth - 1);
            } else if kind.is_file()
                && let Some(unneeded) = name.to_str().and_then(self.unneeded)
                && self.sweep_file(&entry.path(), unneeded)
            {
                swept += 1;
            }
        }
        swept
    }

    /// Deletes a file that no process uses.
    fn sweep_file(&mut self, path: &Path, unneeded: Unneeded<'_>) -> bool {
        let Some((file, metadata)) = own(path, Metadata::is_file) else {
            return false;
        };
        let age = age(&metadata, self.now);
        let id = (metadata.dev(), metadata.ino());
        let is_free = match file.try_lock() {
            // Deleting another name of the file has changed its metadata.
            Ok(()) => age >= NEW || self.removed.contains(&id),
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => age >= WITHOUT_LOCKS,
        };
        let is_unneeded = || match unneeded {
            Unneeded::Unlocked => true,
            Unneeded::Old(limit) => age >= limit,
            Unneeded::Content(marks) => metadata.len() <= COMPARED && has_mark(&file, marks),
        };
        let is_removed =
            is_free && is_unneeded() && is_at(&file, path) && fs::remove_file(path).is_ok();
        self.removed.extend(is_removed.then_some(id));
        is_removed
    }
}

fn has_mark(file: &File, marks: [&str; 2]) -> bool {
    let mut bytes = Vec::new();
    let read = file.take(COMPARED + 1).read_to_end(&mut bytes);
    read.is_ok() && marks.contains(&pending_file::content_mark(&bytes).as_str())
}

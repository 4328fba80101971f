//! Scans the working directory: every file that is not ignored, reading only changed ones.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use osier_base::file_stamp::FileStamp;
use osier_base::{regular_file, without_links};
use osier_walk::{Rules, WalkError, walk};

use super::cache::{Cache, mark};
use super::objects::{Hash, Objects};
use super::state::{Content, State};
use super::step::check_parents;

/// Larger files are not recorded.
pub const MAX_FILE: u64 = 32 * 1024 * 1024;
/// Trees with more files are not recorded.
pub const MAX_FILES: usize = 50_000;

/// The `.git` file of a submodule only names its repository.
const MAX_GIT_FILE: u64 = 8 * 1024;

/// The result of a scan.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) state: State,
    /// Paths without recorded content: too large, unreadable, or not a regular file.
    pub(super) not_recorded: Vec<PathBuf>,
    /// The updated cache.
    pub(super) cache: Cache,
}

/// The files of a scan, in path order, so that building the map needs few comparisons.
#[derive(Default)]
struct Collected {
    paths: Vec<(PathBuf, Content)>,
    not_recorded: Vec<PathBuf>,
    cache: Cache,
}

impl Collected {
    /// Adds a folder that cannot be read as one path without content, in place of its files. A
    /// deleted folder is skipped.
    fn unreadable(&mut self, root: &Path, error: &WalkError) {
        let WalkError::Folder { path, source } = error else {
            return;
        };
        let is_gone = source.kind() == io::ErrorKind::NotFound;
        let path = path.strip_prefix(root).ok();
        if let Some(path) = path.filter(|path| !is_gone && !path.as_os_str().is_empty()) {
            self.not_recorded.push(path.to_path_buf());
            let content = Content::NotRecorded { mark: 0 };
            self.paths.push((path.to_path_buf(), content));
        }
    }
}

/// Why a directory cannot be scanned.
#[derive(Debug)]
pub(super) enum ScanError {
    TooMany,
    Io(io::Error),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Scans everything below `root` and stores new content in `objects`.
pub(super) fn scan(root: &Path, cache: &Cache, objects: &Objects) -> Result<Scanned, ScanError> {
    let mut seen = Collected::default();
    for entry in walk(root, Rules::RECORD) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                seen.unreadable(root, &error);
                continue;
            }
        };
        let Ok(path) = entry.path.strip_prefix(root).map(Path::to_path_buf) else {
            continue;
        };
        if entry.kind.is_dir() || path.file_name().is_some_and(is_temporary) {
            continue;
        }
        if seen.paths.len() == MAX_FILES {
            return Err(ScanError::TooMany);
        }
        let Some(content) = content_of(&entry.path, &path, cache, objects, &mut seen.cache)? else {
            continue;
        };
        if matches!(content, Content::NotRecorded { .. }) {
            seen.not_recorded.push(path.clone());
        }
        seen.paths.push((path, content));
    }
    for path in repository_files(root) {
        let content = content_of(&root.join(&path), &path, cache, objects, &mut seen.cache)?;
        seen.paths.extend(content.map(|content| (path, content)));
    }
    Ok(Scanned {
        state: State {
            paths: seen.paths.into_iter().collect(),
        },
        not_recorded: seen.not_recorded,
        cache: seen.cache,
    })
}

/// The `.git` files of the submodules: without this file, a restored submodule would be part of the
/// project.
fn repository_files(root: &Path) -> Vec<PathBuf> {
    let Ok(modules) = regular_file::read_text(&root.join(".gitmodules"), regular_file::SMALL)
    else {
        return Vec::new();
    };
    let paths = modules.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let path = Path::new(value.trim()).join(".git");
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        (name.trim() == "path" && is_plain).then_some(path)
    });
    paths
        .filter(|path| {
            let data = fs::symlink_metadata(root.join(path));
            data.is_ok_and(|data| data.is_file() && data.len() <= MAX_GIT_FILE)
                && check_parents(root, path).is_ok()
        })
        .collect()
}

/// Whether `name` is a temporary name of osier, for an incomplete file.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".osier-") && name.ends_with(b".tmp")
}

/// The state of `path`; `None` if it was deleted.
fn content_of(
    full: &Path,
    path: &Path,
    cache: &Cache,
    objects: &Objects,
    known: &mut Cache,
) -> io::Result<Option<Content>> {
    let Ok(metadata) = fs::symlink_metadata(full) else {
        return Ok(None);
    };
    if metadata.is_symlink() {
        let Ok(target) = fs::read_link(full) else {
            return Ok(None);
        };
        let target = objects.put(target.as_os_str().as_bytes())?;
        return Ok(Some(Content::Link { target }));
    }
    let stamp = FileStamp::of(&metadata);
    let not_recorded = Content::NotRecorded { mark: mark(&stamp) };
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return Ok(Some(not_recorded));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    let is_stored = |hash: &Hash| objects.has(*hash, metadata.len());
    if let Some(content) = cache.get(path, stamp).filter(is_stored) {
        known.insert(path.to_path_buf(), stamp, content);
        return Ok(Some(Content::File { mode, content }));
    }
    let Some(bytes) = read(full, &metadata) else {
        return Ok(Some(not_recorded));
    };
    let content: Hash = objects.put(&bytes)?;
    // A file that changed while it was read is read again at the next scan.
    if FileStamp::at(full).is_ok_and(|after| after == stamp) {
        known.insert(path.to_path_buf(), stamp, content);
    }
    Ok(Some(Content::File { mode, content }))
}

/// The content; `None` if it is unreadable or has grown beyond the limit.
fn read(path: &Path, metadata: &Metadata) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    // A file that became a pipe meanwhile does not block.
    let file = without_links::open_last(path).ok()?;
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_FILE).then_some(bytes)
}

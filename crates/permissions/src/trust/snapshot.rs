//! The state of the files that a program could load: names, modes, sizes and times of changes, and the contents if they are few.

use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use osier_base::hex::hex;
use osier_base::{real_path, regular_file};

/// Maximum number of files; a program with more does not run.
const MOST: usize = 1_000_000;
const DEPTH: usize = 64;
/// Files and bytes whose contents are compared, so that the same content is no change.
const MOST_READ: usize = 20_000;
const BYTES_READ: u64 = 64 * 1024 * 1024;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Changed files that a question names.
pub(super) const SHOWN: usize = 5;
/// Notes of tools about files, which nothing runs. Python reads no compiled modules: osier sets `PYTHONPYCACHEPREFIX`.
const SKIPPED: [&str; 8] = [
    ".git",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".eslintcache",
    ".stylelintcache",
    ".DS_Store",
];

/// The state of the files of a program that ran, or that the user allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// Names, sizes and times.
    pub stamp: String,
    /// The contents, if they are few.
    pub contents: Option<String>,
    /// When the user allowed it, in nanoseconds since 1970.
    pub at: Option<u64>,
}

/// The files that a program could load.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Every file of the project.
    pub all: bool,
    /// Folders with everything in them, and whether links in them are followed.
    pub folders: BTreeMap<PathBuf, bool>,
    /// Single files, and the part of a file that counts, if that is not all of it.
    pub files: BTreeMap<PathBuf, Option<String>>,
}

/// The state of these files.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// A hash of everything but the contents.
    pub stamp: String,
    /// The first files that have changed since the time in question, and the number of all.
    pub changed: (Vec<PathBuf>, usize),
    entries: usize,
    bytes: u64,
}

impl Reach {
    pub(super) fn is_empty(&self) -> bool {
        !self.all && self.folders.is_empty() && self.files.is_empty()
    }

    /// Visits every file, folder and link once, in the order of the names.
    fn visit(&self, project: &Path, see: &mut See<'_>) -> Result<(), String> {
        if self.all {
            return Walk {
                project,
                follow: false,
                followed: HashSet::new(),
                see,
            }
            .folder(project, DEPTH);
        }
        for (folder, follow) in &self.folders {
            let above = folder.ancestors().skip(1);
            if !above
                .into_iter()
                .any(|above| self.folders.contains_key(above))
            {
                let mut walk = Walk {
                    project,
                    follow: *follow,
                    followed: HashSet::new(),
                    see: &mut *see,
                };
                walk.entry(folder, DEPTH)?;
            }
        }
        for (file, part) in &self.files {
            let data = file
                .symlink_metadata()
                .map_err(|error| failed(file, &error))?;
            see(file, &data, part.as_deref())?;
        }
        Ok(())
    }

    /// # Errors
    /// The files cannot be listed.
    pub(super) fn snapshot(&self, project: &Path, since: Option<u64>) -> Result<Snapshot, String> {
        let (mut hasher, mut found) = (Sha256::new(), Snapshot::default());
        let mut folders = Vec::new();
        self.visit(project, &mut |path, data, part| {
            found.entries += 1;
            if found.entries > MOST {
                return Err(format!("it could load more than {MOST} files"));
            }
            add_name(&mut hasher, path, project, data.mode());
            let is_changed = since.is_some_and(|since| changed_at(data) > since);
            if data.is_dir() {
                folders.extend(is_changed.then(|| path.to_owned()));
                return Ok(());
            }
            if let Some(part) = part {
                hasher.update(part);
            } else {
                found.bytes = found.bytes.saturating_add(data.len());
                hasher.update(data.len().to_le_bytes());
                hasher.update(changed_at(data).to_le_bytes());
            }
            if is_changed {
                found.changed.1 += 1;
                found.changed.0.push(path.to_owned());
                found.changed.0.truncate(SHOWN);
            }
            Ok(())
        })?;
        // A file that was removed or a folder that was renamed changes only its folder.
        if found.changed.1 == 0 {
            found.changed.1 = folders.len();
            found.changed.0 = folders.into_iter().take(SHOWN).collect();
        }
        found.stamp = hex(hasher.finalize());
        Ok(found)
    }

    /// A hash of names, modes and contents; `None` if there are too many.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn contents(
        &self,
        project: &Path,
        snapshot: &Snapshot,
    ) -> Result<Option<String>, String> {
        if snapshot.entries > MOST_READ || snapshot.bytes > BYTES_READ {
            return Ok(None);
        }
        let mut hasher = Sha256::new();
        self.visit(project, &mut |path, data, part| {
            add_name(&mut hasher, path, project, data.mode());
            match part {
                Some(part) => hasher.update(part),
                None => hasher.update(content(path, data)?),
            }
            Ok(())
        })?;
        Ok(Some(hex(hasher.finalize())))
    }

    /// The files below `copy` that are not the same as those of the project, and a hash of their contents.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn different(
        &self,
        copy: &Path,
        project: &Path,
    ) -> Result<(Vec<PathBuf>, String), String> {
        let (mut hasher, mut found) = (Sha256::new(), Vec::new());
        self.visit(copy, &mut |path, data, _| {
            if data.is_dir() {
                return Ok(());
            }
            let name = path.strip_prefix(copy).unwrap_or(path);
            let own = content(path, data)?;
            let original = project.join(name);
            let original = original
                .symlink_metadata()
                .ok()
                .and_then(|data| content(&original, &data).ok());
            if original.as_ref() != Some(&own) {
                found.push(name.to_owned());
                hasher.update(name.as_os_str().as_encoded_bytes());
                hasher.update(own);
            }
            Ok(())
        })?;
        Ok((found, hex(hasher.finalize())))
    }
}

/// A hash of the content of a file, or of the target of a link.
fn content(path: &Path, data: &Metadata) -> Result<Vec<u8>, String> {
    let mut content = Sha256::new();
    content.update((data.mode() & 0o170_111).to_le_bytes());
    if data.is_symlink() {
        let target = path.read_link().map_err(|error| failed(path, &error))?;
        content.update(target.as_os_str().as_encoded_bytes());
    } else if data.is_file() {
        let mut file = regular_file::open(path).map_err(|error| failed(path, &error.into()))?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = file
                .read(&mut chunk)
                .map_err(|error| failed(path, &error))?;
            if length == 0 {
                break;
            }
            content.update(&chunk[..length]);
        }
    }
    Ok(content.finalize().to_vec())
}

/// Sees a path, and the part of the file that counts.
type See<'s> = dyn FnMut(&Path, &Metadata, Option<&str>) -> Result<(), String> + 's;

struct Walk<'w, 's> {
    project: &'w Path,
    follow: bool,
    followed: HashSet<PathBuf>,
    see: &'w mut See<'s>,
}

impl Walk<'_, '_> {
    fn entry(&mut self, path: &Path, depth: usize) -> Result<(), String> {
        let data = match path.symlink_metadata() {
            // A temporary file of another program.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            data => data.map_err(|error| failed(path, &error))?,
        };
        (self.see)(path, &data, None)?;
        if data.is_dir() {
            return self.folder(path, depth);
        }
        if data.is_symlink() && self.follow {
            let real = real_path::resolve(path).real;
            let is_there = real.starts_with(self.project) && real.exists();
            if is_there && !path.starts_with(&real) && self.followed.insert(real.clone()) {
                return self.entry(&real, depth.saturating_sub(1));
            }
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        if depth == 0 {
            return Err(format!("`{}` is too deep", folder.display()));
        }
        let entries = folder.read_dir().map_err(|error| failed(folder, &error))?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names = names
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| failed(folder, &error))?;
        names.retain(|name| !SKIPPED.iter().any(|skipped| name == skipped));
        names.sort_unstable();
        for name in names {
            self.entry(&folder.join(name), depth - 1)?;
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

fn add_name(hasher: &mut Sha256, path: &Path, project: &Path, mode: u32) {
    let name = path.strip_prefix(project).unwrap_or(path);
    let name = name.as_os_str().as_encoded_bytes();
    hasher.update((name.len() as u64).to_le_bytes());
    hasher.update(name);
    hasher.update(mode.to_le_bytes());
}

/// When the file was changed, in nanoseconds since 1970. The system sets the time, so that no program can set it back.
fn changed_at(data: &Metadata) -> u64 {
    let positive = |number: i64| u64::try_from(number).unwrap_or_default();
    let seconds = positive(data.ctime()).saturating_mul(1_000_000_000);
    seconds.saturating_add(positive(data.ctime_nsec()))
}

//! The code that a program could load and that has changed: since the user trusted the project, or in a copy of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use osier_base::hex::hex;
use osier_base::{real_path, regular_file};

/// Files that are visited at most; a program with more does not run.
const MOST: usize = 1_000_000;
const DEPTH: usize = 64;
/// Bytes whose contents are compared; of more, sizes and times.
const BYTES_READ: u64 = 64 * 1024 * 1024;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Notes of tools about files, which nothing runs. Python reads no compiled modules: osier sets `PYTHONPYCACHEPREFIX`.
#[rustfmt::skip]
const SKIPPED: [&str; 12] = [
    ".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".eslintcache", ".stylelintcache", ".prettier-cache",
    ".package-lock.json", ".vite", ".vitest", ".DS_Store",
];
/// Ends of the names of files that no program runs, unless they are executable or a program is given their names.
#[rustfmt::skip]
const DATA: [&str; 29] = [
    "adoc", "bmp", "css", "csv", "gif", "htm", "html", "ico", "jpeg", "jpg", "jsonl", "less", "lock", "log", "md", "mdx", "out",
    "pdf", "png", "rst", "scss", "svg", "tsbuildinfo", "tsv", "txt", "webp", "woff", "woff2", "xml",
];

/// The code that a program could load.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Every code of the project.
    pub all: bool,
    /// Folders with the code in them, and whether links in them are followed.
    pub folders: BTreeMap<PathBuf, bool>,
    pub files: BTreeSet<PathBuf>,
    /// Names of modules and files that could lie anywhere in the project.
    pub names: BTreeSet<String>,
}

impl Reach {
    /// Visits what could be loaded of the project, in no order.
    fn visit(&self, project: &Path, see: &mut See<'_>) -> Result<(), String> {
        if self.all || !self.names.is_empty() {
            let names = &self.names;
            let mut named = |path: &Path, data: &Metadata| {
                if self.all || has_name(path, project, names) {
                    see(path, data)?;
                }
                Ok(())
            };
            Walk::new(project, false, &mut named).folder(project, DEPTH)?;
        }
        for (folder, follow) in &self.folders {
            Walk::new(project, *follow, see).entry(folder, DEPTH)?;
        }
        for file in &self.files {
            match file.symlink_metadata() {
                Ok(data) => see(file, &data)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(file, &error)),
            }
        }
        Ok(())
    }

    /// The code that has changed since then.
    ///
    /// # Errors
    /// The files cannot be listed.
    pub(super) fn changed(&self, project: &Path, since: u64) -> Result<Changed, String> {
        let mut found = Changed::default();
        self.visit(project, &mut |path, data| {
            if is_changed(data, since) && (self.files.contains(path) || is_code(path, data)) {
                let size = if data.is_file() { data.len() } else { 0 };
                found.insert(path.to_owned(), (size, changed_at(data)));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The code in `copy` that is not that of the project.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn different(&self, copy: &Path, project: &Path) -> Result<Changed, String> {
        let mut found = Changed::default();
        self.visit(copy, &mut |path, data| {
            if data.is_dir() || !self.files.contains(path) && !is_code(path, data) {
                return Ok(());
            }
            let original = project.join(path.strip_prefix(copy).unwrap_or(path));
            let own = original.symlink_metadata().ok();
            let is_same = own.is_some_and(|own| {
                (own.dev(), own.ino()) == (data.dev(), data.ino())
                    || own.len() == data.len() && content(&original, &own) == content(path, data)
            });
            if !is_same {
                found.insert(path.to_owned(), (data.len(), changed_at(data)));
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Changed files, with their sizes and the times of the changes.
pub(super) type Changed = BTreeMap<PathBuf, (u64, u64)>;

/// One hash over names, modes and contents.
///
/// # Errors
/// A file cannot be read.
pub(super) fn hash(changed: &Changed, project: &Path) -> Result<String, String> {
    let reads = changed.values().map(|(size, _)| size).sum::<u64>() <= BYTES_READ;
    let mut hasher = Sha256::new();
    for (path, (size, at)) in changed {
        let name = path.strip_prefix(project).unwrap_or(path);
        let name = name.as_os_str().as_encoded_bytes();
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        if reads {
            let data = path.symlink_metadata();
            hasher.update(content(path, &data.map_err(|error| failed(path, &error))?)?);
        } else {
            hasher.update(size.to_le_bytes());
            hasher.update(at.to_le_bytes());
        }
    }
    Ok(hex(hasher.finalize()))
}

/// A hash of the mode and the content of a file, or of the target of a link.
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

/// Whether the file has changed. The system sets the time, so that no program can set it back.
fn is_changed(data: &Metadata, since: u64) -> bool {
    let modified = nanoseconds(data.mtime(), data.mtime_nsec());
    if data.is_dir() {
        // Its entries are compared themselves, unless it was renamed with them.
        return changed_at(data) > since && modified <= since;
    }
    // A package manager links the same file into other projects, which changes its time.
    let is_linked = data.is_file() && data.nlink() > 1;
    let at = if is_linked {
        modified
    } else {
        changed_at(data)
    };
    at > since
}

fn changed_at(data: &Metadata) -> u64 {
    nanoseconds(data.ctime(), data.ctime_nsec())
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    let positive = |number: i64| u64::try_from(number).unwrap_or_default();
    let seconds = positive(seconds).saturating_mul(1_000_000_000);
    seconds.saturating_add(positive(nanoseconds))
}

/// Whether a program could run the file without being given its name.
fn is_code(path: &Path, data: &Metadata) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    let is_data = end.is_some_and(|end| DATA.contains(&end));
    let is_file = data.is_file() && (!is_data || data.mode() & 0o111 != 0);
    is_file || data.is_dir() || data.is_symlink()
}

/// Whether a part of the path has one of these names, with any end.
fn has_name(path: &Path, project: &Path, names: &BTreeSet<String>) -> bool {
    let below = path.strip_prefix(project).unwrap_or(path);
    below.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        names.contains(&*part) || names.contains(part.split('.').next().unwrap_or_default())
    })
}

/// Sees a path.
type See<'s> = dyn FnMut(&Path, &Metadata) -> Result<(), String> + 's;

struct Walk<'w, 's> {
    project: &'w Path,
    follow: bool,
    followed: HashSet<PathBuf>,
    visited: usize,
    see: &'w mut See<'s>,
}

impl<'w, 's> Walk<'w, 's> {
    fn new(project: &'w Path, follow: bool, see: &'w mut See<'s>) -> Self {
        Self {
            project,
            follow,
            followed: HashSet::new(),
            visited: 0,
            see,
        }
    }

    fn entry(&mut self, path: &Path, depth: usize) -> Result<(), String> {
        let data = match path.symlink_metadata() {
            // A temporary file of another program.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            data => data.map_err(|error| failed(path, &error))?,
        };
        self.visited += 1;
        if self.visited > MOST {
            return Err(format!("it could load more than {MOST} files"));
        }
        (self.see)(path, &data)?;
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
        let entries = match folder.read_dir() {
            // A program of the user reads no more of it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            entries => entries.map_err(|error| failed(folder, &error))?,
        };
        // Of cargo: it is large, and its programs run by their names only.
        let is_cache = folder.ends_with("target") && folder.join("CACHEDIR.TAG").exists();
        for entry in entries.filter(|_| !is_cache) {
            let name = entry.map_err(|error| failed(folder, &error))?.file_name();
            let text = name.to_string_lossy();
            // A file that osier writes at this moment.
            let is_pending = text.starts_with(".osier-") && text.ends_with(".tmp");
            if !is_pending && !SKIPPED.iter().any(|skipped| name == *skipped) {
                self.entry(&folder.join(name), depth - 1)?;
            }
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

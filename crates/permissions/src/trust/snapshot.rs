//! The code that a program could load and that has changed since the user trusted the project, or that differs in a copy of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use osier_base::hex::hex;
use osier_base::{real_path, regular_file};

/// The largest number of files that are visited; a program that could load more does not run.
const MOST: usize = 1_000_000;
const DEPTH: usize = 64;
/// The number of bytes up to which contents are compared; above, sizes and times are.
const BYTES_READ: u64 = 64 * 1024 * 1024;
/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Folders with caches of tools, which nothing runs. Python ignores `__pycache__` of the project: osier sets `PYTHONPYCACHEPREFIX`.
const NOTES: [&str; 4] = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];
/// Ends of the names of files that are scripts and count in these folders, too.
const SCRIPTS: &str = "bash cjs cts fish js ksh lua mjs mts php pl py rb sh ts xsh zsh";
/// Files that are caches of tools.
#[rustfmt::skip]
const NOTE_FILES: [&str; 5] = [".eslintcache", ".stylelintcache", ".prettier-cache", ".package-lock.json", ".DS_Store"];
/// Folders in `node_modules` with packages that a development server prepared.
const PREPARED: [&str; 2] = [".vite", ".vitest"];
/// The time between two checks of a file that osier is writing, and the number of checks.
const PENDING: (Duration, usize) = (Duration::from_millis(25), 20);
/// Ends of the names of files that no program runs, unless a file is executable or a program gets its name.
#[rustfmt::skip]
const DATA: [&str; 26] = [
    "adoc", "bmp", "css", "csv", "gif", "htm", "html", "ico", "jpeg", "jpg", "jsonl", "less", "lock", "log", "md", "out", "pdf",
    "png", "scss", "svg", "tsbuildinfo", "tsv", "txt", "webp", "woff", "woff2",
];

/// Files that end like data although a build runs them.
const BUILDS: &str = "CMakeLists.txt";

/// The code that a program could load.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// All code of the project counts.
    pub all: bool,
    /// Every file counts, also one that is named like data: a program runs files by computed names.
    pub every: bool,
    /// Every file counts whose name gives options to a program when it is split into words.
    pub options: bool,
    /// Every file counts whose name a shell can read as a command: a script puts names into the text of a command.
    pub commands: bool,
    /// Folders whose code counts, each with whether links in it are followed.
    pub folders: BTreeMap<PathBuf, bool>,
    pub files: BTreeSet<PathBuf>,
    /// Names of modules and files that count anywhere in the project; with `*`, the end of a name.
    pub names: BTreeSet<String>,
    /// Folders in which a script looks for a module that is missing: if the folder has changed, the module may have been deleted.
    pub incomplete: BTreeSet<PathBuf>,
}

impl Reach {
    /// Adds the links on the way to each file and folder, and their targets.
    pub(super) fn add_targets(&mut self, project: &Path) {
        for file in self.files.clone() {
            let found = real_path::resolve(&file);
            if found.real != file {
                let names = found.names.into_iter().chain([found.real]);
                self.files
                    .extend(names.filter(|name| name.starts_with(project)));
            }
        }
        for (folder, follow) in self.folders.clone() {
            let found = real_path::resolve(&folder);
            if found.real != folder {
                let names = found.names.into_iter();
                self.files
                    .extend(names.filter(|name| name.starts_with(project)));
                if found.real.starts_with(project) {
                    self.folders.entry(found.real).or_insert(follow);
                }
            }
        }
    }

    /// Keeps the files and folders for which `counts` is true: a program outside of the project and its own modules belong to the user.
    pub(super) fn retain(&mut self, counts: impl Fn(&Path) -> bool) {
        self.files.retain(|file| counts(file));
        self.folders.retain(|folder, _| counts(folder));
        self.incomplete.retain(|folder| counts(folder));
    }

    /// Visits every file and folder of the project that a program could load, in no order.
    fn visit(&self, project: &Path, see: &mut See<'_>) -> Result<(), String> {
        let counts_names = self.options || self.commands || !self.names.is_empty();
        if self.all || self.every || counts_names {
            let names = &self.names;
            let mut named = |path: &Path, data: &Metadata| {
                if self.all
                    || self.every
                    || has_name(path, project, names)
                    || self.is_read(path, project)
                {
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

    /// The code that has changed since the time `since`.
    ///
    /// # Errors
    /// The files cannot be listed.
    pub(super) fn changed(&self, project: &Path, since: u64) -> Result<Changed, String> {
        let mut found = Changed::default();
        self.visit(project, &mut |path, data| {
            if is_changed(path, data, since) && self.counts(path, data, project) {
                let size = if data.is_file() { data.len() } else { 0 };
                found.insert(path.to_owned(), (size, changed_at(data)));
            }
            Ok(())
        })?;
        for folder in &self.incomplete {
            if let Some(data) = folder
                .symlink_metadata()
                .ok()
                .filter(|data| modified_at(data) > since)
            {
                found.insert(folder.clone(), (0, modified_at(&data)));
            }
        }
        // The path is a temporary file that osier renames when it is written.
        for path in found
            .keys()
            .filter(|path| is_pending(path))
            .cloned()
            .collect::<Vec<_>>()
        {
            let (time, checks) = PENDING;
            for _ in 0..checks {
                if path.symlink_metadata().is_err() {
                    found.remove(&path);
                    break;
                }
                std::thread::sleep(time);
            }
        }
        Ok(found)
    }

    /// Whether a program could run the file, so that a change of it counts.
    fn counts(&self, path: &Path, data: &Metadata, project: &Path) -> bool {
        self.every
            || self.files.contains(path)
            || is_code(path, data)
            || self.is_read(path, project)
    }

    /// Whether a command can read the name of the file as options or as another command.
    fn is_read(&self, path: &Path, project: &Path) -> bool {
        self.options && gives_options(path, project)
            || self.commands && gives_commands(path, project)
    }

    /// The code in `copy` that differs from that of the project.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn different(&self, copy: &Path, project: &Path) -> Result<Changed, String> {
        let mut found = Changed::default();
        self.visit(copy, &mut |path, data| {
            if data.is_dir() || !self.counts(path, data, copy) {
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

/// A hash of the names, modes and contents of all changed files.
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

/// A hash of the mode and the content of a file; for a link, of its target.
fn content(path: &Path, data: &Metadata) -> Result<Vec<u8>, String> {
    let mut content = Sha256::new();
    content.update((data.mode() & 0o170_111).to_le_bytes());
    if data.is_symlink() {
        let target = path.read_link().map_err(|error| failed(path, &error))?;
        content.update(target.as_os_str().as_encoded_bytes());
    } else if data.is_dir() {
        content.update(modified_at(data).to_le_bytes());
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

/// Whether the file has changed. Its change time decides, which no program can set back.
fn is_changed(path: &Path, data: &Metadata, since: u64) -> bool {
    if data.is_dir() {
        // Each entry of the folder is compared itself, unless the folder was renamed with its entries.
        return changed_at(data) > since && modified_at(data) <= since;
    }
    // A package manager that links the same file into other projects changes the time of the file, but not that of the folder here.
    let is_linked = data.is_file() && data.nlink() > 1;
    let is_old_entry = || {
        let folder = path
            .parent()
            .and_then(|folder| folder.symlink_metadata().ok());
        folder.is_some_and(|folder| modified_at(&folder) <= since)
    };
    let at = if is_linked && is_old_entry() {
        modified_at(data)
    } else {
        changed_at(data)
    };
    at > since
}

fn modified_at(data: &Metadata) -> u64 {
    nanoseconds(data.mtime(), data.mtime_nsec())
}

/// Whether the name is that of a temporary file of osier.
fn is_pending(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(".osier-") && name.ends_with(".tmp")
}

fn changed_at(data: &Metadata) -> u64 {
    nanoseconds(data.ctime(), data.ctime_nsec())
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    let positive = |number: i64| u64::try_from(number).unwrap_or_default();
    let seconds = positive(seconds).saturating_mul(1_000_000_000);
    seconds.saturating_add(positive(nanoseconds))
}

/// Whether a program could run the file although nobody gives it the name.
fn is_code(path: &Path, data: &Metadata) -> bool {
    let is_file = data.is_file() && (!is_named_like_data(path) || data.mode() & 0o111 != 0);
    is_file || data.is_dir() || data.is_symlink()
}

/// Whether the name ends like that of a file which no program runs.
pub(super) fn is_named_like_data(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    end.is_some_and(|end| DATA.contains(&end)) && !path.ends_with(BUILDS)
}

/// Whether a part of the path has one of these names, with or without an end such as `.py`.
fn has_name(path: &Path, project: &Path, names: &BTreeSet<String>) -> bool {
    let below = path.strip_prefix(project).unwrap_or(path);
    below.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        let is_end = |name: &String| {
            name.strip_prefix('*')
                .is_some_and(|end| part.ends_with(end))
        };
        names.contains(&*part)
            || names.contains(part.split('.').next().unwrap_or_default())
            || names.iter().any(is_end)
    })
}

/// Whether the name becomes options of a program when it is split into words: a word begins with `-`.
fn gives_options(path: &Path, project: &Path) -> bool {
    let below = path.strip_prefix(project).unwrap_or(path).to_string_lossy();
    let is_option = |word: &str| {
        let word = word.trim_start_matches(['\'', '"', '\\']);
        let rest = word.strip_prefix('-').unwrap_or_default();
        !rest.trim_matches('-').is_empty()
    };
    below.split(char::is_whitespace).any(is_option)
}

/// Whether a shell can read the name as a command.
fn gives_commands(path: &Path, project: &Path) -> bool {
    let below = path.strip_prefix(project).unwrap_or(path).to_string_lossy();
    let marks = ["$(", "`", ";", "&", "|", "<", ">", "\"", "'", "\\", "\n"];
    marks.iter().any(|mark| below.contains(mark)) || gives_options(path, project)
}

/// Receives each visited path.
type See<'s> = dyn FnMut(&Path, &Metadata) -> Result<(), String> + 's;

struct Walk<'w, 's> {
    project: &'w Path,
    follow: bool,
    followed: HashSet<PathBuf>,
    /// The folders into which cargo builds.
    caches: Vec<PathBuf>,
    visited: usize,
    see: &'w mut See<'s>,
}

impl<'w, 's> Walk<'w, 's> {
    fn new(project: &'w Path, follow: bool, see: &'w mut See<'s>) -> Self {
        Self {
            project,
            follow,
            followed: HashSet::new(),
            caches: Vec::new(),
            visited: 0,
            see,
        }
    }

    fn entry(&mut self, path: &Path, depth: usize) -> Result<(), String> {
        let data = match path.symlink_metadata() {
            // The file was deleted meanwhile, such as a temporary file of another program.
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
            // A program of the user cannot read the folder either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            entries => entries.map_err(|error| failed(folder, &error))?,
        };
        // The folder into which cargo builds is large, and its programs run only by their names.
        let tag = folder.join("CACHEDIR.TAG");
        if folder.ends_with("target") && tag.exists() {
            self.caches.push(folder.to_owned());
            self.entry(&tag, depth - 1)?;
        }
        let is_of = |names: &[&str]| {
            folder
                .file_name()
                .is_some_and(|own| names.iter().any(|name| own == *name))
        };
        let below = folder.strip_prefix(self.project).unwrap_or(folder);
        let is_cache = self.caches.iter().any(|cache| folder.starts_with(cache));
        let has_notes = is_cache
            || below
                .components()
                .any(|part| NOTES.iter().any(|name| part.as_os_str() == *name));
        let has_packages = is_of(&["node_modules"]);
        for entry in entries {
            let entry = entry.map_err(|error| failed(folder, &error))?;
            let (name, path) = (entry.file_name(), entry.path());
            let is_one = |names: &[&str]| names.iter().any(|known| name == *known);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_note = has_notes
                && !is_folder
                && !is_script(&path, is_cache)
                && !gives_commands(&path, self.project);
            let is_skipped = name == ".git"
                || !is_folder && is_one(&NOTE_FILES)
                || is_folder && has_packages && is_one(&PREPARED)
                || is_note;
            if !is_skipped {
                self.entry(&path, depth - 1)?;
            }
        }
        Ok(())
    }
}

/// Whether a file in a cache could be a script. In the folder of cargo, a compiled program is not one.
fn is_script(path: &Path, is_cache: bool) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    let is_executable = || {
        path.symlink_metadata()
            .is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0)
    };
    let is_compiled =
        || is_cache && regular_file::head(path, 4).is_ok_and(|(start, _)| start == b"\x7fELF");
    end.is_some_and(|end| SCRIPTS.split(' ').any(|known| known == end))
        || is_executable() && !is_compiled()
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

//! The files of a project that can run code. They are read once, so that the contents that were hashed for trust are
//! the contents that are loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use osier_base::config_file::ConfigFile;
use osier_base::hex::hex;
use osier_base::problem::Problem;
use osier_base::regular_file::{self, ReadError};
use osier_base::walk::Walk;

/// Files of a project that can run code, relative to its root. For a directory, everything in it.
pub const FILES: [&str; 9] = [
    ".osier/settings.toml",
    ".osier/hooks.json",
    ".osier/mcp.json",
    ".osier/plugins",
    ".osier/agents",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents",
];
/// The entries of `FILES` that are directories.
const FOLDERS: [&str; 3] = [".osier/plugins", ".osier/agents", ".claude/agents"];
/// The directories that contain entries of `FILES`; the root for the others.
const PLACES: [&str; 3] = [".osier", ".claude", ""];

/// Maximum size of a file.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Maximum size of all files of a directory.
const TOTAL: usize = 16 * 1024 * 1024;
/// Maximum number of files in a directory.
const MOST: usize = 2000;
/// Maximum depth of a directory.
const DEPTH: usize = 8;

/// The files of one project as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    root: PathBuf,
    files: BTreeMap<PathBuf, Arc<[u8]>>,
    rejected: Vec<Problem>,
    hash: String,
    is_trusted: bool,
    is_explicit: bool,
}

impl ProjectFiles {
    /// Reads the files of the project that contains `folder`. Blocks.
    pub fn read(folder: &Path) -> Self {
        let mut all = Self {
            root: super::trust::project_root(folder),
            is_trusted: true,
            ..Self::default()
        };
        let mut left = FILES.to_vec();
        for place in PLACES {
            let (inside, others) = left
                .iter()
                .partition(|name| Path::new(name).starts_with(place));
            left = others;
            match all.place(place) {
                Ok(()) => all.add_existing(inside),
                Err(ReadError::Missing) => {}
                Err(error) => all.reject(&all.root.join(place), error.to_string()),
            }
        }
        all.hash = all.hashed();
        all
    }

    /// Checks that there is a directory with this name.
    fn place(&self, name: &str) -> Result<(), ReadError> {
        let real = regular_file::real_path(&self.root.join(name))?;
        real.is_dir().then_some(()).ok_or(ReadError::NotFolder)
    }

    fn add_existing(&mut self, names: Vec<&str>) {
        for name in names {
            let path = self.root.join(name);
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            if FOLDERS.contains(&name) && path.is_dir() {
                self.add_folder(&path);
            } else if let Some(error) = self.add(&path) {
                self.reject(&path, error.to_string());
            }
        }
    }

    pub(super) fn with_decision(self, is_explicit: bool) -> Self {
        Self {
            is_explicit,
            ..self
        }
    }

    /// The same project without files.
    pub(super) fn without_files(self) -> Self {
        Self {
            files: BTreeMap::new(),
            is_trusted: false,
            is_explicit: false,
            ..self
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the project is trusted or has no such files. Files are trusted until the decision is
    /// checked.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Whether servers of the user may start in the project: the user trusted it, even if it has no such files.
    pub fn runs_servers(&self) -> bool {
        self.is_explicit
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The paths of the files, in a fixed order.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// The files that osier never reads, with the reason.
    pub fn rejected(&self) -> &[Problem] {
        &self.rejected
    }

    /// The file with this name, relative to the root.
    pub fn get(&self, name: &str) -> Option<ConfigFile> {
        let path = self.root.join(name);
        let content = self.files.get(&path)?;
        Some(ConfigFile::with_content(&path, Arc::clone(content)))
    }

    /// The files in the directory with this name, relative to the root.
    pub fn below(&self, name: &str) -> Vec<ConfigFile> {
        let folder = self.root.join(name);
        let files = self.files.iter();
        let files = files.filter(|(path, _)| path.starts_with(&folder) && **path != folder);
        let files = files.map(|(path, content)| ConfigFile::with_content(path, content.clone()));
        files.collect()
    }

    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    fn add(&mut self, path: &Path) -> Option<ReadError> {
        let read = regular_file::inside(path, &self.root);
        let read = read.and_then(|real| regular_file::read(&real, LARGEST));
        read.map(|bytes| self.files.insert(path.to_owned(), bytes.into()))
            .err()
    }

    fn reject(&mut self, path: &Path, message: String) {
        let hint = "it is ignored, even if you trust the folder";
        self.rejected.push(Problem::of_file(path, message, hint));
    }

    /// Adds the files of a directory. A directory that exceeds a limit is ignored completely.
    fn add_folder(&mut self, folder: &Path) {
        let mut walk = Walk::new(Some(&self.root));
        let paths = walk.files(folder, DEPTH, MOST);
        if walk.is_over() || paths.len() > MOST {
            return self.reject(folder, format!("contains more than {MOST} files"));
        }
        let mut left = TOTAL;
        for path in &paths {
            match self.add(path) {
                // Editors lock a file with a broken link next to it.
                None | Some(ReadError::Missing | ReadError::BrokenLink { .. }) => {}
                Some(error) => self.reject(path, error.to_string()),
            }
            let length = self.files.get(path).map_or(0, |bytes| bytes.len());
            if length > left {
                self.files.retain(|path, _| !path.starts_with(folder));
                return self.reject(folder, format!("contains more than {TOTAL} bytes"));
            }
            left -= length;
        }
    }

    /// One hash over names and contents.
    fn hashed(&self) -> String {
        let mut hasher = Sha256::new();
        // Length prefixes separate names from contents.
        let mut add = |part: &[u8]| {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        };
        for (path, bytes) in &self.files {
            let name = path.strip_prefix(&self.root).unwrap_or(path);
            add(name.as_os_str().as_encoded_bytes());
            add(bytes);
        }
        for problem in &self.rejected {
            add(b"rejected");
            add(problem.to_string().as_bytes());
            add(b"");
        }
        hex(hasher.finalize())
    }
}

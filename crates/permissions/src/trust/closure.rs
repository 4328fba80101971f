//! The files of a project that run when a program of it runs.
//!
//! The rule: a program runs unasked if everything in the project that it could load is as it was when the user trusted the project.
//! A list of the ways to load a file is never complete, so files count by where they are and by what could name them:
//!
//! - a package of Node, a linked one too, a virtual environment, and a script in `.osier` or `.claude`, with everything next to it;
//! - every file that a tool could read as configuration, by the beginning of its name, in each directory in question;
//! - every file that a word of a text could name, from each directory that the text names (`names.rs`). Such texts are scripts,
//!   configuration, commands and manifests of the project; what they name is read in the same way;
//! - the project, if a text is too large to be read.
//!
//! So a file that the model changes asks only if a text that was trusted could mean it. What a build or a test collects by itself
//! is not compared: running it is its purpose.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use osier_base::hex::hex;
use osier_base::real_path::{self, RealPath};
use osier_base::regular_file;

use super::program_use::ProgramUse;
use super::text::{Kind, Listing, PACKAGES, TEXT, is_configuration};

/// Maximum number of files; a program with more does not run.
pub(super) const MOST: usize = 100_000;
const DEPTH: usize = 64;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// The fields of `package.json` with the packages that the package loads.
const DEPENDENCIES: [&str; 3] = ["dependencies", "optionalDependencies", "peerDependencies"];
/// The names of files that select the program which runs under a name, of any directory.
const SELECTORS: [&str; 3] = ["mise", "rust-toolchain", "tool-versions"];
/// Python does not read its compiled modules here: osier sets `PYTHONPYCACHEPREFIX`.
const COMPILED: &str = "__pycache__";
/// Directories of coding agents: a script in them comes with the files next to it.
const AGENTS: [&str; 2] = [".osier", ".claude"];

/// A file as the system describes it. The system sets the time of a change, so that no program can set it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    mode: u32,
    length: u64,
    node: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(data: &Metadata) -> Self {
        Self {
            mode: data.mode(),
            length: data.len(),
            node: (data.dev(), data.ino()),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// When the file was changed, in nanoseconds since 1970.
    pub(super) fn changed_at(&self) -> u64 {
        let (seconds, nanoseconds) = self.changed;
        let positive = |number: i64| u64::try_from(number).unwrap_or_default();
        positive(seconds)
            .saturating_mul(1_000_000_000)
            .saturating_add(positive(nanoseconds))
    }
}

/// The files, by path.
pub(super) type Files = BTreeMap<PathBuf, Stamp>;

/// The files of `project` that run for this use; none if they all lie elsewhere.
///
/// # Errors
/// The files cannot be listed.
pub(super) fn files(run: &ProgramUse, project: &Path) -> Result<Files, String> {
    let cwd = real_path::resolve(&run.cwd).real;
    let mut search = Search {
        project,
        cwd: cwd.clone(),
        files: Files::new(),
        waiting: run.files.clone(),
        visited: HashSet::new(),
        listings: HashMap::new(),
        manifests: HashMap::new(),
        scripts: HashSet::new(),
        configured: HashSet::new(),
    };
    let mut folders = search.folders(&cwd);
    if folders.is_empty() {
        folders.push(cwd.clone());
    }
    search.add_text(&run.command, &folders, Kind::Script)?;
    for tool in run.tools {
        search.add_configuration(tool, &cwd, !run.command.is_empty())?;
    }
    for folder in search.folders(&cwd) {
        let listing = search.listing(&folder);
        let selects = |name: &&String| SELECTORS.iter().any(|tool| is_configuration(tool, name));
        let names = listing.keys().filter(selects);
        search.waiting.extend(names.map(|name| folder.join(name)));
    }
    while let Some(path) = search.waiting.pop() {
        search.visit(&path)?;
    }
    Ok(search.files)
}

pub(super) struct Search<'p> {
    pub(super) project: &'p Path,
    pub(super) cwd: PathBuf,
    files: Files,
    pub(super) waiting: Vec<PathBuf>,
    visited: HashSet<PathBuf>,
    pub(super) listings: HashMap<PathBuf, Listing>,
    pub(super) manifests: HashMap<PathBuf, Option<Arc<Value>>>,
    /// The parts of manifests that were read.
    pub(super) scripts: HashSet<(PathBuf, String)>,
    /// The tools whose configuration in a directory was read.
    pub(super) configured: HashSet<(PathBuf, String)>,
}

impl Search<'_> {
    /// Adds the path, if it lies in the project.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), String> {
        if !path.starts_with(self.project) || self.files.contains_key(path) {
            return Ok(());
        }
        if self.files.len() >= MOST {
            return Err(format!("it consists of more than {MOST} files"));
        }
        let data = path.symlink_metadata();
        let data = data.map_err(|error| format!("`{}`: {error}", path.display()))?;
        self.files.insert(path.to_owned(), Stamp::of(&data));
        Ok(())
    }

    fn visit(&mut self, path: &Path) -> Result<(), String> {
        let found = real_path::resolve(path);
        if !found.real.is_file() {
            let is_other = found.real.exists() && !found.real.is_dir();
            // Nobody knows the content of a pipe before it runs.
            if is_other && found.real.starts_with(self.project) {
                return Err(format!("`{}` is not a regular file", path.display()));
            }
            return Ok(());
        }
        // Python itself is usually a link to a program outside, and loads the modules of the environment of its name.
        let is_python = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b"python")
        };
        for python in found.names.iter().map(PathBuf::as_path).chain([path]) {
            if is_python(python)
                && let Some(environment) = environment(python, self.project)
                && !self.files.contains_key(&environment)
            {
                self.add_folder(&environment, DEPTH)?;
            }
        }
        self.add_links(&found, path)?;
        let real = found.real;
        self.add(&real)?;
        if !real.starts_with(self.project) || !self.visited.insert(real.clone()) {
            return Ok(());
        }
        if let Some(package) = package(&real, self.project) {
            return self.add_package(&package);
        }
        let (text, size) = regular_file::head(&real, TEXT).unwrap_or_default();
        let is_script = text.starts_with(b"#!");
        let environment = environment(&real, self.project);
        if let Some(environment) = environment.as_ref().filter(|_| is_script) {
            self.add_folder(environment, DEPTH)?;
        }
        let of_agent = real.parent().filter(|folder| {
            let below = folder.strip_prefix(self.project).unwrap_or(folder);
            below
                .components()
                .any(|part| AGENTS.iter().any(|name| part.as_os_str() == *name))
        });
        if let Some(folder) = of_agent {
            self.add_folder(folder, DEPTH)?;
        }
        let is_binary = text.iter().take(CHUNK).any(|byte| *byte == 0);
        // The modules of an environment are compared; its scripts name those of the project.
        if is_binary || environment.is_some() && !is_script {
            return Ok(());
        }
        if size > TEXT {
            return self.add_folder(self.project, DEPTH);
        }
        self.add_names(&real, &String::from_utf8_lossy(&text))
    }

    /// Adds what the text of a file of the project names.
    fn add_names(&mut self, file: &Path, text: &str) -> Result<(), String> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let folder = file.parent().unwrap_or(file);
        let folders = self.folders(folder);
        let is_python = name.ends_with(".py")
            || text.starts_with("#!")
                && text
                    .lines()
                    .next()
                    .is_some_and(|line| line.contains("python"));
        if is_python {
            self.add_modules(folder);
        }
        match &*name {
            // Its parts are read where they count.
            "package.json" => Ok(()),
            name if name.starts_with("tsconfig") || name.starts_with("jsconfig") => {
                // The parts that load code, or another such file.
                let parts = ["\"plugins\"", "\"extends\""].map(|key| {
                    let parts = text.split(key).skip(1);
                    parts
                        .filter_map(|part| part.split(']').next())
                        .collect::<Vec<_>>()
                });
                self.add_text(&parts.concat().join("\n"), &folders, Kind::Configuration)
            }
            _ => self.add_text(text, &folders, Kind::of(file)),
        }
    }

    /// Adds the links on the way from `path` to the file.
    fn add_links(&mut self, found: &RealPath, path: &Path) -> Result<(), String> {
        let project = self.project;
        for name in found.names.iter().map(PathBuf::as_path).chain([path]) {
            let above = name.ancestors();
            for above in above.take_while(|above| above.starts_with(project)) {
                if above.is_symlink() {
                    self.add(above)?;
                }
            }
        }
        Ok(())
    }

    /// Everything in the folder.
    pub(super) fn add_folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        self.add(folder)?;
        let failed = |error: io::Error| format!("`{}`: {error}", folder.display());
        for entry in folder.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            let is_read = entry.file_name() != COMPILED && entry.file_name() != ".git";
            if !is_folder {
                self.add(&path)?;
            } else if depth == 0 {
                return Err(format!("`{}` is too deep", path.display()));
            } else if is_read {
                self.add_folder(&path, depth - 1)?;
            }
        }
        Ok(())
    }

    /// A package of Node, and the packages that it depends on. The modules of a linked one are read: they lie in the project.
    pub(super) fn add_package(&mut self, package: &Path) -> Result<(), String> {
        let mut waiting = vec![package.to_owned()];
        while let Some(package) = waiting.pop() {
            if !package.starts_with(self.project) || self.files.contains_key(&package) {
                continue;
            }
            self.add_folder(&package, DEPTH)?;
            let is_own = |path: &Path| path.components().all(|part| part.as_os_str() != PACKAGES);
            if is_own(&package) {
                let below = self.files.range(package.clone()..).map(|(path, _)| path);
                let below = below.take_while(|path| path.starts_with(&package));
                let modules = below.filter(|path| is_own(path) && Kind::of(path) == Kind::Module);
                self.waiting.extend(modules.cloned());
            }
            let text = regular_file::read(&package.join("package.json"), TEXT);
            let manifest: Value =
                serde_json::from_slice(&text.unwrap_or_default()).unwrap_or_default();
            let lists = DEPENDENCIES
                .iter()
                .filter_map(|list| manifest[list].as_object());
            for name in lists.flat_map(|list| list.keys()) {
                if let Some(found) = self.find_package(name, &package)? {
                    waiting.push(found);
                }
            }
        }
        Ok(())
    }

    /// The package with this name as Node finds it from `from`. Adds the link to it, and the files that Node loads instead.
    pub(super) fn find_package(
        &mut self,
        name: &str,
        from: &Path,
    ) -> Result<Option<PathBuf>, String> {
        for folder in self.folders(from) {
            let packages = folder.join(PACKAGES);
            let first = name.split('/').next().unwrap_or(name);
            let listing = self.listing(&packages);
            let entry = listing.range(first.to_owned()..).next();
            if !entry.is_some_and(|(entry, _)| entry.starts_with(first)) {
                continue;
            }
            let path = packages.join(name);
            let instead = ["js", "json", "node"]
                .map(|end| PathBuf::from(format!("{}.{end}", path.display())));
            self.waiting
                .extend(instead.into_iter().filter(|path| path.is_file()));
            if !path.is_dir() {
                continue;
            }
            let found = real_path::resolve(&path);
            self.add_links(&found, &path)?;
            return Ok(Some(found.real));
        }
        Ok(None)
    }
}

/// The package of Node that contains `file`.
fn package(file: &Path, project: &Path) -> Option<PathBuf> {
    let below: Vec<_> = file.strip_prefix(project).ok()?.components().collect();
    let place = below
        .iter()
        .rposition(|part| part.as_os_str() == PACKAGES)?;
    let name = below.get(place + 1)?.as_os_str().to_str()?;
    let length = place + if name.starts_with('@') { 3 } else { 2 };
    (name != ".bin" && below.len() > length)
        .then(|| project.join(below[..length].iter().collect::<PathBuf>()))
}

/// The virtual environment of Python that contains `file`.
fn environment(file: &Path, project: &Path) -> Option<PathBuf> {
    let above = file
        .ancestors()
        .take_while(|folder| folder.starts_with(project));
    let mut above = above.filter(|folder| folder.join("pyvenv.cfg").is_file());
    above.next().map(Path::to_owned)
}

/// One hash over names, modes and contents.
///
/// # Errors
/// A file cannot be read.
pub(super) fn hash(files: &Files, project: &Path) -> Result<String, String> {
    let mut hasher = Sha256::new();
    for (path, stamp) in files {
        let failed = |error: io::Error| format!("`{}`: {error}", path.display());
        let name = path.strip_prefix(project).unwrap_or(path);
        let name = name.as_os_str().as_encoded_bytes();
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update(stamp.mode.to_le_bytes());
        let mut content = Sha256::new();
        if path.is_symlink() {
            let target = path.read_link().map_err(failed)?;
            content.update(target.as_os_str().as_encoded_bytes());
        } else if path.is_file() {
            let mut file = regular_file::open(path).map_err(|error| failed(error.into()))?;
            let mut chunk = vec![0; CHUNK];
            loop {
                let length = file.read(&mut chunk).map_err(failed)?;
                if length == 0 {
                    break;
                }
                content.update(&chunk[..length]);
            }
        }
        hasher.update(content.finalize());
    }
    Ok(hex(hasher.finalize()))
}

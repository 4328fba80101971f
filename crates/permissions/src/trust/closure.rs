//! The files of a project that run when a program of it runs: the program, the links that lead to it, its package with what it
//! depends on, its virtual environment, and the files that its text names.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use osier_base::hex::hex;
use osier_base::real_path::{self, RealPath};
use osier_base::regular_file;

/// Maximum number of files; a program with more does not run.
const MOST: usize = 100_000;
const DEPTH: usize = 64;
/// Bytes of a text that is searched for names of files.
const TEXT: u64 = 256 * 1024;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Names in one text.
const NAMES: usize = 2_000;
/// The endings that a name in a text can leave out.
const ENDS: [&str; 7] = ["", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js"];
/// The fields of `package.json` with the packages that the package loads.
const DEPENDENCIES: [&str; 3] = ["dependencies", "optionalDependencies", "peerDependencies"];
/// The directory with the packages of Node.
const PACKAGES: &str = "node_modules";
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

/// The files of `project` that run when `programs` run; none if they all lie elsewhere.
///
/// # Errors
/// The files cannot be listed.
pub(super) fn files(programs: &[PathBuf], project: &Path) -> Result<Files, String> {
    let mut search = Search {
        project,
        files: Files::new(),
        waiting: programs.to_vec(),
    };
    while let Some(path) = search.waiting.pop() {
        search.visit(&path)?;
    }
    Ok(search.files)
}

struct Search<'p> {
    project: &'p Path,
    files: Files,
    waiting: Vec<PathBuf>,
}

impl Search<'_> {
    /// Adds the path. Whether it is new and lies in the project.
    fn add(&mut self, path: &Path) -> Result<bool, String> {
        if !path.starts_with(self.project) || self.files.contains_key(path) {
            return Ok(false);
        }
        if self.files.len() >= MOST {
            return Err(format!("it consists of more than {MOST} files"));
        }
        let data = path.symlink_metadata();
        let data = data.map_err(|error| format!("`{}`: {error}", path.display()))?;
        self.files.insert(path.to_owned(), Stamp::of(&data));
        Ok(true)
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
        if !self.add(&real)? {
            return Ok(());
        }
        if let Some(package) = package(&real, self.project) {
            return self.add_package(&package);
        }
        let text = regular_file::head(&real, TEXT).map_or_else(|_| Vec::new(), |(text, _)| text);
        let is_script = text.starts_with(b"#!");
        let environment = environment(&real, self.project).filter(|_| is_script);
        if let Some(environment) = environment {
            self.add_folder(&environment, DEPTH)?;
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
        // A manifest names what Node runs for a command, and much that it does not run.
        let is_manifest = real.file_name().is_some_and(|name| name == "package.json");
        if let Some(text) = str::from_utf8(&text).ok().filter(|_| !is_manifest) {
            self.add_named(&real, text)?;
        }
        Ok(())
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
    fn add_folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        self.add(folder)?;
        let failed = |error: io::Error| format!("`{}`: {error}", folder.display());
        for entry in folder.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if !entry.file_type().map_err(failed)?.is_dir() {
                self.add(&path)?;
            } else if depth == 0 {
                return Err(format!("`{}` is too deep", path.display()));
            } else if entry.file_name() != COMPILED {
                self.add_folder(&path, depth - 1)?;
            }
        }
        Ok(())
    }

    /// A package of Node, and the packages that it depends on.
    fn add_package(&mut self, package: &Path) -> Result<(), String> {
        let mut waiting = vec![package.to_owned()];
        while let Some(package) = waiting.pop() {
            if !package.starts_with(self.project) {
                continue;
            }
            if self.files.contains_key(&package) {
                continue;
            }
            self.add_folder(&package, DEPTH)?;
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

    /// The package with this name as Node finds it from `from`. Adds the link to it.
    fn find_package(&mut self, name: &str, from: &Path) -> Result<Option<PathBuf>, String> {
        for folder in from.ancestors() {
            if !folder.starts_with(self.project) {
                break;
            }
            let path = folder.join(PACKAGES).join(name);
            if !path.is_dir() {
                continue;
            }
            let found = real_path::resolve(&path);
            self.add_links(&found, &path)?;
            return Ok(Some(found.real));
        }
        Ok(None)
    }

    /// The files and packages that a text names: the interpreter, modules, plugins, and the program of a script in `.bin`.
    fn add_named(&mut self, file: &Path, text: &str) -> Result<(), String> {
        let folder = file.parent().unwrap_or(file);
        let interpreter = text.strip_prefix("#!").and_then(|rest| rest.lines().next());
        let interpreter = interpreter.and_then(|line| line.split_whitespace().next());
        self.waiting.extend(interpreter.map(PathBuf::from));
        let has_packages = folder
            .ancestors()
            .any(|above| above.starts_with(self.project) && above.join(PACKAGES).is_dir());
        let is_end = |char: char| char.is_whitespace() || "\"'`;|&<>(),".contains(char);
        let names = text.split(is_end).filter(|name| !name.is_empty());
        for name in names.take(NAMES) {
            let relative = name.strip_prefix("$basedir/").unwrap_or(name);
            if relative.len() < name.len() || name.starts_with("./") || name.starts_with("../") {
                let path = osier_base::path::resolve(folder, relative);
                let paths = ENDS.map(|end| PathBuf::from(format!("{}{end}", path.display())));
                self.waiting
                    .extend(paths.into_iter().find(|path| path.is_file()));
            } else if has_packages && is_package_name(name) {
                let bin = folder
                    .ancestors()
                    .map(|above| above.join(PACKAGES).join(".bin").join(name));
                let bin = bin.take_while(|path| path.starts_with(self.project));
                self.waiting.extend(bin.filter(|path| path.is_file()));
                if let Some(package) = self.find_package(name, folder)? {
                    self.add_package(&package)?;
                }
            }
        }
        Ok(())
    }
}

fn is_package_name(name: &str) -> bool {
    let parts = name.split('/').count();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"@/-_.".contains(&byte);
    name.len() > 1
        && !name.contains("..")
        && !name.starts_with(['.', '/'])
        && parts == 1 + usize::from(name.starts_with('@'))
        && name.bytes().all(is_part)
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

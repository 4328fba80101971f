//! The files of tool calls. One function finds the file that a call means, for the permission check and for the tool:
//! the check passes its result on, so that the tool opens exactly the file that was checked, without symbolic links.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use osier_base::{path, real_path, without_links};
use osier_protocol::SandboxMode;
use osier_sandbox::Confinement;

/// Directories of which a sandbox can have its own.
const SANDBOX_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/private"];

/// What a tool does with the file that an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Shows its contents.
    Read,
    /// Replaces its contents.
    Write,
    /// Shows and replaces parts of it.
    Edit,
    /// Shows parts of it, or of the files below it.
    Search,
    /// Shows names.
    List,
}

impl FileUse {
    /// Whether the contents of the file itself can be shown.
    pub fn shows(self) -> bool {
        matches!(self, Self::Read | Self::Edit | Self::Search)
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Edit)
    }
}

/// An argument that names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileArgument {
    pub name: &'static str,
    pub purpose: FileUse,
    /// The file should exist, so that other spellings of its name are tried.
    pub exists: bool,
    /// Without the argument, the tool uses the working directory.
    pub optional: bool,
}

/// The file that a call means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTarget {
    /// The path for messages: absolute, with corrected spelling.
    pub named: PathBuf,
    /// The path without symbolic links, as a command finds it.
    pub real: PathBuf,
    /// Other names of it: as given, and with only some links resolved.
    pub names: Vec<PathBuf>,
    /// The real path outside of the sandbox: the one to open.
    pub host: PathBuf,
    pub purpose: FileUse,
}

/// A file that a call names, before its path is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    pub path: String,
    pub purpose: FileUse,
    /// The file should exist, so that other spellings of its name are tried.
    pub exists: bool,
}

impl FileTarget {
    pub(crate) fn resolve(file: &NamedFile, cwd: &Path, sandbox: Option<&Confinement>) -> Self {
        let given = file.path.as_str();
        let named = if file.exists {
            path::resolve_existing(cwd, given)
        } else {
            path::resolve(cwd, given)
        };
        let sandbox = sandbox.filter(|sandbox| sandbox.mode() != SandboxMode::Off);
        let host = |path: &Path| match sandbox {
            Some(sandbox) if SANDBOX_FOLDERS.iter().any(|own| path.starts_with(own)) => {
                sandbox.host_path(path)
            }
            _ => path.to_owned(),
        };
        let found = real_path::resolve_in(&named, &host);
        let mut names = found.names;
        for name in [cwd.join(given), named.clone()] {
            if name != found.real && !names.contains(&name) {
                names.push(name);
            }
        }
        Self {
            named,
            host: host(&found.real),
            real: found.real,
            names,
            purpose: file.purpose,
        }
    }

    /// The file and its metadata; without the file if it is not a regular one, which is never opened.
    pub(crate) fn open(&self) -> io::Result<(Option<File>, Metadata)> {
        let metadata = fs::symlink_metadata(&self.host)?;
        if !metadata.is_file() && !metadata.is_symlink() {
            return Ok((None, metadata));
        }
        let file = without_links::open(&self.host)?;
        let metadata = file.metadata()?;
        Ok((metadata.is_file().then_some(file), metadata))
    }

    /// The path for an editor, which knows its files below the working directory as the user opened it.
    pub(crate) fn in_editor(&self, cwd: &Path) -> PathBuf {
        let root = cwd.canonicalize();
        match root.ok().and_then(|root| self.host.strip_prefix(root).ok()) {
            Some(below) => cwd.join(below),
            None => self.host.clone(),
        }
    }
}

impl FileArgument {
    /// Only `write` expects a new file, and only searches work without the argument.
    pub(crate) const fn new(name: &'static str, purpose: FileUse) -> Self {
        Self {
            name,
            purpose,
            exists: !matches!(purpose, FileUse::Write),
            optional: matches!(purpose, FileUse::Search | FileUse::List),
        }
    }

    /// The file that a call with the path `given` names.
    pub(crate) fn file(self, given: Option<&str>) -> Option<NamedFile> {
        self.given(given).map(|given| self.named(given))
    }

    fn given(self, given: Option<&str>) -> Option<&str> {
        if self.optional {
            return Some(given.filter(|given| !given.is_empty()).unwrap_or("."));
        }
        given
    }

    pub(crate) fn named(self, given: &str) -> NamedFile {
        NamedFile {
            path: given.to_owned(),
            purpose: self.purpose,
            exists: self.exists,
        }
    }
}

/// Whether the contents of a file, a real path, may be shown.
pub type ReadFilter = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// Makes the filter of a search.
pub type ReadFilters = Box<dyn Fn() -> ReadFilter + Send + Sync>;

/// Whether the error means that there is no such file.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The reason in an error, for a model.
pub(crate) fn reason(error: &io::Error) -> String {
    if without_links::is_link_error(error) {
        return "a symbolic link leads in a circle, or changed after the path was checked; try again"
            .to_owned();
    }
    error.to_string()
}

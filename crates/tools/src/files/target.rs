//! Which file a call means. One function finds the file when the call is prepared: rules judge that file, and the tool opens
//! exactly it, without symbolic links.

use std::io;
use std::path::{Path, PathBuf};

use osier_agent::{FileTarget, FileUse};

use osier_base::{path, real_path, without_links};
use osier_protocol::SandboxMode;
use osier_sandbox::Confinement;

/// Directories of which a sandbox can have its own.
const SANDBOX_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/private"];

/// An argument that names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileArgument {
    pub name: &'static str,
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

/// The file that `file` means in `cwd`.
pub(crate) fn resolve(file: &NamedFile, cwd: &Path, sandbox: Option<&Confinement>) -> FileTarget {
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
    FileTarget {
        named,
        host: host(&found.real),
        real: found.real,
        names,
        purpose: file.purpose,
    }
}

/// The path of a file for an editor, which knows its files below the working directory as the user opened it.
pub(crate) fn in_editor(target: &FileTarget, cwd: &Path) -> PathBuf {
    let root = cwd.canonicalize();
    match root
        .ok()
        .and_then(|root| target.host.strip_prefix(root).ok())
    {
        Some(below) => cwd.join(below),
        None => target.host.clone(),
    }
}

impl FileArgument {
    pub(crate) const fn new(name: &'static str, purpose: FileUse) -> Self {
        Self { name, purpose }
    }

    /// The file that a call with the path `given` names. Only searches work without it, in the working directory.
    pub(crate) fn file(self, given: Option<&str>) -> Option<NamedFile> {
        let is_search = matches!(self.purpose, FileUse::Search | FileUse::List);
        let given = if is_search {
            Some(given.filter(|given| !given.is_empty()).unwrap_or("."))
        } else {
            given
        };
        given.map(|given| NamedFile::new(given, self.purpose))
    }
}

impl NamedFile {
    /// Only `write` expects a new file.
    pub(crate) fn new(path: impl Into<String>, purpose: FileUse) -> Self {
        Self {
            path: path.into(),
            purpose,
            exists: purpose != FileUse::Write,
        }
    }
}

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

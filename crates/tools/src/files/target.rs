//! The files of tool calls. One function finds the file that a call means, for the permission check and for the tool:
//! the check passes its result on, so that the tool opens exactly the file that was checked, without symbolic links.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;

use crate::call::arguments::Refusal;
use crate::workspace::Workspace;
use osier_base::{path, real_path, without_links};
use osier_protocol::SandboxMode;
use osier_sandbox::Confinement;

/// Approved calls that are remembered. A call that never runs would stay forever.
const MAX_APPROVED: usize = 256;
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

impl NamedFile {
    /// The files that the call of `tool` names, in order.
    fn all(tool: &str, arguments: &Value) -> Vec<Self> {
        let Some(tool) = crate::find(tool) else {
            return Vec::new();
        };
        if let Some(named) = tool.files {
            return named(arguments);
        }
        let Some(argument) = tool.file else {
            return Vec::new();
        };
        let given = arguments.get(argument.name).and_then(Value::as_str);
        let given = argument.given(given);
        given
            .map(|given| argument.named(given))
            .into_iter()
            .collect()
    }
}

impl FileTarget {
    /// The file of the call of `tool` in `cwd`; `None` when the call names none. The first one of several.
    pub fn of(tool: &str, arguments: &Value, cwd: &Path) -> Option<Self> {
        Self::all(tool, arguments, cwd).into_iter().next()
    }

    /// The files of the call of `tool` in `cwd`, in order.
    pub fn all(tool: &str, arguments: &Value, cwd: &Path) -> Vec<Self> {
        let named = NamedFile::all(tool, arguments);
        let resolve = |named: &NamedFile| Self::resolve(named, cwd, None);
        named.iter().map(resolve).collect()
    }

    fn resolve(file: &NamedFile, cwd: &Path, sandbox: Option<&Confinement>) -> Self {
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
    fn given(self, given: Option<&str>) -> Option<&str> {
        if self.optional {
            return Some(given.filter(|given| !given.is_empty()).unwrap_or("."));
        }
        given
    }

    fn named(self, given: &str) -> NamedFile {
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

/// The files that the permission check has approved.
#[derive(Default)]
pub(crate) struct Approvals {
    /// Every call must be approved.
    required: AtomicBool,
    approved: Mutex<Vec<Approval>>,
    filters: OnceLock<ReadFilters>,
}

struct Approval {
    call_id: String,
    /// The path in the arguments: a model can use an id twice.
    given: String,
    target: FileTarget,
}

impl Approval {
    fn is_of(&self, call_id: &str, given: &str) -> bool {
        self.call_id == call_id && self.given == given
    }
}

impl Approvals {
    fn lock(&self) -> MutexGuard<'_, Vec<Approval>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Approvals").finish_non_exhaustive()
    }
}

impl Workspace {
    /// Lets file tools run only approved calls, and searches show only what the `filters` let through.
    pub fn require_approval(&self, filters: ReadFilters) {
        self.approvals.required.store(true, Ordering::Relaxed);
        let _ = self.approvals.filters.set(filters);
    }

    /// The file of a call; `None` when it names none. The first one of several.
    pub fn file_target(&self, tool: &str, arguments: &Value) -> Option<FileTarget> {
        self.file_targets(tool, arguments).into_iter().next()
    }

    /// The files of a call, in order.
    pub fn file_targets(&self, tool: &str, arguments: &Value) -> Vec<FileTarget> {
        let named = NamedFile::all(tool, arguments);
        named.iter().map(|named| self.resolve(named)).collect()
    }

    pub(crate) fn resolve(&self, named: &NamedFile) -> FileTarget {
        FileTarget::resolve(named, self.cwd(), Some(self.confinement().as_ref()))
    }

    /// Lets the call use its files `targets`, which were checked, in their order.
    pub fn approve(&self, call_id: &str, tool: &str, arguments: &Value, targets: Vec<FileTarget>) {
        let mut approved = self.approvals.lock();
        for (named, target) in NamedFile::all(tool, arguments).into_iter().zip(targets) {
            if approved.len() >= MAX_APPROVED {
                approved.remove(0);
            }
            approved.push(Approval {
                call_id: call_id.to_owned(),
                given: named.path,
                target,
            });
        }
    }

    /// Forgets an approved call, which has ended.
    pub fn forget_approval(&self, call_id: &str, tool: &str, arguments: &Value) {
        let mut approved = self.approvals.lock();
        for named in NamedFile::all(tool, arguments) {
            let mut calls = approved.iter();
            let found = calls.position(|call| call.is_of(call_id, &named.path));
            found.map(|index| approved.remove(index));
        }
    }

    /// The approved files of a call.
    pub(crate) fn approved_files(
        &self,
        call_id: &str,
        tool: &str,
        arguments: &Value,
    ) -> Vec<FileTarget> {
        let approved = self.approvals.lock();
        let target = |named: NamedFile| {
            let mut calls = approved.iter();
            let call = calls.find(|call| call.is_of(call_id, &named.path))?;
            Some(call.target.clone())
        };
        let named = NamedFile::all(tool, arguments);
        named.into_iter().filter_map(target).collect()
    }

    /// The file that a call of `tool` with the path `given` may use.
    pub(crate) fn approved_target(
        &self,
        call_id: &str,
        tool: &str,
        given: Option<&str>,
    ) -> Result<FileTarget, Refusal> {
        let argument = crate::find(tool).and_then(|tool| tool.file);
        let named = argument.and_then(|argument| Some(argument.named(argument.given(given)?)));
        let named = named.ok_or_else(|| Refusal::invalid("the path is missing"))?;
        self.approved(call_id, &named)
    }

    /// The file that the call may use by this name.
    pub(crate) fn approved(&self, call_id: &str, named: &NamedFile) -> Result<FileTarget, Refusal> {
        let approved = self.approvals.lock();
        let mut calls = approved.iter();
        if let Some(call) = calls.find(|call| call.is_of(call_id, &named.path)) {
            return Ok(call.target.clone());
        }
        drop(approved);
        if self.approvals.required.load(Ordering::Relaxed) {
            let text = "the path was not checked; call the tool again".to_owned();
            return Err(Refusal::Failed(text));
        }
        Ok(self.resolve(named))
    }

    /// Whether a search may show the contents of a file that it has found.
    pub(crate) fn read_filter(&self) -> ReadFilter {
        match self.approvals.filters.get() {
            Some(filters) => filters(),
            None => Box::new(|_| true),
        }
    }
}

/// The reason in an error, for a model.
pub(crate) fn reason(error: &io::Error) -> String {
    if without_links::is_link_error(error) {
        return "a symbolic link leads in a circle, or changed after the path was checked; try again"
            .to_owned();
    }
    error.to_string()
}

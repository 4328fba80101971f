//! The walk in order: the entries of a folder by name, each folder before what is in it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

use ignore::overrides::Override;

use crate::entry::{Entry, WalkError};
use crate::rules::{FolderRules, Rules, Start};

/// The entries below `root`, without it.
pub fn walk(root: &Path, rules: Rules) -> Walk {
    let (plan, first, errors) = Plan::new(root, rules);
    Walk {
        plan,
        next: Some(first),
        open: Vec::new(),
        errors: errors.into_iter(),
    }
}

/// A walk in order.
#[derive(Debug)]
pub struct Walk {
    plan: Plan,
    /// The folder that comes next.
    next: Option<Folder>,
    open: Vec<Open>,
    errors: vec::IntoIter<WalkError>,
}

/// A folder whose entries are being listed.
#[derive(Debug)]
struct Open {
    folder: Folder,
    entries: vec::IntoIter<Entry>,
}

/// The plan of a walk, shared by its threads.
#[derive(Debug)]
pub(crate) struct Plan {
    start: Start,
    /// Globs that decide before all rules.
    globs: Override,
}

/// A folder to list.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The path without symbolic links, if it differs.
    real: Option<PathBuf>,
    rules: Option<Arc<FolderRules>>,
}

impl Folder {
    /// The folder `entry` in this one.
    pub(crate) fn below(&self, entry: &Entry) -> Self {
        let name = entry.path.file_name().unwrap_or_default();
        Self {
            path: entry.path.clone(),
            real: self.real.as_ref().map(|real| real.join(name)),
            rules: self.rules.clone(),
        }
    }
}

impl Plan {
    /// The plan of a walk, its first folder, and the ignore files above it that were not read.
    pub(crate) fn new(root: &Path, rules: Rules) -> (Self, Folder, Vec<WalkError>) {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let start = Start::new(rules, &real);
        let mut errors = Vec::new();
        let folder = Folder {
            path: root.to_owned(),
            rules: start.above(&real, &mut errors),
            real: Some(real).filter(|real| real != root),
        };
        let globs = Override::empty();
        (Self { start, globs }, folder, errors)
    }

    /// The entries of `folder` that are not left out, sorted. The folder gets its own rules.
    pub(crate) fn list(&self, folder: &mut Folder, errors: &mut Vec<WalkError>) -> Vec<Entry> {
        let listed = match fs::read_dir(&folder.path) {
            Ok(listed) => listed,
            Err(source) => {
                let path = folder.path.clone();
                errors.push(WalkError::Folder { path, source });
                return Vec::new();
            }
        };
        let mut found: Vec<(OsString, FileType)> = Vec::new();
        for entry in listed {
            let named = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
            match named {
                Ok(named) => found.push(named),
                Err(source) => {
                    let path = folder.path.clone();
                    errors.push(WalkError::Folder { path, source });
                }
            }
        }
        let has = |name: &str| found.iter().any(|(found, _)| found == OsStr::new(name));
        let place = folder.real.as_ref().unwrap_or(&folder.path);
        folder.rules = self
            .start
            .of_folder(folder.rules.as_ref(), place, has, errors);
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let mut entries = Vec::with_capacity(found.len());
        for (name, kind) in found {
            let path = folder.path.join(&name);
            let real = folder.real.as_ref().map(|real| real.join(&name));
            let is_folder = kind.is_dir();
            let glob = self.globs.matched(&path, is_folder);
            let is_left_out = if glob.is_none() {
                let (rules, real) = (folder.rules.as_deref(), real.as_deref());
                let real = real.unwrap_or(&path);
                self.start
                    .leaves_out(rules, real, name.as_bytes(), is_folder)
            } else {
                glob.is_ignore()
            };
            if !is_left_out {
                entries.push(Entry { path, kind });
            }
        }
        entries
    }
}

impl Walk {
    /// Lists the entries that `globs` include, and leaves out the entries that they exclude, whatever the rules say.
    #[must_use]
    pub fn with_globs(mut self, globs: Option<Override>) -> Self {
        self.plan.globs = globs.unwrap_or_else(Override::empty);
        self
    }
}

impl Iterator for Walk {
    type Item = Result<Entry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.errors.next() {
                return Some(Err(error));
            }
            if let Some(mut folder) = self.next.take() {
                let mut errors = Vec::new();
                let entries = self.plan.list(&mut folder, &mut errors).into_iter();
                self.errors = errors.into_iter();
                self.open.push(Open { folder, entries });
                continue;
            }
            let open = self.open.last_mut()?;
            let Some(entry) = open.entries.next() else {
                self.open.pop();
                continue;
            };
            self.next = entry.kind.is_dir().then(|| open.folder.below(&entry));
            return Some(Ok(entry));
        }
    }
}

//! Deletes sessions by moving them to `<data>/trash` with their other files under the same names, and restores them.

use osier_base::{regular_file, sort};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::schema::SessionIndex;
use osier_store::{
    LINK_PREFIX, SESSION_EXTENSION, SessionError, SessionSummary, create_directory, is_locked,
    summarize,
};

/// The folder of deleted sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trash {
    sessions: PathBuf,
    root: PathBuf,
}

/// A deleted session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    pub id: String,
    /// The current path.
    pub path: PathBuf,
    pub summary: SessionSummary,
}

impl SessionIndex {
    pub fn trash(&self) -> Trash {
        Trash {
            sessions: self.directory.root().to_owned(),
            root: self.data.join("trash"),
        }
    }
}

impl Trash {
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Moves the session at `path` to the trash and returns its new path. Fails if the session is open.
    pub fn delete(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let path = &session_below(&self.sessions, path)?;
        let file = regular_file::open_plain(path)
            .map_err(|error| SessionError::io("open", path, error))?;
        if is_locked(&file) {
            return Err(SessionError::Locked {
                path: path.to_owned(),
                pid: None,
            });
        }
        let project = self.relative(path);
        let folder = self.root.join(project);
        create_directory(&folder)?;
        move_with_files(path, &folder)
    }

    /// Restores the deleted session at `path` and returns its new path.
    pub fn restore(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let path = &session_below(&self.root, path)?;
        let project = path
            .parent()
            .and_then(|folder| folder.strip_prefix(&self.root).ok())
            .unwrap_or_else(|| Path::new(""));
        let folder = self.sessions.join(project);
        create_directory(&folder)?;
        move_with_files(path, &folder)
    }

    /// The deleted sessions, last deleted first.
    pub fn list(&self) -> Vec<Trashed> {
        let folders = children(&self.root).chain([self.root.clone()]);
        let files = folders.flat_map(|folder| children(&folder));
        let sessions = files.filter(|path| {
            path.extension()
                .is_some_and(|ending| ending == SESSION_EXTENSION)
        });
        let mut deleted: Vec<_> = sessions
            .filter_map(|path| {
                let when = std::fs::metadata(&path).ok()?;
                let summary = summarize(&path).ok()?;
                let trashed = Trashed {
                    id: summary.id.clone(),
                    path,
                    summary,
                };
                Some(((when.ctime(), when.ctime_nsec()), trashed))
            })
            .collect();
        sort::by(&mut deleted, |one, other| {
            other
                .0
                .cmp(&one.0)
                .then_with(|| other.1.path.cmp(&one.1.path))
        });
        deleted.into_iter().map(|(_, trashed)| trashed).collect()
    }

    /// The name of the project folder of `path`; empty for a file outside the sessions directory.
    fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let inside = folder.strip_prefix(&self.sessions);
        inside.unwrap_or_else(|_| Path::new(""))
    }
}

/// The session file that `path` names: a path below `root`, or the id of a session there. Clients of a server send it,
/// and no other file of the machine may be moved.
fn session_below(root: &Path, path: &Path) -> Result<PathBuf, SessionError> {
    let refused = |reason: &str| SessionError::NotASession {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let found = if path.is_absolute() {
        path.to_owned()
    } else {
        let id = path.to_string_lossy();
        let mut files = children(root)
            .flat_map(|folder| children(&folder))
            .chain(children(root));
        let is_named = |file: &PathBuf| {
            file.extension()
                .is_some_and(|ending| ending == SESSION_EXTENSION)
                && summarize(file).is_ok_and(|summary| summary.id == *id)
        };
        files
            .find(is_named)
            .ok_or_else(|| refused("no session has this id"))?
    };
    let real = |path: &Path| {
        path.canonicalize()
            .map_err(|error| SessionError::io("open", path, error))
    };
    let is_file = found
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file());
    let is_session = found
        .extension()
        .is_some_and(|ending| ending == SESSION_EXTENSION);
    let parent = found.parent().unwrap_or(root);
    let name = parent.file_name().and_then(|name| name.to_str());
    let is_link = name.is_some_and(|name| name.starts_with(LINK_PREFIX));
    let is_placed = is_link && parent.parent() == Some(root);
    if !is_placed && !real(parent)?.starts_with(real(root)?) {
        return Err(refused("it is outside the folder of sessions"));
    }
    if !is_file || !is_session {
        return Err(refused("it is not a session file"));
    }
    Ok(found)
}

fn children(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Moves `path`, its draft and its torn ends to `folder`. The session file is moved last, so that
/// it stays where it is if anything else fails.
fn move_with_files(path: &Path, folder: &Path) -> Result<PathBuf, SessionError> {
    let no_name = || SessionError::NotASession {
        path: path.to_owned(),
        reason: "it has no name".into(),
    };
    let name = path.file_name().ok_or_else(no_name)?;
    let to = folder.join(name);
    if to.exists() {
        let exists = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(SessionError::io("move to", &to, exists));
    }
    let mut prefix = name.to_owned();
    prefix.push(".");
    let prefix = prefix.to_string_lossy().into_owned();
    for beside in children(path.parent().unwrap_or_else(|| Path::new("."))) {
        let Some(name) = beside.file_name() else {
            continue;
        };
        if name.to_string_lossy().starts_with(&prefix) {
            std::fs::rename(&beside, folder.join(name))
                .map_err(|error| SessionError::io("move", &beside, error))?;
        }
    }
    std::fs::rename(path, &to).map_err(|error| SessionError::io("move", path, error))?;
    Ok(to)
}

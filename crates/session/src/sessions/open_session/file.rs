//! Opening the file of a session: the session itself, a copy of it, or read-only. The last two also work while another
//! process has it open; the first one after that process handed it over.

use std::path::{Path, PathBuf};

use crate::setup::{SessionChoice, SessionSetup};
use osier_protocol::Header;
use osier_store::{
    Ending, SessionDirectory, SessionError, SessionStore, SessionSummary, fork, take_over,
};

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("{error}{}", hint(error))]
    Session {
        #[from]
        error: SessionError,
    },
    #[error("{0}")]
    Tools(String),
}

/// The directory of a session with this setup. Blocks.
pub(crate) fn directory(setup: &SessionSetup) -> Result<SessionDirectory, String> {
    let directory = SessionDirectory::new(&setup.folders.data);
    let Some(folder) = setup.session_folder() else {
        return Ok(directory);
    };
    let placed = directory.placed_in(&folder);
    placed.map_err(|error| format!("cannot store sessions in `{}`: {error}", folder.display()))
}

/// An opened session file.
pub(super) struct Opened {
    pub(super) store: SessionStore,
    /// Not set for a new session.
    pub(super) ending: Option<Ending>,
    /// Another process stopped a run to hand the session over.
    pub(super) has_stopped_run: bool,
    /// A session that may be the one that `Continue` did not find.
    pub(super) orphan: Option<SessionSummary>,
}

impl Opened {
    fn new(store: SessionStore, ending: Ending) -> Self {
        Self {
            ending: Some(ending),
            ..Self::empty(store)
        }
    }

    fn empty(store: SessionStore) -> Self {
        Self {
            store,
            ending: None,
            has_stopped_run: false,
            orphan: None,
        }
    }
}

fn hint(error: &SessionError) -> String {
    error
        .hint()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default()
}

/// Opens or creates the file. Blocks while it reads.
pub(super) fn open_file(
    directory: &SessionDirectory,
    (cwd, handover): (&Path, &Path),
    choice: SessionChoice,
) -> Result<Opened, OpenError> {
    let new = |path: PathBuf| SessionStore::create(path, Header::new(cwd)).map(Opened::empty);
    let copy_of = |path: &Path| {
        let (source, _) = SessionStore::open_read_only(path)?;
        let (leaf, files) = (source.index().leaf(), source.index().position());
        let copied = copy(directory, cwd, &source, (leaf.as_deref(), files.as_deref()));
        copied.map(|(path, _)| path)
    };
    let open_copy = |path: &Path| -> Result<Opened, OpenError> {
        let (store, ending) = SessionStore::open_copy(&copy_of(path)?)?;
        Ok(Opened::new(store, ending))
    };
    let mut has_stopped_run = false;
    let mut orphan = None;
    let path = match choice {
        SessionChoice::New => None,
        SessionChoice::Unstored => {
            let store = SessionStore::in_memory(Header::new(cwd), &[])?;
            return Ok(Opened::empty(store));
        }
        SessionChoice::Continue => {
            let latest = directory.latest(cwd)?;
            if latest.is_none() {
                orphan = directory.orphan(cwd)?;
            }
            latest.map(|summary| summary.path)
        }
        SessionChoice::Resume(target) => Some(directory.find(&target)?),
        SessionChoice::TakeOver(target, how) => {
            let path = match target {
                Some(target) => Some(directory.find(&target)?),
                None => directory.latest(cwd)?.map(|summary| summary.path),
            };
            if let Some(path) = &path {
                has_stopped_run = take_over(handover, path, how)?;
            }
            path
        }
        SessionChoice::Copy(target) => return open_copy(&directory.find(&target)?),
        SessionChoice::CopyLatest => match directory.latest(cwd)? {
            Some(summary) => return open_copy(&summary.path),
            None => None,
        },
        SessionChoice::ReadOnly(target) => {
            let opened = SessionStore::open_read_only(&directory.find(&target)?)?;
            let (store, ending) = opened;
            return Ok(Opened::new(store, ending));
        }
        SessionChoice::File(path) if path.exists() => Some(path),
        SessionChoice::File(path) => return Ok(new(path)?),
    };
    if let Some(path) = path {
        let (store, ending) = SessionStore::open(&path)?;
        return Ok(Opened {
            has_stopped_run,
            ..Opened::new(store, ending)
        });
    }
    let header = Header::new(cwd);
    let path = directory.path_for(&header);
    Ok(Opened {
        orphan,
        ..Opened::empty(SessionStore::create(path, header)?)
    })
}

/// Copies the branch up to `leaf` to a new session that names its parent; its files are those at the entry `files`.
/// Blocks.
pub(crate) fn copy(
    directory: &SessionDirectory,
    cwd: &Path,
    source: &SessionStore,
    (leaf, files): (Option<&str>, Option<&str>),
) -> Result<(PathBuf, String), SessionError> {
    let mut header = Header::new(cwd);
    header.parent_session = Some(source.id().to_owned());
    let path = directory.path_for(&header);
    let tree = source.index().read(Clone::clone);
    fork(&tree, (leaf, files), path.clone(), &header)?;
    Ok((path, header.id))
}

/// Lets the session at `path` continue in the directory of `setup`. Returns its file.
pub(crate) async fn relocate(setup: &SessionSetup, path: &Path) -> Result<PathBuf, OpenError> {
    let directory = directory(setup).map_err(OpenError::Tools)?;
    Ok(directory.relocate(path, &setup.cwd).await?)
}

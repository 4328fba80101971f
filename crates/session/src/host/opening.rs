//! Which file is opened, and as what: to go on in it, in a copy of it, or to look at it. The last two are
//! what remains while another process has it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::hooks::Source;
use super::host::Task;
use super::session::{OpenError, OpenSession, Opened};
use super::setup::SessionChoice;
use osier_agent::Severity;
use osier_store::{Header, SessionDirectory, SessionError, SessionStore, fork};

/// As what a stored session is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// To go on in it. Refused while another process has it.
    #[default]
    Itself,
    /// To go on in a copy of its current branch: a session of its own.
    Copy,
    /// To look at it as it is now. Nothing can be stored.
    ReadOnly,
}

impl Opening {
    /// The choice of the session `target` as this.
    pub fn choice(self, target: String) -> SessionChoice {
        match self {
            Self::Itself => SessionChoice::Resume(target),
            Self::Copy => SessionChoice::Copy(target),
            Self::ReadOnly => SessionChoice::ReadOnly(target),
        }
    }
}

impl Task {
    pub(super) async fn resume(&mut self, target: String, opening: Opening) {
        match OpenSession::find(&self.setup, &target) {
            Err(error) => self.notice(Severity::Error, error.to_string()),
            Ok(path) => {
                self.close("resume").await;
                let target = path.to_string_lossy().into_owned();
                self.open(opening.choice(target), Source::Resume).await;
            }
        }
    }

    /// Tells that no session is open now, and which one another process has.
    pub(super) fn not_opened(&self, error: &OpenError) {
        let in_use = match error {
            OpenError::Session {
                error: SessionError::Locked { path, .. },
            } => Some(path.to_string_lossy().into_owned()),
            _ => None,
        };
        let message = error.to_string();
        self.publish(Event::SessionFailed { message, in_use });
    }
}

/// Opens or creates the file. Blocks while it reads.
pub(super) fn open_file(
    data: &Path,
    cwd: &Path,
    choice: SessionChoice,
) -> Result<Opened, OpenError> {
    let directory = SessionDirectory::new(data);
    let new = |path: PathBuf| SessionStore::create(path, Header::new(cwd)).map(Opened::empty);
    let path = match choice {
        SessionChoice::New => None,
        SessionChoice::Unstored => {
            let store = SessionStore::in_memory(Header::new(cwd), &[])?;
            return Ok(Opened::empty(store));
        }
        SessionChoice::Continue => directory.latest(cwd).map(|summary| summary.path),
        SessionChoice::Resume(target) => Some(directory.find(&target)?),
        SessionChoice::Copy(target) => {
            let (source, _) = SessionStore::open_read_only(&directory.find(&target)?)?;
            let leaf = source.index().leaf();
            Some(copy(data, cwd, &source, leaf.as_deref())?)
        }
        SessionChoice::ReadOnly(target) => {
            let opened = SessionStore::open_read_only(&directory.find(&target)?)?;
            return Ok(Opened::from(opened));
        }
        SessionChoice::File(path) if path.exists() => Some(path),
        SessionChoice::File(path) => return Ok(new(path)?),
    };
    if let Some(path) = path {
        return Ok(Opened::from(SessionStore::open(&path)?));
    }
    let header = Header::new(cwd);
    let path = directory.path_for(&header);
    Ok(Opened::empty(SessionStore::create(path, header)?))
}

/// Writes the path to `leaf` into a session of its own, which says where it came from. Blocks.
pub(super) fn copy(
    data: &Path,
    cwd: &Path,
    source: &SessionStore,
    leaf: Option<&str>,
) -> Result<PathBuf, SessionError> {
    let mut header = Header::new(cwd);
    header.parent_session = Some(source.id().to_owned());
    let path = SessionDirectory::new(data).path_for(&header);
    let tree = source.index().look(Clone::clone);
    let runtime = tokio::runtime::Handle::current();
    let (copy, _) = runtime.block_on(fork(&tree, leaf, path.clone(), header))?;
    // It is opened anew like any other.
    let _ = runtime.block_on(copy.close());
    Ok(path)
}

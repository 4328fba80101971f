//! The maps of the project, and the files that the conversation mentions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use osier_map::ProjectMap;

/// The maps of a workspace. Nothing is read before one is used.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    /// Where the indexes are stored.
    pub(crate) folder: Option<PathBuf>,
    /// The map of the working directory.
    pub(crate) own: OnceLock<Arc<ProjectMap>>,
    /// Paths in messages of the user, the most recent first.
    mentioned: Mutex<Vec<String>>,
}

impl Maps {
    pub(crate) fn stored_in(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            ..Self::default()
        }
    }

    pub(crate) fn mentioned(&self) -> MutexGuard<'_, Vec<String>> {
        self.mentioned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

//! A session that continues in another directory: on another machine, or where its project is now.
//!
//! The header names the new directory, and the file goes to the folder of that project, where lists and `--continue` look.

use std::path::{Path, PathBuf};

use super::directory::{LINK_PREFIX, SessionDirectory};
use super::error::SessionError;
use super::list::Scope;
use super::log_file::{create_directory, name_new};
use super::moved;
use super::store::SessionStore;
use super::summary::SessionSummary;
use osier_protocol::Header;

/// Sessions to compare for one that ran elsewhere.
const COMPARED: usize = 64;

impl SessionDirectory {
    /// Lets the session at `path` continue in `cwd`. Returns its file. Fails if the session is open elsewhere. A kill leaves
    /// one file, with the old directory or the new one.
    ///
    /// # Errors
    /// The file cannot be opened or written; then it is unchanged.
    pub async fn relocate(&self, path: &Path, cwd: &Path) -> Result<PathBuf, SessionError> {
        let (store, _) = SessionStore::open(path)?;
        let mut header = store.header().clone();
        header.cwd = cwd.to_string_lossy().into_owned();
        let written = if *store.header() == header {
            Ok(())
        } else {
            store.set_header(header.clone()).await
        };
        let closed = store.close().await;
        written?;
        closed?;
        Ok(self
            .move_file(path, &header)
            .unwrap_or_else(|| path.to_owned()))
    }

    /// Moves a file from the folder of one project to that of another. `None` if it stays: the user chose its folder, or it
    /// cannot be moved.
    fn move_file(&self, path: &Path, header: &Header) -> Option<PathBuf> {
        let folder = path.parent()?;
        let is_chosen = folder
            .file_name()?
            .to_string_lossy()
            .starts_with(LINK_PREFIX);
        let project = self.project(Path::new(&header.cwd));
        if is_chosen || folder.parent() != Some(self.root()) || folder == project {
            return None;
        }
        create_directory(&project).ok()?;
        let target = project.join(path.file_name()?);
        name_new(path, &target).ok()?;
        let line = serde_json::to_vec(header).ok()?;
        moved::remember(&project, &line);
        Some(target)
    }

    /// The newest session of a directory that has the name of `cwd` and no longer exists: it may have been moved here, or
    /// be on another machine. Reads only the files that were written last.
    pub fn orphan(&self, cwd: &Path) -> Result<Option<SessionSummary>, SessionError> {
        let newest = self.newest(Scope::All, COMPARED)?;
        let is_orphan = |session: &SessionSummary| {
            let directory = Path::new(&session.cwd);
            directory.file_name() == cwd.file_name() && directory != cwd && !directory.is_dir()
        };
        Ok(newest.into_iter().find(is_orphan))
    }
}

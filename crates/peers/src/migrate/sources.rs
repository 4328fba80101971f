//! The folders that a migration reads and writes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use osier_base::folders::Folders;

use crate::PeerFolders;

/// The folders that a migration reads and writes.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub folders: &'a Folders,
    pub peers: &'a PeerFolders,
    pub cwd: &'a Path,
    /// The root of the project around `cwd`.
    pub root: &'a Path,
    /// Whether a text is a permission rule of osier.
    pub is_rule: fn(&str) -> bool,
    /// The names of the MCP servers in a file of osier.
    pub servers_of: &'a dyn Fn(&Path) -> BTreeSet<String>,
    /// The folder whose files are found. osier writes items that it finds there into the folder's
    /// own `.osier`, where they need trust like every file of a project.
    pub project: Option<&'a Path>,
}

impl Sources<'_> {
    /// The folder of agents, prompts and skills.
    pub(super) fn config(&self) -> PathBuf {
        match self.project {
            Some(root) => root.join(".osier"),
            None => self.folders.config.clone(),
        }
    }

    pub(super) fn servers(&self) -> PathBuf {
        match self.project {
            Some(_) => self.config().join("mcp.json"),
            None => self.folders.servers(),
        }
    }

    pub(super) fn settings(&self) -> PathBuf {
        match self.project {
            Some(_) => self.config().join("settings.toml"),
            None => self.folders.settings(),
        }
    }

    /// Whether `path` does not lead out of the project by a link. Only its existing part can
    /// contain links.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        let Some(root) = self.project else {
            return true;
        };
        let existing = path
            .ancestors()
            .find(|path| path.symlink_metadata().is_ok());
        let real = existing.and_then(|path| path.canonicalize().ok());
        real.zip(root.canonicalize().ok())
            .is_some_and(|(real, root)| real.starts_with(root))
    }
}

osier_base::opaque_debug!(Sources<'a>);

//! Trust decides whether a project can run code through its files: settings with commands, hooks, plugins,
//! servers.
//!
//! Trust in a folder applies to the current content of its files: their hash is stored, and a change asks
//! again. A "no" is stored the same way. Code that loads one of [`FILES`] takes it from [`Trust::trusted_files`].
//! Trust covers only loading, not what a tool can do.
//!
//! Programs of a project run unasked only while the code that they could load is unchanged. `reach` follows that code from a
//! command, `runners` knows the files of task runners and build tools, `facts` holds the tables, and `texts` reads code. `snapshot`
//! compares the files with those of the decision.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use osier_base::folders::Folders;
use osier_base::locked_json::{self, LockedJsonError};
use osier_base::repository;

mod facts;
mod program_use;
mod programs;
mod reach;
mod runners;
mod snapshot;
#[cfg(test)]
mod tests;
mod texts;

pub use crate::project_files::{FILES, ProjectFiles};
pub use program_use::{ProgramGuard, ProgramUse, UNCOMPILED, command};
pub use programs::{ChangedProgram, ProjectPrograms};
pub use texts::shell::selects_code;

/// The stored decisions.
#[derive(Debug, Clone)]
pub struct Trust {
    path: PathBuf,
}

/// The trust state of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    /// There are no such files.
    Nothing,
    Trusted,
    Refused,
    /// There is no decision yet; contains the files.
    Undecided(Vec<PathBuf>),
    /// The files have changed since the decision.
    Changed(Vec<PathBuf>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Decisions {
    folders: BTreeMap<PathBuf, Decision>,
    /// The programs of a folder that the user allowed, with the hash of the files that had changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    programs: BTreeMap<PathBuf, BTreeMap<String, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    trusted: bool,
    /// Hash of the files at the time of the decision, in hexadecimal.
    hash: String,
    /// The time of the decision, in nanoseconds since 1970.
    #[serde(default)]
    at: Option<u64>,
}

impl Trust {
    pub fn new(folders: &Folders) -> Self {
        Self {
            path: folders.data.join("trust.json"),
        }
    }

    /// The files of the project that contains `folder`, if the project is trusted and the files are unchanged;
    /// otherwise no files. Blocks.
    pub fn trusted_files(&self, folder: &Path) -> ProjectFiles {
        let files = ProjectFiles::read(folder);
        match self.state(&files) {
            TrustState::Nothing | TrustState::Trusted => {
                let explicitly = self.decision(&files) == TrustState::Trusted;
                files.with_decision(explicitly)
            }
            _ => files.without_files(),
        }
    }

    /// The trust state of a project with these files.
    pub fn state(&self, files: &ProjectFiles) -> TrustState {
        if files.is_empty() {
            return TrustState::Nothing;
        }
        self.decision(files)
    }

    /// Like `state`, also for a project without such files: programs that start in it can run its other files.
    pub fn decision(&self, files: &ProjectFiles) -> TrustState {
        let paths = || files.paths().map(Path::to_owned).collect();
        match self.read().folders.get(files.root()) {
            None => TrustState::Undecided(paths()),
            Some(decision) if decision.hash != files.hash() => TrustState::Changed(paths()),
            Some(decision) if decision.trusted => TrustState::Trusted,
            Some(_) => TrustState::Refused,
        }
    }

    /// Whether the project was trusted when the user decided, with other files than these perhaps.
    pub fn was_trusted(&self, files: &ProjectFiles) -> bool {
        let decisions = self.read().folders;
        decisions
            .get(files.root())
            .is_some_and(|decision| decision.trusted)
    }

    /// Stores the user's decision about a project with these files.
    pub fn decide(&self, files: &ProjectFiles, trusted: bool) -> Result<(), LockedJsonError> {
        let hash = files.hash().to_owned();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at = at.ok().and_then(|at| u64::try_from(at.as_nanos()).ok());
        self.change(|decisions| {
            decisions.programs.remove(files.root());
            let decision = Decision { trusted, hash, at };
            decisions.folders.insert(files.root().to_owned(), decision);
        })
    }

    fn change(&self, change: impl FnOnce(&mut Decisions)) -> Result<(), LockedJsonError> {
        locked_json::change(&self.path, change).map(drop)
    }

    /// An unreadable file contains no decision, so nothing is trusted by mistake.
    fn read(&self) -> Decisions {
        locked_json::read(&self.path)
    }
}

/// The project root for work in `folder`: the repository root, else `folder` itself.
pub fn project_root(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    repository::root(&folder).unwrap_or(&folder).to_owned()
}

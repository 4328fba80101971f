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

#[cfg(test)]
mod cases;
mod facts;
mod program_use;
mod programs;
mod reach;
mod runners;
mod snapshot;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use osier_base::atomic_file;
    use tempfile::TempDir;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        atomic_file::write(path, text.as_bytes()).unwrap();
    }

    fn place() -> (TempDir, Trust, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Folders::under(&place.path().join("home")));
        let project = place.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        (place, trust, project.canonicalize().unwrap())
    }

    fn state(trust: &Trust, project: &Path) -> TrustState {
        trust.state(&ProjectFiles::read(project))
    }

    fn decide(trust: &Trust, project: &Path, trusted: bool) {
        trust.decide(&ProjectFiles::read(project), trusted).unwrap();
    }

    /// Nothing is kept back.
    fn allows(trust: &Trust, project: &Path) -> bool {
        let files = trust.trusted_files(project);
        files == ProjectFiles::read(project).with_decision(files.runs_servers())
    }

    #[test]
    fn a_folder_without_code_files_needs_no_trust() {
        let (_place, trust, project) = place();
        write(&project.join("AGENTS.md"), "be kind");
        assert_eq!(state(&trust, &project), TrustState::Nothing);
        assert!(allows(&trust, &project));
    }

    /// A server that starts in a project runs what the project brings as `node_modules`, for example.
    #[test]
    fn servers_start_only_in_a_project_that_was_trusted_explicitly() {
        let (_place, trust, project) = place();
        let runs_servers = || trust.trusted_files(&project).runs_servers();
        assert_eq!(state(&trust, &project), TrustState::Nothing);
        assert!(!runs_servers());
        decide(&trust, &project, false);
        assert!(!runs_servers());
        decide(&trust, &project, true);
        assert!(runs_servers());
        write(&project.join(".mcp.json"), "{}");
        assert!(!runs_servers());
        decide(&trust, &project, true);
        assert!(runs_servers());
    }

    #[test]
    fn every_file_kind_requires_a_decision_and_again_after_a_change() {
        for name in FILES {
            let (_place, trust, project) = place();
            let path = match name {
                ".osier/plugins" | ".osier/agents" | ".claude/agents" => {
                    project.join(name).join("deep/gate.lua")
                }
                name => project.join(name),
            };
            write(&path, "one");
            assert_eq!(
                state(&trust, &project),
                TrustState::Undecided(vec![path.clone()])
            );
            assert!(!allows(&trust, &project), "{name}");
            decide(&trust, &project, true);
            assert_eq!(state(&trust, &project), TrustState::Trusted);
            write(&path, "two");
            assert_eq!(state(&trust, &project), TrustState::Changed(vec![path]));
            assert!(!allows(&trust, &project), "{name}");
        }
    }

    #[test]
    fn an_added_or_removed_file_is_a_change() {
        let (_place, trust, project) = place();
        let (hooks, servers) = (project.join(".osier/hooks.json"), project.join(".mcp.json"));
        write(&hooks, "{}");
        decide(&trust, &project, true);
        write(&servers, "{}");
        assert!(!allows(&trust, &project));
        fs::remove_file(&servers).unwrap();
        assert!(allows(&trust, &project));
        fs::rename(&hooks, &servers).unwrap();
        assert!(!allows(&trust, &project));
    }

    #[test]
    fn a_refusal_is_stored_for_the_repository() {
        let (_place, trust, project) = place();
        fs::create_dir(project.join(".git")).unwrap();
        write(&project.join(".osier/hooks.json"), "{}");
        decide(&trust, &project.join("src"), false);
        assert_eq!(state(&trust, &project), TrustState::Refused);
        assert!(!allows(&trust, &project.join("src")));
        decide(&trust, &project, true);
        assert!(allows(&trust, &project.join("src")));
    }

    #[test]
    fn a_damaged_list_trusts_nothing() {
        let (_place, trust, project) = place();
        write(&project.join(".mcp.json"), "{}");
        decide(&trust, &project, true);
        write(&trust.path, "{\"folders\": tru");
        assert!(!allows(&trust, &project));
    }
}

//! Programs of a project that osier starts by itself. They run unless code that they could load has changed since the user trusted the
//! project or allowed the change.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use osier_base::locked_json::LockedJsonError;
use osier_base::path;

use super::Trust;
use super::{reach, snapshot};
use crate::trust::program_use::ProgramUse;

/// The number of programs of one project whose allowed changes osier stores.
const STORED: usize = 200;
/// The number of changed files that a question names.
const SHOWN: usize = 5;

/// Decides whether the programs of a project are still as the user trusted them.
#[derive(Debug)]
pub struct ProjectPrograms {
    trust: Trust,
    project: PathBuf,
}

/// A program of the project that may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedProgram {
    /// Identifies the programs.
    key: String,
    /// The hash of the changed files; `None` if they cannot be read, and then the user cannot allow the program.
    hash: Option<String>,
    /// The reason why the program does not run, as the end of a sentence.
    pub reason: String,
    /// The changed files that the question names.
    pub files: Vec<String>,
}

impl ChangedProgram {
    /// Identifies the question: osier asks once for each content of the changed files.
    pub fn id(&self) -> Option<String> {
        let hash = self.hash.as_ref()?;
        Some(format!("{} {hash}", self.key))
    }
}

impl ProjectPrograms {
    /// The guard for the programs of the project at `project`.
    pub fn new(trust: Trust, project: &Path) -> Self {
        Self {
            trust,
            project: project.to_owned(),
        }
    }

    /// Checks the code of the project that the use could load. Blocks.
    ///
    /// # Errors
    /// Some code is not as the user trusted it.
    pub fn check(&self, run: &ProgramUse) -> Result<(), ChangedProgram> {
        let key = run.key();
        let unknown = |error| ChangedProgram {
            key: key.clone(),
            hash: None,
            reason: format!("cannot be checked: {error}"),
            files: Vec::new(),
        };
        let decisions = self.trust.read();
        let trusted = decisions.folders.get(&self.project);
        let trusted = trusted.filter(|decision| decision.trusted);
        let at = trusted.and_then(|decision| decision.at);
        let stored = decisions.programs.get(&self.project);
        let is_allowed = |key: &str, hash: &String| {
            stored.is_some_and(|stored| stored.get(key).is_some_and(|known| known == hash))
        };
        let mut checks = Vec::new();
        if let Some((cwd, root)) = &run.copy {
            let own = ProgramUse {
                cwd: cwd.clone(),
                ..run.clone()
            };
            let different = reach::of(&own, root).map_err(unknown)?;
            let different = different.different(root, &self.project).map_err(unknown)?;
            checks.push((
                format!("{key}, in a copy"),
                different,
                root,
                "in this copy of the folder",
            ));
        }
        let since = match at {
            Some(_) => "since you trusted the folder",
            None => "",
        };
        let changed = reach::of(run, &self.project).map_err(unknown)?;
        let changed = changed.changed(&self.project, at.unwrap_or_default());
        checks.push((key.clone(), changed.map_err(unknown)?, &self.project, since));
        for (key, changed, root, since) in checks {
            let Some((first, _)) = changed.first_key_value() else {
                continue;
            };
            let hash = snapshot::hash(&changed, root).map_err(unknown)?;
            if is_allowed(&key, &hash) {
                continue;
            }
            let first = path::display(first, root);
            let reason = match since {
                "" => "runs code of this folder, which is not known as you trusted it".to_owned(),
                since => format!("could load code that has changed {since} (`{first}`)"),
            };
            let shown = changed.keys().take(SHOWN);
            let mut files: Vec<String> = shown.map(|file| path::display(file, root)).collect();
            if changed.len() > files.len() {
                files.push(format!("and {} more", changed.len() - files.len()));
            }
            return Err(ChangedProgram {
                key,
                hash: Some(hash),
                reason,
                files,
            });
        }
        Ok(())
    }

    /// Stores that the user allows the program with its files as they are now.
    ///
    /// # Errors
    /// The decision cannot be stored.
    pub fn allow(&self, program: &ChangedProgram) -> Result<(), LockedJsonError> {
        let Some(hash) = program.hash.clone() else {
            return Ok(());
        };
        self.trust.change(|decisions| {
            let stored = decisions.programs.entry(self.project.clone()).or_default();
            if stored.len() >= STORED {
                stored.pop_first();
            }
            stored.insert(program.key.clone(), hash);
        })
    }
}

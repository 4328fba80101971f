//! Programs that lie in a project, such as formatters, language servers and hooks: they run as they were when the user trusted the
//! project, or as the user allowed them since.

use std::collections::HashMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use osier_base::locked_json::LockedJsonError;
use osier_base::path;

use super::Trust;
use super::closure::{self, Files};
use super::program_use::ProgramUse;

/// Programs of a project whose contents are stored.
const STORED: usize = 200;

/// Whether programs of a project are as the user trusted them.
#[derive(Debug)]
pub struct ProjectPrograms {
    trust: Trust,
    project: PathBuf,
    /// The hashes of files that have not changed since they were read.
    hashes: Mutex<HashMap<String, (Files, String)>>,
}

/// A program of the project that may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedProgram {
    /// Identifies the programs.
    key: String,
    /// The hash of the files; `None` if they cannot be read, so that nobody can allow them.
    hash: Option<String>,
    /// Why it does not run, as the end of a sentence.
    pub reason: String,
}

impl ChangedProgram {
    /// The question, once for each content.
    pub fn id(&self) -> Option<String> {
        self.hash
            .as_ref()
            .map(|hash| format!("{} {hash}", self.key))
    }
}

impl ProjectPrograms {
    /// The programs of the project at `project`.
    pub fn new(trust: Trust, project: &Path) -> Self {
        Self {
            trust,
            project: project.to_owned(),
            hashes: Mutex::default(),
        }
    }

    /// Checks the files of the project that run. Programs outside of the project always may run. Blocks.
    ///
    /// # Errors
    /// Some are not as the user trusted them.
    pub fn check(&self, run: &ProgramUse) -> Result<(), ChangedProgram> {
        let key = &run.key();
        let changed = |hash, reason: String| ChangedProgram {
            key: key.clone(),
            hash,
            reason,
        };
        let files = closure::files(run, &self.project);
        let files = files.map_err(|error| changed(None, format!("cannot be checked: {error}")))?;
        let decisions = self.trust.read();
        let stored = decisions.programs.get(&self.project);
        let stored = stored.and_then(|stored| stored.get(key));
        if files.is_empty() && stored.is_none() {
            return Ok(());
        }
        let hash = self.hash(key, &files);
        let hash = hash.map_err(|error| changed(None, format!("cannot be checked: {error}")))?;
        if stored == Some(&hash) {
            return Ok(());
        }
        let decision = decisions.folders.get(&self.project);
        let trusted_at = decision.filter(|decision| decision.trusted);
        let trusted_at = trusted_at.and_then(|decision| decision.at);
        let is_new = |at: u64| files.iter().find(|(_, stamp)| stamp.changed_at() > at);
        let reason = match (trusted_at.map(is_new), stored) {
            // The files that were read are those with these times.
            (Some(None), None) if closure::files(run, &self.project).as_ref() == Ok(&files) => {
                // Without the stored hash, the time decides again.
                let _ = self.store(key, &hash);
                return Ok(());
            }
            (Some(None), _) => "has changed since you trusted the folder".to_owned(),
            (Some(Some((path, _))), _) => {
                let path = path::display(path, &self.project);
                format!("has changed since you trusted the folder (`{path}`)")
            }
            (_, Some(_)) => "has changed since you allowed it".to_owned(),
            (None, None) => "lies in this folder, and is not known as you trusted it".to_owned(),
        };
        Err(changed(Some(hash), reason))
    }

    /// The user allows the program as it is.
    ///
    /// # Errors
    /// The decision cannot be stored.
    pub fn allow(&self, program: &ChangedProgram) -> Result<(), LockedJsonError> {
        match &program.hash {
            Some(hash) => self.store(&program.key, hash),
            None => Ok(()),
        }
    }

    fn store(&self, key: &str, hash: &str) -> Result<(), LockedJsonError> {
        self.trust.change(|decisions| {
            let stored = decisions.programs.entry(self.project.clone()).or_default();
            if stored.len() >= STORED {
                stored.pop_first();
            }
            stored.insert(key.to_owned(), hash.to_owned());
        })
    }

    fn hash(&self, key: &str, files: &Files) -> Result<String, String> {
        let lock = || self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, hash)) = lock().get(key)
            && known == files
        {
            return Ok(hash.clone());
        }
        let hash = closure::hash(files, &self.project)?;
        let mut hashes = lock();
        if hashes.len() >= STORED {
            hashes.clear();
        }
        hashes.insert(key.to_owned(), (files.clone(), hash.clone()));
        Ok(hash)
    }
}

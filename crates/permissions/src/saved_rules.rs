//! Rules that the user granted "always in this project". They are stored in the user's data
//! directory, so a repository cannot grant itself permissions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::trust::project_root;
use osier_base::atomic_file;
use osier_base::atomic_file::{Options, WriteError};
use osier_base::regular_file::{self, ReadError};

/// Maximum size of the file.
const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// The saved rules of one project, in the file of all projects.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    path: PathBuf,
    project: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    projects: BTreeMap<PathBuf, Rules>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Rules {
    allow: Vec<String>,
}

impl Remembered {
    pub(super) fn new(path: PathBuf, cwd: &Path) -> Self {
        Self {
            path,
            project: project_root(cwd),
        }
    }

    /// The allow rules of this project. An unreadable file allows nothing.
    pub(super) fn load(&self) -> Vec<String> {
        let mut stored = self.parse().unwrap_or_default();
        stored
            .projects
            .remove(&self.project)
            .map(|rules| rules.allow)
            .unwrap_or_default()
    }

    pub(super) fn add(&self, rule: &str) -> Result<(), WriteError> {
        self.change(|rules| {
            if !rules.iter().any(|known| known == rule) {
                rules.push(rule.to_owned());
            }
        })
    }

    pub(super) fn remove(&self, rule: &str) -> Result<(), WriteError> {
        self.change(|rules| rules.retain(|known| known != rule))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<String>)) -> Result<(), WriteError> {
        let mut stored = self.parse().unwrap_or_else(|_| {
            // An edit has damaged the file: keep a copy.
            let _ = fs::rename(&self.path, self.path.with_extension("json.broken"));
            Stored::default()
        });
        let rules = stored.projects.entry(self.project.clone()).or_default();
        change(&mut rules.allow);
        if rules.allow.is_empty() {
            stored.projects.remove(&self.project);
        }
        let text = serde_json::to_vec_pretty(&stored).unwrap_or_default();
        atomic_file::write_with(&self.path, &text, Options::PRIVATE)
    }

    /// Parses the file. A missing file is empty; an unreadable file is damaged.
    fn parse(&self) -> serde_json::Result<Stored> {
        match regular_file::read(&self.path, FILE_LIMIT) {
            Err(ReadError::Missing) => Ok(Stored::default()),
            text => serde_json::from_slice(&text.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_renamed_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("permissions.json");
        atomic_file::write(&path, b"{\"projects\": {").unwrap();
        let remembered = Remembered::new(path.clone(), folder.path());
        assert_eq!(remembered.load(), [""; 0]);
        remembered.add("bash(ls)").unwrap();
        assert_eq!(remembered.load(), ["bash(ls)"]);
        let broken = fs::read_to_string(path.with_extension("json.broken")).unwrap();
        assert_eq!(broken, "{\"projects\": {");
    }
}

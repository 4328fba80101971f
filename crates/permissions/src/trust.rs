//! Trust decides whether a project can run code through its files: settings with commands, hooks, plugins,
//! servers.
//!
//! Trust in a folder applies to the current content of its files: their hash is stored, and a change asks
//! again. A "no" is stored the same way. Code that loads one of [`FILES`] must check [`Trust::allows`] first.
//! Trust covers only loading, not what a tool can do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use osier_base::atomic_file;
use osier_base::atomic_file::{Options, WriteError};
use osier_base::folders::Folders;
use osier_base::hex::hex;

/// Files of a project that can run code, relative to its root. For a directory, everything in it.
pub const FILES: [&str; 7] = [
    ".osier/settings.toml",
    ".osier/hooks.json",
    ".osier/mcp.json",
    ".osier/plugins",
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
];

/// Maximum size of a hashed file; a larger one is never trusted.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Maximum number of files in a directory; more are never trusted.
const MOST: usize = 2000;

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

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Decisions {
    folders: BTreeMap<PathBuf, Decision>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Decision {
    trusted: bool,
    /// Hash of the files at the time of the decision, in hexadecimal.
    hash: String,
}

impl Trust {
    pub fn new(folders: &Folders) -> Self {
        Self {
            path: folders.data.join("trust.json"),
        }
    }

    /// Whether the files of the project that contains `folder` can be loaded: it is trusted and they are
    /// unchanged. True when there are none.
    pub fn allows(&self, folder: &Path) -> bool {
        matches!(
            self.state(folder),
            TrustState::Nothing | TrustState::Trusted
        )
    }

    /// The trust state of the project that contains `folder`. Reads its files.
    pub fn state(&self, folder: &Path) -> TrustState {
        let root = project_root(folder);
        let files = files(&root);
        if files.is_empty() {
            return TrustState::Nothing;
        }
        let hash = hash(&root, &files).ok();
        match self.read().folders.get(&root) {
            None => TrustState::Undecided(files),
            Some(decision) if Some(&decision.hash) != hash.as_ref() => TrustState::Changed(files),
            Some(decision) if decision.trusted => TrustState::Trusted,
            Some(_) => TrustState::Refused,
        }
    }

    /// Stores the user's decision about the project that contains `folder`, with the current files.
    pub fn decide(&self, folder: &Path, trusted: bool) -> Result<(), TrustError> {
        let root = project_root(folder);
        let files = files(&root);
        let hash = hash(&root, &files).map_err(|source| TrustError::Read {
            folder: root.clone(),
            source,
        })?;
        let mut decisions = self.read();
        decisions.folders.insert(root, Decision { trusted, hash });
        let text = serde_json::to_vec_pretty(&decisions).unwrap_or_default();
        let options = Options {
            parents: true,
            ..Options::default()
        };
        Ok(atomic_file::write_with(&self.path, &text, options)?)
    }

    /// An unreadable file contains no decision, so nothing is trusted by mistake.
    fn read(&self) -> Decisions {
        let text = fs::read(&self.path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// A decision could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read the project files of `{}`: {source}", folder.display())]
    Read { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The project root for work in `folder`: the repository root, else `folder` itself.
pub fn project_root(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let root = folder.ancestors().find(|path| path.join(".git").exists());
    root.unwrap_or(&folder).to_owned()
}

/// The existing files, in a fixed order. Links are followed, because loading follows them too.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in FILES {
        collect(&root.join(name), 0, &mut found);
    }
    found.sort();
    found
}

fn collect(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
    } else if path.is_dir() && depth < 8 && found.len() <= MOST {
        let entries = fs::read_dir(path).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            collect(&entry.path(), depth + 1, found);
        }
    }
}

/// One hash over names and contents.
fn hash(root: &Path, files: &[PathBuf]) -> io::Result<String> {
    if files.len() > MOST {
        return Err(io::Error::other(format!(
            "there are more than {MOST} files"
        )));
    }
    let mut hasher = Sha256::new();
    for path in files {
        let mut bytes = Vec::new();
        File::open(path)?
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            let text = format!("`{}` is larger than {LARGEST} bytes", path.display());
            return Err(io::Error::other(text));
        }
        let name = path.strip_prefix(root).unwrap_or(path);
        // Length prefixes separate names from contents.
        for part in [name.as_os_str().as_encoded_bytes(), &bytes] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hex(hasher.finalize()))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_folder_without_code_files_needs_no_trust() {
        let (_place, trust, project) = place();
        write(&project.join("AGENTS.md"), "be kind");
        assert_eq!(trust.state(&project), TrustState::Nothing);
        assert!(trust.allows(&project));
    }

    #[test]
    fn every_file_kind_requires_a_decision_and_again_after_a_change() {
        for name in FILES {
            let (_place, trust, project) = place();
            let path = match name {
                ".osier/plugins" => project.join(name).join("deep/gate.lua"),
                name => project.join(name),
            };
            write(&path, "one");
            assert_eq!(
                trust.state(&project),
                TrustState::Undecided(vec![path.clone()])
            );
            assert!(!trust.allows(&project), "{name}");
            trust.decide(&project, true).unwrap();
            assert_eq!(trust.state(&project), TrustState::Trusted);
            write(&path, "two");
            assert_eq!(trust.state(&project), TrustState::Changed(vec![path]));
            assert!(!trust.allows(&project), "{name}");
        }
    }

    #[test]
    fn an_added_or_removed_file_is_a_change() {
        let (_place, trust, project) = place();
        let (hooks, servers) = (project.join(".osier/hooks.json"), project.join(".mcp.json"));
        write(&hooks, "{}");
        trust.decide(&project, true).unwrap();
        write(&servers, "{}");
        assert!(!trust.allows(&project));
        fs::remove_file(&servers).unwrap();
        assert!(trust.allows(&project));
        fs::rename(&hooks, &servers).unwrap();
        assert!(!trust.allows(&project));
    }

    #[test]
    fn a_refusal_is_stored_for_the_repository() {
        let (_place, trust, project) = place();
        fs::create_dir(project.join(".git")).unwrap();
        write(&project.join(".osier/hooks.json"), "{}");
        trust.decide(&project.join("src"), false).unwrap();
        assert_eq!(trust.state(&project), TrustState::Refused);
        assert!(!trust.allows(&project.join("src")));
        trust.decide(&project, true).unwrap();
        assert!(trust.allows(&project.join("src")));
    }

    #[test]
    fn a_damaged_list_trusts_nothing() {
        let (_place, trust, project) = place();
        write(&project.join(".mcp.json"), "{}");
        trust.decide(&project, true).unwrap();
        write(&trust.path, "{\"folders\": tru");
        assert!(!trust.allows(&project));
    }
}

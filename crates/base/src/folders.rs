//! The folders of osier's files.
//!
//! `$OSIER_HOME` contains all of them if it is set; otherwise they are in the platform's config and data directories.
//! Nothing is created before it is needed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::private;

/// The user's folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// `settings.toml`, `models.json`, `mcp.json`, `hooks.json`, `themes/`, `keymaps/`.
    pub config: PathBuf,
    /// `sessions/`, `index.sqlite`, `trash/`, `auth.json`, `history.jsonl`, `published-models.json`.
    pub data: PathBuf,
    /// The variables that locate the files of other agents, which are read too; without `HOME`, none are.
    pub environment: Arc<BTreeMap<String, String>>,
    /// Settings of the command line, which override those of files: a name for messages, and TOML.
    pub overrides: Arc<Vec<(PathBuf, String)>>,
}

/// Neither `$OSIER_HOME` nor a home directory is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown home directory: set `HOME` or `OSIER_HOME`")]
pub struct NoHome;

impl Folders {
    /// The folders for this environment; `osier_home` is the value of `$OSIER_HOME`.
    pub fn find(osier_home: Option<&OsStr>) -> Result<Self, NoHome> {
        if let Some(home) = osier_home.filter(|home| !home.is_empty()) {
            return Ok(Self::under(Path::new(home)));
        }
        let config = dirs::config_dir().ok_or(NoHome)?.join("osier");
        let data = dirs::data_dir().ok_or(NoHome)?.join("osier");
        Ok(Self {
            config,
            data,
            ..Self::default()
        })
    }

    /// All folders in one directory.
    pub fn under(home: &Path) -> Self {
        Self {
            config: home.to_owned(),
            data: home.to_owned(),
            ..Self::default()
        }
    }

    /// These folders with the files of other agents in this environment.
    #[must_use]
    pub fn with_peers(self, environment: &BTreeMap<String, String>) -> Self {
        let environment = Arc::new(environment.clone());
        Self {
            environment,
            ..self
        }
    }

    /// Removes the permissions of other users from the folders, which another program may have created.
    pub fn restrict(&self) {
        // `$OSIER_HOME` may be the home folder, which contains more than files of osier.
        let home = dirs::home_dir();
        for folder in [&self.data, &self.config] {
            if Some(folder) != home.as_ref() {
                // A read-only file system is left as it is.
                let _ = private::restrict(folder);
            }
        }
    }

    pub fn settings(&self) -> PathBuf {
        self.config.join("settings.toml")
    }

    pub fn models(&self) -> PathBuf {
        self.config.join("models.json")
    }

    pub fn themes(&self) -> PathBuf {
        self.config.join("themes")
    }

    pub fn keymaps(&self) -> PathBuf {
        self.config.join("keymaps")
    }

    pub fn servers(&self) -> PathBuf {
        self.config.join("mcp.json")
    }

    pub fn hooks(&self) -> PathBuf {
        self.config.join("hooks.json")
    }

    pub fn logs(&self) -> PathBuf {
        self.data.join("logs")
    }

    /// Working directories of MCP servers.
    pub fn servers_data(&self) -> PathBuf {
        self.data.join("servers")
    }

    pub fn credentials(&self) -> PathBuf {
        self.data.join("auth.json")
    }

    /// Model data published since this build.
    pub fn published(&self) -> PathBuf {
        self.data.join("published-models.json")
    }

    pub fn permissions(&self) -> PathBuf {
        self.data.join("permissions.json")
    }

    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// Complete outputs of commands, by session.
    pub fn outputs(&self) -> PathBuf {
        self.data.join("outputs")
    }

    /// Indexes of the maps of projects.
    pub fn maps(&self) -> PathBuf {
        self.data.join("maps")
    }

    pub fn history(&self) -> PathBuf {
        self.data.join("history.jsonl")
    }

    /// Stashed prompts.
    pub fn stash(&self) -> PathBuf {
        self.data.join("stash.json")
    }

    /// Pinned and hidden sessions.
    pub fn marks(&self) -> PathBuf {
        self.data.join("marks.json")
    }

    pub fn drafts(&self) -> PathBuf {
        self.data.join("drafts")
    }

    /// Sockets of open sessions, over which another process takes a session over.
    pub fn handover(&self) -> PathBuf {
        self.data.join("handover")
    }

    /// Plans that the model presented.
    pub fn plans(&self) -> PathBuf {
        self.data.join("plans")
    }
}

//! The plan of a migration: the items that it found, and the changes that it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sources::Sources;
use osier_base::atomic_file::{self, Options};
use osier_base::visible::{one_line, visible};
use osier_base::walk::Walk;
use osier_base::{json, regular_file};
use osier_llm::catalogue::PROVIDERS;

/// Maximum size of a file that is read.
pub(super) const LARGEST: u64 = 4 * 1024 * 1024;
/// Why a file of a project is not used.
pub(super) const OUTSIDE: &str = "it is a link that leads out of the project";
/// Maximum number of files of a skill, and their depth.
const FILES: usize = 500;
const DEPTH: usize = 6;
/// Columns of the command or URL of a server.
const RUNS_SHOWN: usize = 120;

/// The items of a migration, in the order of the report.
#[derive(Debug, Default)]
pub struct Plan {
    pub items: Vec<Item>,
    /// The target and the name of each planned item.
    planned: BTreeSet<(PathBuf, String)>,
}

#[derive(Debug)]
pub struct Item {
    pub what: String,
    pub action: Action,
}

/// An MCP server of another program.
#[derive(Debug)]
pub struct FoundServer {
    pub name: String,
    /// The program and its arguments; empty for a URL.
    pub command: Vec<String>,
    pub url: Option<String>,
    pub is_sse: bool,
    pub env: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
}

#[derive(Debug)]
pub enum Action {
    /// osier reads the item in place.
    InPlace,
    /// osier does not use the item, for this reason.
    Unused(String),
    /// osier has an item with this name in this file.
    Exists(PathBuf),
    Write(Change),
}

#[derive(Debug)]
pub enum Change {
    /// A server to add to the file with MCP servers.
    Server { file: PathBuf, server: FoundServer },
    /// A setting to add, which is not set yet.
    Setting {
        file: PathBuf,
        name: &'static str,
        value: String,
    },
    /// A file to create.
    File { file: PathBuf, text: String },
    /// A folder to copy.
    Folder {
        from: PathBuf,
        to: PathBuf,
        /// The project that contains the folder; without a project, links may lead anywhere.
        root: Option<PathBuf>,
    },
}

impl Change {
    pub fn target(&self) -> &Path {
        match self {
            Self::Server { file, .. } | Self::Setting { file, .. } | Self::File { file, .. } => {
                file
            }
            Self::Folder { to, .. } => to,
        }
    }

    /// Writes the files of the change. Does nothing for servers and settings, which the caller
    /// writes into existing files.
    ///
    /// # Errors
    /// Why nothing was written, or not everything.
    pub fn write_files(&self) -> Result<(), String> {
        match self {
            Self::Server { .. } | Self::Setting { .. } => Ok(()),
            Self::File { file, text } => create(file, text.as_bytes()),
            Self::Folder { from, to, root } => copy(from, to, root.as_deref()),
        }
    }
}

/// Whether osier knows the provider `name`, or the user has added it.
fn has_provider(sources: &Sources<'_>, name: &str) -> bool {
    let own = || {
        let file = sources.folders.config.join("models.json");
        let text = regular_file::read_text(&file, LARGEST).ok()?;
        let models = json::from_people(&text).ok()?;
        models["providers"].get(name).cloned()
    };
    PROVIDERS.iter().any(|row| row.name == name) || own().is_some()
}

/// Writes a file that must not exist.
fn create(file: &Path, bytes: &[u8]) -> Result<(), String> {
    if file.symlink_metadata().is_ok() {
        return Err("the file exists".to_owned());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    atomic_file::write_with(file, bytes, Options::PRIVATE).map_err(|error| error.to_string())
}

/// Copies the regular files below `from`, which are read before the first one is written.
fn copy(from: &Path, to: &Path, root: Option<&Path>) -> Result<(), String> {
    if to.symlink_metadata().is_ok() {
        return Err("the folder exists".to_owned());
    }
    let files = Walk::new(Some(from)).files(from, DEPTH, FILES);
    if files.len() > FILES {
        return Err(format!("it has more than {FILES} files"));
    }
    let root = root.and_then(|root| root.canonicalize().ok());
    let mut contents = Vec::with_capacity(files.len());
    for file in files {
        let leaves = |root: &PathBuf| !file.canonicalize().is_ok_and(|real| real.starts_with(root));
        if root.as_ref().is_some_and(leaves) {
            return Err(format!("{}: {OUTSIDE}", file.display()));
        }
        let bytes = regular_file::read(&file, LARGEST);
        let bytes = bytes.map_err(|error| format!("{}: {error}", file.display()))?;
        contents.push((file, bytes));
    }
    for (file, bytes) in contents {
        let Ok(name) = file.strip_prefix(from) else {
            continue;
        };
        create(&to.join(name), &bytes)?;
        // Scripts of a skill stay executable.
        if let Ok(metadata) = file.metadata() {
            let _ = fs::set_permissions(to.join(name), metadata.permissions());
        }
    }
    Ok(())
}

impl Plan {
    pub(super) fn add(&mut self, what: impl Into<String>, action: Action) {
        // Names come from files of other programs.
        let what = visible(&what.into()).into_owned();
        self.items.push(Item { what, action });
    }

    /// Adds a change, unless its target exists or another program has the same item.
    fn change(
        &mut self,
        sources: &Sources<'_>,
        what: String,
        name: &str,
        exists: bool,
        change: Change,
    ) {
        let target = change.target().to_owned();
        let action = if exists {
            Action::Exists(target)
        } else if !sources.is_inside(&target) {
            Action::Unused("`.osier` leads out of the project".to_owned())
        } else if self.planned.insert((target, name.to_owned())) {
            Action::Write(change)
        } else {
            Action::Unused("the one above comes first".to_owned())
        };
        self.add(what, action);
    }

    pub(super) fn in_place(&mut self, what: impl Into<String>) {
        self.add(what, Action::InPlace);
    }

    pub(super) fn unused(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.add(what, Action::Unused(why.into()));
    }

    /// Adds a server, unless osier's file has one with this name.
    pub(super) fn server(&mut self, sources: &Sources<'_>, server: FoundServer) {
        let file = sources.servers();
        let runs = match &server.url {
            Some(url) => url.clone(),
            None => server.command.join(" "),
        };
        let runs = one_line(&runs, RUNS_SHOWN);
        let what = format!("MCP server `{}`: {runs}", server.name);
        let exists = (sources.servers_of)(&file).contains(&server.name);
        let name = server.name.clone();
        self.change(
            sources,
            what,
            &name,
            exists,
            Change::Server { file, server },
        );
    }

    /// Adds a setting, unless it is set.
    pub(super) fn setting(
        &mut self,
        sources: &Sources<'_>,
        what: &str,
        name: &'static str,
        value: &str,
    ) {
        let file = sources.settings();
        let text = regular_file::read_text(&file, LARGEST).unwrap_or_default();
        let is_set = text.lines().any(|line| {
            let key = line.split('=').next().unwrap_or_default();
            line.contains('=') && key.trim().trim_matches('"') == name
        });
        let value = toml::Value::String(value.to_owned()).to_string();
        let what = format!("{what}: `{name} = {value}`");
        self.change(
            sources,
            what,
            name,
            is_set,
            Change::Setting { file, name, value },
        );
    }

    /// Adds a model, if osier has its provider.
    pub(super) fn model(
        &mut self,
        sources: &Sources<'_>,
        what: &str,
        name: &'static str,
        model: &str,
    ) {
        match model.split_once('/') {
            Some((provider, _)) if !has_provider(sources, provider) => self.unused(
                format!("{what}: `{name} = \"{model}\"`"),
                format!("osier has no provider `{provider}`; add it to `models.json`"),
            ),
            _ => self.setting(sources, what, name, model),
        }
    }

    /// Adds a file, unless it exists.
    pub(super) fn file(
        &mut self,
        sources: &Sources<'_>,
        what: impl Into<String>,
        file: PathBuf,
        text: String,
    ) {
        let exists = file.symlink_metadata().is_ok();
        self.change(
            sources,
            what.into(),
            "",
            exists,
            Change::File { file, text },
        );
    }

    /// Adds a copy of a folder, unless the target exists.
    pub(super) fn folder(
        &mut self,
        sources: &Sources<'_>,
        what: impl Into<String>,
        from: PathBuf,
        to: PathBuf,
    ) {
        let exists = to.symlink_metadata().is_ok();
        let root = sources.project.map(Path::to_owned);
        let change = Change::Folder { from, to, root };
        self.change(sources, what.into(), "", exists, change);
    }
}

/// A server in the form of most programs: `command` and `args`, or `url`.
pub(super) fn server_of(name: &str, entry: &Value) -> Option<FoundServer> {
    let texts = |key: &str| -> Vec<String> {
        match &entry[key] {
            Value::String(text) => vec![text.clone()],
            Value::Array(items) => items
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        }
    };
    let pairs = |keys: &[&str]| -> BTreeMap<String, String> {
        let found = keys
            .iter()
            .filter_map(|key| entry[*key].as_object())
            .flatten();
        let pairs = found.filter_map(|(name, value)| match value {
            Value::String(text) => Some((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Some((name.clone(), value.to_string())),
            _ => None,
        });
        pairs.collect()
    };
    let url = ["url", "httpUrl", "serverUrl"]
        .iter()
        .find_map(|key| entry[*key].as_str())
        .map(str::to_owned);
    let mut command = texts("command");
    command.extend(texts("args"));
    if url.is_none() && command.is_empty() {
        return None;
    }
    let mut headers: BTreeMap<String, String> = pairs(&["headers", "http_headers"]);
    if let Some(variable) = entry["bearer_token_env_var"].as_str() {
        headers.insert(
            "Authorization".to_owned(),
            format!("Bearer ${{{variable}}}"),
        );
    }
    if let Some(variables) = entry["env_http_headers"].as_object() {
        for (name, variable) in variables {
            if let Some(variable) = variable.as_str() {
                headers.insert(name.clone(), format!("${{{variable}}}"));
            }
        }
    }
    Some(FoundServer {
        name: name.to_owned(),
        command: if url.is_some() { Vec::new() } else { command },
        url,
        is_sse: entry["type"] == "sse",
        env: pairs(&["env", "environment"]),
        headers,
    })
}

//! Finds sessions of other programs on this machine.

use osier_base::sort;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::{files_below, lines_of, text};
use osier_base::text::head_bytes;
use osier_protocol::ImportSource;

/// Lines to read for the summary of a file.
const LINES: usize = 200;
/// Maximum bytes of a first prompt.
const PROMPT: usize = 400;

/// The session folders of other programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFolders {
    pub pi: PathBuf,
    pub claude: PathBuf,
    pub codex: PathBuf,
}

impl SourceFolders {
    /// Finds the folders in the way of these programs.
    pub fn new(home: &Path, environment: &BTreeMap<String, String>) -> Self {
        let folder = |variable: &str, usual: &str| {
            let set = environment.get(variable).filter(|path| !path.is_empty());
            set.map_or_else(|| home.join(usual), PathBuf::from)
        };
        Self {
            pi: folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
            claude: folder("CLAUDE_CONFIG_DIR", ".claude").join("projects"),
            codex: folder("CODEX_HOME", ".codex").join("sessions"),
        }
    }

    fn of(&self, source: ImportSource) -> Option<&Path> {
        match source {
            ImportSource::Osier => None,
            ImportSource::Pi => Some(&self.pi),
            ImportSource::Claude => Some(&self.claude),
            ImportSource::Codex => Some(&self.codex),
        }
    }
}

/// A session of another program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignSession {
    pub source: ImportSource,
    pub path: PathBuf,
    /// The working directory; empty when it is unknown.
    pub cwd: String,
    pub first_prompt: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub modified: i64,
    /// Bytes of the file.
    pub size: u64,
}

/// The sessions of one program, most recently used first; with `cwd`, only those of this directory.
pub fn find(
    folders: &SourceFolders,
    source: ImportSource,
    cwd: Option<&Path>,
) -> Vec<ForeignSession> {
    let mut paths = Vec::new();
    if let Some(folder) = folders.of(source) {
        files_below(folder, 5, &mut paths);
    }
    let mut found: Vec<ForeignSession> = paths
        .into_iter()
        .filter_map(|path| describe(source, path))
        .filter(|found| cwd.is_none_or(|cwd| Path::new(&found.cwd) == cwd))
        .collect();
    sort::by(&mut found, |one, other| {
        let newest_first = other.modified.cmp(&one.modified);
        newest_first.then_with(|| one.path.cmp(&other.path))
    });
    found
}

/// The summary of a file; `None` when it contains no prompt.
fn describe(source: ImportSource, path: PathBuf) -> Option<ForeignSession> {
    let metadata = path.metadata().ok()?;
    let modified = metadata.modified().ok()?;
    let modified = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    let mut cwd = String::new();
    let mut prompt = None;
    let mut read = 0;
    lines_of(&path, |_, value| {
        read += 1;
        let Some(value) = value else {
            return read < LINES;
        };
        let inner = value.get("payload").unwrap_or(&value);
        if cwd.is_empty()
            && let Some(place) = text(inner, "cwd")
        {
            place.clone_into(&mut cwd);
        }
        if prompt.is_none() {
            prompt = said(&value).map(|said| head_bytes(said.trim(), PROMPT).to_owned());
        }
        read < LINES && (prompt.is_none() || cwd.is_empty())
    })
    .ok()?;
    prompt.as_ref()?;
    Some(ForeignSession {
        source,
        path,
        cwd,
        first_prompt: prompt,
        modified: i64::try_from(modified.as_millis()).unwrap_or(0),
        size: metadata.len(),
    })
}

/// The user's prompt in a line, unless the program inserted it.
fn said(line: &Value) -> Option<String> {
    let inner = line.get("payload").unwrap_or(line);
    let message = inner
        .get("message")
        .filter(|message| message.is_object())
        .unwrap_or(inner);
    if text(message, "role") != Some("user")
        || line.get("isMeta").and_then(Value::as_bool) == Some(true)
    {
        return None;
    }
    let said = match message.get("content")? {
        Value::String(said) => said.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| text(block, "text"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    let own = said.trim_start();
    (!own.is_empty() && !own.starts_with('<') && !own.starts_with("# AGENTS.md")).then_some(said)
}

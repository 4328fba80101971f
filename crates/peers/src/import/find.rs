//! Finds sessions of other programs on this machine.

use osier_base::sort;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::lines::{lines_of, text};
use super::opencode;
use osier_base::text::head_bytes;
use osier_protocol::ImportSource;

use crate::PeerFolders;

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
    pub opencode: PathBuf,
}

impl SourceFolders {
    /// Finds the folders in the same way as these programs.
    pub fn new(home: &Path, environment: &BTreeMap<String, String>) -> Self {
        let peers = PeerFolders::new(home, environment);
        Self {
            pi: peers.pi.join("sessions"),
            claude: peers.claude.join("projects"),
            codex: peers.codex.join("sessions"),
            opencode: peers.opencode_data,
        }
    }

    fn of(&self, source: ImportSource) -> Option<&Path> {
        match source {
            ImportSource::Osier => None,
            ImportSource::Pi => Some(&self.pi),
            ImportSource::Claude => Some(&self.claude),
            ImportSource::Codex => Some(&self.codex),
            ImportSource::Opencode => Some(&self.opencode),
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
    let listed = match folders.of(source) {
        Some(folder) if source == ImportSource::Opencode => opencode::list(folder),
        Some(folder) => {
            files_below(folder, 5, &mut paths);
            Vec::new()
        }
        None => Vec::new(),
    };
    // The files of subagents belong to the session that started them.
    paths.retain(|path| source != ImportSource::Claude || !is_subagent(path));
    let of_database = listed.into_iter().map(|session| ForeignSession {
        source,
        path: session.path,
        cwd: session.cwd,
        first_prompt: Some(session.title),
        modified: session.modified,
        size: 0,
    });
    let mut found: Vec<ForeignSession> = paths
        .into_iter()
        .filter_map(|path| describe(source, path))
        .chain(of_database)
        .filter(|found| cwd.is_none_or(|cwd| Path::new(&found.cwd) == cwd))
        .collect();
    sort::by(&mut found, |one, other| {
        let newest_first = other.modified.cmp(&one.modified);
        newest_first.then_with(|| one.path.cmp(&other.path))
    });
    found
}

/// Whether the file is the conversation of a subagent of Claude Code.
fn is_subagent(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("agent-")
        || path
            .parent()
            .is_some_and(|folder| folder.ends_with("subagents"))
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
            prompt = typed_prompt(&value).map(|typed| head_bytes(typed.trim(), PROMPT).to_owned());
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
fn typed_prompt(line: &Value) -> Option<String> {
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

/// Files in `folder` up to `depth` directories deep.
fn files_below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = entry.path();
        if kind.is_dir() && depth > 0 {
            files_below(&path, depth - 1, found);
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "jsonl") {
            found.push(path);
        }
    }
}

//! Imports sessions of other programs, and of other osier installations.
//!
//! A reader per format converts lines to entries and counts what it cannot import by kind, with its first
//! line. The source file is never changed. The new session file is created atomically. A session that was
//! already imported is detected by its id, and imported again only on request.

mod blocks;
mod claude;
mod codex;
mod draft;
mod find;
mod numbered_diff;
mod opencode;
mod osier;
mod pi;
mod subagent;
mod tools;

use osier_protocol::{ImportSource, Imported};
use std::fs::{DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use self::find::{ForeignSession, SourceFolders, find};

use self::draft::Draft;
use super::error::TransferError;
use osier_base::pending_file::PendingFile;
use osier_base::{clock, ids, jsonl};
use osier_protocol::Header;
use osier_store::{Reading, SessionDirectory};

/// How a session is imported.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportOptions {
    /// Import a session again, as a separate session.
    pub again: bool,
}

/// Lines to read for format detection.
const FIRST_LINES: usize = 40;
/// Longer lines are skipped; images take some megabytes.
const LINE_LIMIT: u64 = 256 << 20;
/// Maximum number of damaged lines named in a report.
const NAMED: usize = 20;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Imports the file at `path` into the data directory `data`. `cwd` is its working directory if the file
/// contains none.
pub fn import(
    data: &Path,
    cwd: &Path,
    path: &Path,
    options: ImportOptions,
) -> Result<Imported, TransferError> {
    let source = recognise(path)?;
    let mut draft = Draft::new(source);
    match source {
        ImportSource::Osier => osier::read(path, &mut draft)?,
        ImportSource::Pi => each_line(path, &mut draft, pi::Reader::default())?,
        ImportSource::Claude => each_line(path, &mut draft, claude::Reader::new(path))?,
        ImportSource::Codex => each_line(path, &mut draft, codex::Reader::default())?,
        ImportSource::Opencode => opencode::read(path, &mut draft)?,
    }
    if !draft.has_messages() {
        return Err(TransferError::NoMessages {
            path: path.to_owned(),
        });
    }
    let directory = SessionDirectory::new(data);
    let own_id = draft.session_id(path);
    let known = directory.file_of(&own_id);
    let report = draft.report(path);
    if let (Some(path), false) = (&known, options.again) {
        let stored = Reading::open(path)?;
        return Ok(Imported {
            id: own_id,
            path: path.clone(),
            cwd: stored.header().cwd.clone(),
            known: true,
            newer: report.entries.saturating_sub(stored.tree().len()),
            report,
        });
    }
    let mut header = Header::imported(
        if known.is_some() {
            ids::session_id()
        } else {
            own_id.clone()
        },
        draft
            .timestamp
            .clone()
            .unwrap_or_else(|| clock::rfc3339(clock::now_ms())),
        &draft
            .cwd
            .clone()
            .unwrap_or_else(|| cwd.to_string_lossy().into_owned()),
    );
    header.parent_session = known.map(|_| own_id).or_else(|| draft.parent.clone());
    let path = directory.path_for(&header);
    write(&path, &header, &draft)?;
    Ok(Imported {
        id: header.id,
        path,
        cwd: header.cwd,
        known: false,
        newer: 0,
        report,
    })
}

/// Writes the file atomically.
fn write(path: &Path, header: &Header, draft: &Draft) -> Result<(), TransferError> {
    let failed = |error| TransferError::io("write", path, error);
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(folder)
        .map_err(failed)?;
    let pending = PendingFile::create(folder, FILE_MODE).map_err(failed)?;
    let mut file = pending.file();
    let mut lines = Vec::with_capacity(1 << 16);
    jsonl::encode(header, &mut lines)?;
    for entry in &draft.entries {
        jsonl::encode(entry, &mut lines)?;
        if lines.len() > 1 << 20 {
            file.write_all(&lines).map_err(failed)?;
            lines.clear();
        }
    }
    file.write_all(&lines).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    pending.persist_new(path).map_err(failed)?;
    Ok(())
}

/// One format.
trait Read {
    /// Handles the value of one line.
    fn line(&mut self, value: Value, draft: &mut Draft);

    /// The end of the file.
    fn end(&mut self, _draft: &mut Draft) {}
}

fn each_line(path: &Path, draft: &mut Draft, mut reader: impl Read) -> Result<(), TransferError> {
    lines_of(path, |number, value| {
        draft.line = number;
        match value {
            Some(value) => reader.line(value, draft),
            None => draft.damaged(),
        }
        true
    })?;
    reader.end(draft);
    Ok(())
}

/// Calls `take` with the number and value of every non-empty line until it returns false; the value is `None`
/// for invalid JSON.
fn lines_of(
    path: &Path,
    mut take: impl FnMut(u64, Option<Value>) -> bool,
) -> Result<(), TransferError> {
    let failed = |error| TransferError::io("read", path, error);
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(TransferError::Unrecognised {
            path: path.to_owned(),
            reason: "it is not a regular file".to_owned(),
        });
    }
    let mut lines = jsonl::Lines::new(file);
    let mut number = 0;
    while let Some(line) = lines.next_within(LINE_LIMIT).map_err(failed)? {
        number += 1;
        let bytes = line.bytes.trim_ascii();
        if bytes.is_empty() {
            continue;
        }
        let value = serde_json::from_slice::<Value>(bytes).ok();
        if !take(number, value.filter(Value::is_object)) {
            break;
        }
    }
    Ok(())
}

/// The program that wrote the file, detected from its first lines.
pub(super) fn recognise(path: &Path) -> Result<ImportSource, TransferError> {
    if opencode::is_session(path) {
        return Ok(ImportSource::Opencode);
    }
    let mut source = None;
    let mut looked = 0;
    lines_of(path, |_, value| {
        looked += 1;
        source = value.as_ref().and_then(source_of);
        source.is_none() && looked < FIRST_LINES
    })?;
    source.ok_or_else(|| TransferError::Unrecognised {
        path: path.to_owned(),
        reason: match looked {
            0 => "it is empty".to_owned(),
            _ => "its first lines match none of these formats".to_owned(),
        },
    })
}

fn source_of(line: &Value) -> Option<ImportSource> {
    let text = |name: &str| line.get(name).and_then(Value::as_str);
    let kind = text("type");
    match kind {
        Some("osier_session") => Some(ImportSource::Osier),
        Some("session") => match line.get("version").and_then(Value::as_u64) {
            Some(1) => Some(ImportSource::Osier),
            // The first version of pi's format has no number.
            _ => Some(ImportSource::Pi),
        },
        Some("session_meta" | "response_item" | "event_msg" | "turn_context") => {
            Some(ImportSource::Codex)
        }
        _ if line.get("sessionId").is_some() || line.get("leafUuid").is_some() => {
            Some(ImportSource::Claude)
        }
        None if line.get("instructions").is_some() && line.get("id").is_some() => {
            Some(ImportSource::Codex)
        }
        _ => None,
    }
}

/// The text of a member.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
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

//! One import: from a file of another program to a session file of osier.

use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use osier_base::pending_file::PendingFile;
use osier_base::{clock, ids, jsonl};
use osier_protocol::{Header, ImportSource, Imported};
use osier_store::{Reading, SessionDirectory};
use serde_json::Value;

use super::draft::Draft;
use super::error::ImportError;
use super::lines::{each_line, lines_of};
use super::{claude, codex, opencode, osier, pi};

/// How a session is imported.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportOptions {
    /// Import a session again, as a separate session.
    pub again: bool,
}

/// Lines to read for format detection.
const FIRST_LINES: usize = 40;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Imports the file at `path` into the data directory `data`. `cwd` is its working directory if the file
/// contains none.
pub fn import(
    data: &Path,
    cwd: &Path,
    path: &Path,
    options: ImportOptions,
) -> Result<Imported, ImportError> {
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
        return Err(ImportError::NoMessages {
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
fn write(path: &Path, header: &Header, draft: &Draft) -> Result<(), ImportError> {
    let failed = |error| ImportError::io("write", path, error);
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

/// The program that wrote the file, detected from its first lines.
fn recognise(path: &Path) -> Result<ImportSource, ImportError> {
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
    source.ok_or_else(|| ImportError::Unrecognised {
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

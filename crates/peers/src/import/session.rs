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

/// Imports the file at `path` into the data directory `data`. `cwd` is the working directory of the
/// session if the file contains none.
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
        // Without its header, a file is known by its first prompt.
        Some("message") if line.get("parentId").is_some() => {
            let message = line.get("message")?;
            let has = |name: &str| message.get(name).is_some();
            match message.get("role").and_then(Value::as_str) {
                Some("user") if has("text") => Some(ImportSource::Osier),
                Some("user") if has("content") => Some(ImportSource::Pi),
                _ => None,
            }
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

#[cfg(test)]
mod tests {
    use osier_agent::AgentMessage;
    use osier_store::load;
    use serde_json::json;

    use super::*;

    /// Imports the lines. Returns the text of each message, each a child of the previous one, and
    /// the report.
    fn imported(name: &str, lines: &[Vec<u8>]) -> (Vec<String>, Vec<u64>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        let mut pending = std::fs::File::create(&file).unwrap();
        for line in lines {
            pending.write_all(line).unwrap();
            pending.write_all(b"\n").unwrap();
        }
        let options = ImportOptions::default();
        let found = import(folder.path(), Path::new("/p"), &file, options).unwrap();
        let loaded = load(&found.path).unwrap();
        let mut texts = Vec::new();
        let mut last = None;
        for entry in &loaded.entries {
            if let Some(message) = entry.kind.as_message() {
                assert_eq!(entry.parent_id, last, "{}", message.text());
                texts.push(AgentMessage::text(message));
                last = Some(entry.id.clone());
            }
        }
        let dropped = found.report.dropped.iter();
        let dropped = dropped.map(|dropped| format!("{} ({})", dropped.what, dropped.line));
        (texts, found.report.damaged_lines, dropped.collect())
    }

    fn claude(id: &str, parent: Option<&str>, text: &str) -> Vec<u8> {
        let is_answer = id.starts_with('a');
        let message = if is_answer {
            json!({"id": format!("m{id}"), "role": "assistant", "content": [{"type": "text", "text": text}]})
        } else {
            json!({"role": "user", "content": text})
        };
        let line = json!({"parentUuid": parent, "sessionId": "11111111-2222-4333-8444-555555555555", "cwd": "/p",
            "type": if is_answer { "assistant" } else { "user" }, "message": message, "uuid": id});
        line.to_string().into_bytes()
    }

    fn four() -> [Vec<u8>; 4] {
        [
            claude("u1", None, "one"),
            claude("a1", Some("u1"), "two"),
            claude("u2", Some("a1"), "three"),
            claude("a2", Some("u2"), "four"),
        ]
    }

    const GAP: &str = "links to a missing line, replaced by the line before";

    #[test]
    fn a_damaged_line_of_claude_code_costs_itself() {
        let all = ["one", "two", "three", "four"].map(str::to_owned).to_vec();
        let without = |index: usize| {
            let mut left = all.clone();
            left.remove(index);
            left
        };
        let half = |line: &[u8]| line[..line.len() / 2].to_vec();
        // The cut leaves half of a line, a half line joined with the next one, or a half line at
        // the beginning.
        for cut in [0, 1, 2] {
            let mut lines = four().to_vec();
            lines[cut] = half(&lines[cut]);
            let gap = if cut == 0 {
                vec![]
            } else {
                vec![format!("{GAP} ({})", cut + 2)]
            };
            assert_eq!(
                imported("a.jsonl", &lines),
                (without(cut), vec![cut as u64 + 1], gap)
            );
        }
        let [one, two, three, four_] = four();
        let glued = [half(&three), four_].concat();
        let found = imported("a.jsonl", &[one.clone(), two.clone(), glued]);
        assert_eq!(found, (without(2), vec![3], vec![format!("{GAP} (3)")]));
        let [_, _, three, four_] = four();
        let found = imported("a.jsonl", &[one, two, [three, four_].concat()]);
        assert_eq!(found, (all, vec![3], vec![]));
    }

    #[test]
    fn odd_lines_of_claude_code_are_read() {
        let surrogate = String::from_utf8(claude("u2", Some("a1"), "x SIGN y")).unwrap();
        let [one, two, _, four_] = four();
        let marked = [b"\xef\xbb\xbf".to_vec(), one.clone()].concat();
        let lines = [
            marked,
            two.clone(),
            surrogate.replace("SIGN", "\\ud83d").into(),
            four_,
        ];
        let (texts, damaged, dropped) = imported("a.jsonl", &lines);
        assert_eq!(texts, ["one", "two", "x \u{fffd} y", "four"]);
        assert_eq!((damaged, dropped), (vec![], vec![]));
        // An unknown parent, and two lines with one id.
        let lines = [
            one,
            two,
            claude("u2", Some("ghost"), "three"),
            claude("u2", Some("u2"), "again"),
            claude("a2", Some("u2"), "four"),
        ];
        let (texts, damaged, dropped) = imported("a.jsonl", &lines);
        assert_eq!(texts, ["one", "two", "three", "again", "four"]);
        assert_eq!((damaged, dropped), (vec![], vec![format!("{GAP} (3)")]));
    }

    #[test]
    fn a_file_without_its_header_is_recognised() {
        let message = |id: &str, parent: Option<&str>, message: Value| {
            let line = json!({"id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "type": "message",
                "message": message});
            line.to_string().into_bytes()
        };
        let osier = [
            b"{\"type\": \"osier_session\", \"version\": 1, \"id\": \"01a".to_vec(),
            message(
                "u0000001",
                None,
                json!({"role": "user", "text": "one", "timestamp": 1}),
            ),
            message(
                "u0000002",
                Some("u0000001"),
                json!({"role": "user", "text": "two", "timestamp": 1}),
            ),
        ];
        assert_eq!(imported("own.jsonl", &osier).0, ["one", "two"]);
        let pi = [
            b"{\"type\": \"sess".to_vec(),
            message(
                "u0000001",
                None,
                json!({"role": "user", "content": "one", "timestamp": 1}),
            ),
            message(
                "u0000002",
                Some("ghost"),
                json!({"role": "user", "content": "two", "timestamp": 1}),
            ),
        ];
        let (texts, damaged, dropped) = imported("pi.jsonl", &pi);
        assert_eq!(texts, ["one", "two"]);
        assert_eq!((damaged, dropped), (vec![1], vec![format!("{GAP} (3)")]));
    }
}

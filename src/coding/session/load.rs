//! Reads a session file as it is, whatever happened to it.
//!
//! One bad line costs that line: a torn end is left out, damage is skipped and counted, an entry whose
//! parent is gone hangs on the entry before it. Reading changes nothing; repairs wait for the next
//! write (`log_file`).

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use super::draft;
use super::entry::{Entry, EntryKind, Header, VERSION};
use super::error::SessionError;
use super::lock;
use crate::base::jsonl::{Line, Lines};
use crate::base::{clock, ids};

/// A first line longer than this is no header.
const HEADER_LIMIT: u64 = 1 << 20;

/// What a session file holds.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub header: Header,
    /// In file order; every parent stands before its children. `Leaf` entries are among them.
    pub entries: Vec<Entry>,
    /// Where the session was left; `None` before every root.
    pub leaf: Option<String>,
    /// Lines that could not be read, or only in part.
    pub damaged: usize,
    /// Entries whose parent was missing and that hang on the entry before them now.
    pub reattached: usize,
    /// Bytes of a record at the end whose write did not finish.
    pub torn_bytes: u64,
    /// Id of the entry, last in `entries`, that holds the answer a crash interrupted.
    pub recovered_draft: Option<String>,
    pub(super) length: u64,
    pub(super) tail: Tail,
}

/// What stands at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// A newline.
    Whole,
    /// A whole record without its newline.
    Unterminated,
    /// The start of a record, from `length` on.
    Torn,
}

/// Reads the session at `path` without taking its lock. The draft of an answer is recovered unless
/// another process is still writing it.
pub fn load(path: &Path) -> Result<Loaded, SessionError> {
    let file = File::open(path).map_err(|error| SessionError::io("open", path, error))?;
    let with_draft = !lock::is_held(&file);
    read(&file, path, with_draft)
}

/// Reads `file`, which is open at its start and found at `path`.
pub(super) fn read(file: &File, path: &Path, with_draft: bool) -> Result<Loaded, SessionError> {
    let failed = |error| SessionError::io("read", path, error);
    let not_a_session = |reason: &str| SessionError::NotASession {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(not_a_session("it is not a regular file"));
    }
    let mut lines = Lines::new(file);
    let first = lines
        .next_within(HEADER_LIMIT)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => not_a_session("its first line is no header"),
            _ => failed(error),
        })?
        .ok_or_else(|| not_a_session("it is empty"))?;
    let header = serde_json::from_slice::<Header>(first.bytes).ok();
    let mut reading = Reading::new(header.as_ref(), &first);
    while let Some(line) = lines.next().map_err(failed)? {
        reading.line(&line);
    }
    let header = match header {
        Some(header) => header,
        // One bad line costs that line, even the first: the file's name says most of it.
        None if !reading.entries.is_empty() => {
            header_from_name(path).ok_or_else(|| not_a_session("its first line is no header"))?
        }
        None => return Err(not_a_session("its first line is no header")),
    };
    let mut loaded = reading.finish(header);
    if with_draft {
        recover_draft(&mut loaded, path);
    }
    Ok(loaded)
}

struct Reading {
    entries: Vec<Entry>,
    /// Ids an entry may name as its parent.
    nodes: HashSet<String>,
    last_node: Option<String>,
    leaf: Option<String>,
    damaged: usize,
    reattached: usize,
    length: u64,
    torn_bytes: u64,
    tail: Tail,
    newer: bool,
}

impl Reading {
    fn new(header: Option<&Header>, first: &Line<'_>) -> Self {
        let mut reading = Self {
            entries: Vec::new(),
            nodes: HashSet::new(),
            last_node: None,
            leaf: None,
            damaged: usize::from(header.is_none()),
            reattached: 0,
            length: 0,
            torn_bytes: 0,
            tail: Tail::Whole,
            newer: header.is_some_and(|header| header.version > VERSION),
        };
        reading.end_of(first);
        if header.is_none() {
            for entry in salvage(first.bytes) {
                reading.accept(entry);
            }
        }
        reading
    }

    fn line(&mut self, line: &Line<'_>) {
        if let Ok(entry) = Entry::parse(line.bytes) {
            self.accept(entry);
        } else if line.terminated && line.bytes.trim_ascii().is_empty() {
            // An empty line says nothing and harms nothing.
        } else {
            let saved = salvage(line.bytes);
            if saved.is_empty() && !line.terminated {
                self.tail = Tail::Torn;
                self.torn_bytes = line.bytes.len() as u64;
                return;
            }
            self.damaged += 1;
            for entry in saved {
                self.accept(entry);
            }
        }
        self.end_of(line);
    }

    fn end_of(&mut self, line: &Line<'_>) {
        self.length = line.offset + line.bytes.len() as u64 + u64::from(line.terminated);
        self.tail = if line.terminated {
            Tail::Whole
        } else {
            Tail::Unterminated
        };
    }

    fn accept(&mut self, mut entry: Entry) {
        if self.nodes.contains(&entry.id) {
            self.damaged += 1;
            return;
        }
        if entry.kind.is_damaged() && !self.newer {
            self.damaged += 1;
        }
        if let EntryKind::Leaf { target_id } = &entry.kind {
            match target_id {
                Some(target) if !self.nodes.contains(target) => self.reattached += 1,
                target => self.leaf.clone_from(target),
            }
            self.entries.push(entry);
            return;
        }
        if let Some(parent) = &entry.parent_id
            && !self.nodes.contains(parent)
        {
            self.reattached += 1;
            entry.parent_id.clone_from(&self.last_node);
        }
        self.nodes.insert(entry.id.clone());
        self.last_node = Some(entry.id.clone());
        self.leaf = Some(entry.id.clone());
        self.entries.push(entry);
    }

    fn finish(self, header: Header) -> Loaded {
        Loaded {
            header,
            entries: self.entries,
            leaf: self.leaf,
            damaged: self.damaged,
            reattached: self.reattached,
            torn_bytes: self.torn_bytes,
            recovered_draft: None,
            length: self.length,
            tail: self.tail,
        }
    }
}

/// Whole entries inside a line that is none: two records whose newline was lost, or a good one behind
/// a torn one. Inside of strings their quotes would be escaped, so text is not taken for an entry.
fn salvage(line: &[u8]) -> Vec<Entry> {
    const START: &[u8] = b"{\"id\":\"";
    const AFTER_ID: &[u8] = b"\",\"parentId\":";
    const ID: usize = 8;
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = line.get(at..)
        && rest.len() > START.len() + ID + AFTER_ID.len()
    {
        let looks_right = rest.starts_with(START) && rest[START.len() + ID..].starts_with(AFTER_ID);
        at += match looks_right.then(|| first_entry(rest)).flatten() {
            Some((entry, length)) => {
                found.push(entry);
                length
            }
            None => 1,
        };
    }
    found
}

fn first_entry(bytes: &[u8]) -> Option<(Entry, usize)> {
    let mut values =
        serde_json::Deserializer::from_slice(bytes).into_iter::<&serde_json::value::RawValue>();
    let raw = values.next()?.ok()?;
    let entry = Entry::parse(raw.get().as_bytes()).ok()?;
    Some((entry, raw.get().len()))
}

/// The header that `<timestamp>_<uuid>.jsonl` speaks of, without a directory.
pub(super) fn header_from_name(path: &Path) -> Option<Header> {
    let (stamp, id) = path.file_stem()?.to_str()?.rsplit_once('_')?;
    let id = uuid::Uuid::try_parse(id).ok()?;
    let (date, time) = stamp.split_once('T')?;
    let time = time.replacen('-', ":", 2).replacen('-', ".", 1);
    let id = id.hyphenated().to_string();
    Some(Header::with_id(id, format!("{date}T{time}"), Path::new("")))
}

fn recover_draft(loaded: &mut Loaded, path: &Path) {
    let Some(message) = draft::recover(path, &loaded.entries) else {
        return;
    };
    let id = loop {
        let id = ids::entry_id();
        if loaded.entries.iter().all(|entry| entry.id != id) {
            break id;
        }
    };
    loaded.entries.push(Entry {
        id: id.clone(),
        parent_id: loaded.leaf.replace(id.clone()),
        timestamp: clock::rfc3339(clock::now_ms()),
        kind: EntryKind::message(crate::agent::AgentMessage::Assistant(message)),
    });
    loaded.recovered_draft = Some(id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_header_is_read_from_the_name() {
        let name = "2026-01-02T03-04-05-678Z_0199b3c4-0000-7000-8000-000000000001.jsonl";
        assert_eq!(
            header_from_name(Path::new(name)),
            Some(Header::with_id(
                "0199b3c4-0000-7000-8000-000000000001".into(),
                "2026-01-02T03:04:05.678Z".into(),
                Path::new("")
            ))
        );
        assert_eq!(header_from_name(Path::new("notes.jsonl")), None);
    }

    #[test]
    fn entries_are_saved_from_lines_glued_together() {
        let entry = |id: &str, text: &str| {
            format!(
                r#"{{"id":"{id}","parentId":null,"timestamp":"t","type":"session_info","name":{}}}"#,
                serde_json::Value::from(text)
            )
        };
        let inner = entry("00000009", "inner");
        let glued = format!("{}J{}", entry("00000001", &inner), entry("00000002", "b"));
        let ids = |line: &str| {
            let found = salvage(line.as_bytes());
            found.into_iter().map(|entry| entry.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&glued), ["00000001", "00000002"]);
        let torn = &entry("00000001", &inner)[..60];
        assert_eq!(
            ids(&format!("{torn}{}", entry("00000002", "b"))),
            ["00000002"]
        );
        assert_eq!(ids(torn), [""; 0]);
    }
}

//! Reads a session file in any condition.
//!
//! A bad line costs only that line: a torn end is ignored, damage is skipped and counted, and an entry with a missing
//! parent is attached to the entry before it. Reading changes nothing; the next write repairs the file (`log_file`).
//!
//! The index is built from the starts of the lines (`envelope`); only unusual lines are parsed completely. Damage
//! inside a line is found when its entry is read.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem;

use super::entry_reader::{Location, Record};
use super::envelope::{Envelope, START, begins};
use super::error::SessionError;
use super::key::Key;
use super::lines::{Line, Lines};
use super::log_file::Tail;
use super::parts::{self, FoundLine};
use super::tree::SessionTree;
use super::{draft, lock};
use osier_base::{clock, ids, regular_file};
use osier_llm::Usage;
use osier_protocol::{Entry, EntryKind, Header, Tag, VERSION};

/// Maximum bytes of a header line.
pub(super) const HEADER_LIMIT: usize = 1 << 20;

/// Typical bytes of an entry, to estimate their number.
const USUAL_LENGTH: u64 = 1500;

/// The complete contents of a session file.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub header: Header,
    /// In file order; parents precede their children. Includes `Leaf` entries.
    pub entries: Vec<Entry>,
    /// The current leaf; `None` before every root.
    pub leaf: Option<String>,
    /// Lines that were unreadable, completely or in part.
    pub damaged: usize,
    /// The numbers of the first damaged lines.
    pub damaged_lines: Vec<u64>,
    /// Entries with a missing parent, now attached to the entry before them.
    pub reattached: usize,
    /// Bytes of an incomplete record at the end.
    pub torn_bytes: u64,
    /// Id of the last entry if it is an interrupted answer, recovered from its draft.
    pub recovered_draft: Option<String>,
}

/// The damage and the gaps found while the index was built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Lines that contain no entry, or only part of one. Damage inside an entry's text is not included: it is found
    /// when the entry is read.
    pub damaged: usize,
    /// The numbers of the first damaged lines.
    pub damaged_lines: Vec<u64>,
    pub reattached: usize,
    pub torn_bytes: u64,
    pub recovered_draft: Option<String>,
}

impl Findings {
    fn damage(&mut self, line: u64) {
        self.damaged += 1;
        if self.damaged_lines.len() < NAMED && self.damaged_lines.last() != Some(&line) {
            self.damaged_lines.push(line);
        }
    }
}

/// Damaged lines that are known by their number.
const NAMED: usize = 20;

/// The index of a file.
#[derive(Debug)]
pub(super) struct Scan {
    pub header: Header,
    pub tree: SessionTree,
    pub findings: Findings,
    /// Bytes up to the end of the last complete record.
    pub length: u64,
    pub tail: Tail,
    /// The header has a newer version: unknown entries are not damage.
    newer: bool,
}

/// Reads the session at `path` without locking it. Recovers the draft of an answer unless another process still
/// writes it.
pub fn load(path: &Path) -> Result<Loaded, SessionError> {
    let scan = scan_unlocked(path)?;
    let newer = scan.newer;
    Ok(read_all(scan.header, &scan.tree, scan.findings, newer))
}

/// Builds the index of the session at `path` without locking it, with the draft of an answer unless another process
/// still writes it.
pub(super) fn scan_unlocked(path: &Path) -> Result<Scan, SessionError> {
    let file =
        regular_file::open_plain(path).map_err(|error| SessionError::io("open", path, error))?;
    let with_draft = !lock::is_locked(&file);
    let mut scan = scan(&file, path, &AtomicBool::new(false))?;
    if with_draft {
        scan.recover_draft(path);
    }
    Ok(scan)
}

/// Reads every entry of the index. Skips and counts damaged ones.
pub(super) fn read_all(
    header: Header,
    tree: &SessionTree,
    findings: Findings,
    newer: bool,
) -> Loaded {
    let mut damaged = findings.damaged;
    let read =
        |number: u32| -> Option<Entry> { tree.entry_reader().try_read(&tree.record(number)) };
    let mut entries = Vec::with_capacity(tree.records() as usize);
    for number in 0..tree.records() {
        match read(number) {
            Some(entry) => {
                // Lines of other kinds were parsed completely during the scan.
                let known = tree.tag(number) != Tag::Other;
                damaged += usize::from(known && entry.kind.is_damaged() && !newer);
                entries.push(entry);
            }
            None => damaged += 1,
        }
    }
    Loaded {
        header,
        entries,
        leaf: tree.leaf(),
        damaged,
        damaged_lines: findings.damaged_lines,
        reattached: findings.reattached,
        torn_bytes: findings.torn_bytes,
        recovered_draft: findings.recovered_draft,
    }
}

/// Builds the index of `file`, located at `path`. Returns `Closed` once `stop` is set.
pub(super) fn scan(file: &File, path: &Path, stop: &AtomicBool) -> Result<Scan, SessionError> {
    let failed = |error| SessionError::io("read", path, error);
    let not_a_session = |reason: &str| SessionError::NotASession {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(not_a_session("it is not a regular file"));
    }
    let mut lines = Lines::new(file);
    let first = lines
        .next_line_within(HEADER_LIMIT)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => {
                not_a_session("its first line is not a session header")
            }
            _ => failed(error),
        })?
        .ok_or_else(|| not_a_session("it is empty"))?;
    let header = Header::parse(first.bytes).ok();
    let mut reading = Reading::new(header.as_ref(), &first);
    reading.tree.entry_reader().open(path);
    reading
        .tree
        .reserve((metadata.len() / USUAL_LENGTH) as usize);
    let rest = (lines.position(), metadata.len());
    let read = parts::lines(file, rest, stop, &mut |line| reading.line(file, line));
    if stop.load(Ordering::Relaxed) {
        return Err(SessionError::Closed);
    }
    read.map_err(failed)?;
    reading.ends_at(metadata.len());
    let header = match header {
        Some(header) => header,
        // Even a damaged header costs only itself: the file name has most of it.
        None if reading.tree.records() > 0 => {
            header_from_name(path).unwrap_or_else(|| header_from_entries(&reading.tree))
        }
        None => return Err(not_a_session("its first line is not a session header")),
    };
    Ok(reading.finish(header))
}

struct Reading {
    tree: SessionTree,
    /// Number of the current line.
    number: u64,
    /// Entries whose id an earlier entry has, by this id.
    second: HashMap<Key, u32>,
    last_node: Option<u32>,
    findings: Findings,
    length: u64,
    tail: Tail,
    newer: bool,
}

impl Reading {
    fn new(header: Option<&Header>, first: &Line<'_>) -> Self {
        let mut reading = Self {
            tree: SessionTree::default(),
            last_node: None,
            number: 1,
            second: HashMap::new(),
            findings: Findings::default(),
            length: 0,
            tail: Tail::Whole,
            newer: header.is_some_and(|header| header.version > VERSION),
        };
        reading.end_of(first);
        if header.is_none() {
            reading.findings.damage(1);
            reading.salvage(first);
        }
        reading
    }

    fn line(&mut self, file: &File, line: FoundLine) -> io::Result<()> {
        self.number += 1;
        match line {
            // The most common case.
            FoundLine::Entry {
                offset,
                length,
                envelope,
                usage,
            } => {
                self.index_start(envelope, usage.as_deref(), stored(offset, length));
                (self.length, self.tail) = (offset + length as u64 + 1, Tail::Whole);
            }
            FoundLine::Unusual {
                offset,
                length,
                terminated,
            } => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, offset)?;
                self.unusual(&Line {
                    offset,
                    bytes: &bytes,
                    terminated,
                });
            }
            FoundLine::TooLong { end } => {
                self.findings.damage(self.number);
                (self.length, self.tail) = (end, Tail::Whole);
            }
        }
        Ok(())
    }

    fn unusual(&mut self, line: &Line<'_>) {
        if let Ok(entry) = Entry::parse(line.bytes) {
            self.accept(&entry, stored(line.offset, line.bytes.len()));
        } else if line.terminated && line.bytes.trim_ascii().is_empty() {
            // An empty line is harmless.
        } else {
            let found = self.salvage(line);
            if !found && !line.terminated {
                self.tail = Tail::Torn;
                self.findings.torn_bytes = line.bytes.len() as u64;
                return;
            }
            self.findings.damage(self.number);
        }
        self.end_of(line);
    }

    /// The rest of a file of `size` bytes was too long to be read.
    fn ends_at(&mut self, size: u64) {
        if self.length < size && !matches!(self.tail, Tail::Torn) {
            self.tail = Tail::Torn;
            self.findings.torn_bytes = size - self.length;
        }
    }

    /// Indexes an entry by the start of its line.
    fn index_start(&mut self, start: Envelope, usage: Option<&Usage>, location: Location) {
        let Envelope { key, parent, tag } = start;
        let Some(free) = self.free_key(key, &location) else {
            return;
        };
        let parent = self.parent(parent);
        if free != key {
            self.tree.alter_next();
            self.second.insert(key, self.tree.records());
        }
        self.last_node = Some(self.tree.push(free, parent, tag, location));
        if let Some(usage) = usage {
            self.tree.add_usage(*usage);
        }
    }

    /// The parent's number. A missing parent is replaced by the entry before.
    fn parent(&mut self, parent: Option<Key>) -> Option<u32> {
        let parent = parent?;
        let second = self.second.get(&parent).copied();
        let found = second.or_else(|| self.tree.node(parent));
        if found.is_none() {
            self.findings.reattached += 1;
            self.tree.alter_next();
            return self.last_node;
        }
        if second.is_some() {
            self.tree.alter_next();
        }
        found
    }

    fn end_of(&mut self, line: &Line<'_>) {
        self.length = line.offset + line.bytes.len() as u64 + u64::from(line.terminated);
        self.tail = if line.terminated {
            Tail::Whole
        } else {
            Tail::Unterminated
        };
    }

    /// Indexes an entry that was parsed completely.
    fn accept(&mut self, entry: &Entry, location: Location) {
        let own = self.tree.keys().key(&entry.id);
        let Some(key) = self.free_key(own, &location) else {
            return;
        };
        if entry.kind.is_damaged() && !self.newer {
            self.findings.damage(self.number);
        }
        let parent = entry
            .parent_id
            .as_deref()
            .map(|id| self.tree.keys().key(id));
        if let EntryKind::Leaf {
            target_id,
            before_id,
            jump,
        } = &entry.kind
        {
            let target = target_id.as_deref().map(|id| self.tree.keys().key(id));
            let number = target.and_then(|key| self.tree.node(key));
            self.tree.push(key, None, Tag::Leaf, location);
            if target.is_some() && number.is_none() {
                self.findings.reattached += 1;
            } else {
                self.tree.jump_to(number, before_id.as_deref(), *jump);
            }
            return;
        }
        let parent = self.parent(parent);
        self.last_node = Some(self.tree.records());
        if key == own {
            self.tree.add_entry(entry, parent, location);
            return;
        }
        self.tree.alter_next();
        self.second.insert(own, self.tree.records());
        let renamed = Entry {
            id: self.tree.keys().text(key),
            ..entry.clone()
        };
        self.tree.add_entry(&renamed, parent, location);
    }

    /// The key of an entry: another one if an earlier entry has its id. `None` for a copy of that entry's line.
    fn free_key(&mut self, key: Key, location: &Location) -> Option<Key> {
        if !self.tree.has(key) {
            return Some(key);
        }
        self.findings.damage(self.number);
        let first = self.tree.record_of(key)?;
        let Location::Stored { offset, .. } = *location else {
            return None;
        };
        let reader = self.tree.entry_reader();
        let copy = Record {
            location: location.clone(),
            ..first.clone()
        };
        if reader.line(&first) == reader.line(&copy) {
            return None;
        }
        // The same file gives the same ids: later entries name them.
        (0..=u64::MAX - offset)
            .map(|round| Key::derived(key, offset + round))
            .find(|key| !self.tree.has(*key))
    }

    /// Indexes complete entries within a malformed line: two records without a newline between them, or a good one
    /// after a torn one. Returns whether there are any.
    fn salvage(&mut self, line: &Line<'_>) -> bool {
        let found = salvage(line.bytes);
        for Salvaged {
            entry,
            offset,
            length,
        } in &found
        {
            // Its neighbours in the file are not lines.
            self.tree.alter_next();
            self.accept(entry, stored(line.offset + *offset as u64, *length));
        }
        !found.is_empty()
    }

    fn finish(mut self, header: Header) -> Scan {
        self.tree.settle();
        self.tree.forget_deleted();
        self.tree.shrink();
        Scan {
            header,
            tree: self.tree,
            findings: self.findings,
            length: self.length,
            tail: self.tail,
            newer: self.newer,
        }
    }
}

fn stored(offset: u64, length: usize) -> Location {
    // A line over four gigabytes is cut; reading it reports damage.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    Location::Stored { offset, length }
}

/// A complete entry within a malformed line.
struct Salvaged {
    entry: Entry,
    /// Bytes before it in the line.
    offset: usize,
    length: usize,
}

/// The complete entries in a line. Quotes within strings are escaped, so text cannot match.
fn salvage(line: &[u8]) -> Vec<Salvaged> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = line.get(at..)
        && let Some(start) = memmem::find(rest, START)
    {
        at += start;
        at += match first_entry(&line[at..]) {
            Some((entry, length)) => {
                found.push(Salvaged {
                    entry,
                    offset: at,
                    length,
                });
                length
            }
            None => 1,
        };
    }
    found
}

fn first_entry(bytes: &[u8]) -> Option<(Entry, usize)> {
    if !begins(bytes) {
        return None;
    }
    let mut values =
        serde_json::Deserializer::from_slice(bytes).into_iter::<&serde_json::value::RawValue>();
    let raw = values.next()?.ok()?;
    let entry = Entry::parse(raw.get().as_bytes()).ok()?;
    Some((entry, raw.get().len()))
}

/// The header of a file with a damaged one and another name: its id is made from the first entry, so that it stays the same.
fn header_from_entries(tree: &SessionTree) -> Header {
    let first = tree.read(0);
    let keys = (0..2).map(|salt| Key::derived(tree.key(0), salt).bits().to_be_bytes());
    let mut bytes = [0; 16];
    for (byte, from) in bytes.iter_mut().zip(keys.flatten()) {
        *byte = from;
    }
    let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
    Header::with_id(id.hyphenated().to_string(), first.timestamp, Path::new(""))
}

/// The header that a file name `<timestamp>_<uuid>.jsonl` implies, without a directory.
pub fn header_from_name(path: &Path) -> Option<Header> {
    let (stamp, id) = path.file_stem()?.to_str()?.rsplit_once('_')?;
    let id = uuid::Uuid::try_parse(id).ok()?;
    let (date, time) = stamp.split_once('T')?;
    let time = time.replacen('-', ":", 2).replacen('-', ".", 1);
    let id = id.hyphenated().to_string();
    Some(Header::with_id(id, format!("{date}T{time}"), Path::new("")))
}

impl Scan {
    /// Adds the interrupted answer as an entry under the leaf; it stays in memory until the next write.
    pub(super) fn recover_draft(&mut self, path: &Path) {
        let Some(message) = draft::recover(path, &self.tree) else {
            return;
        };
        let id = loop {
            let id = ids::entry_id();
            if !Key::plain(id.as_bytes()).is_some_and(|key| self.tree.has(key)) {
                break id;
            }
        };
        self.tree.insert(Entry {
            id: id.clone(),
            parent_id: self.tree.leaf(),
            timestamp: clock::rfc3339(clock::now_ms()),
            kind: EntryKind::message(osier_agent::AgentMessage::Assistant(message)),
        });
        self.findings.recovered_draft = Some(id);
    }

    /// The last entry, if it was recovered from a draft.
    pub(super) fn recovered(&self) -> Option<Entry> {
        let id = self.findings.recovered_draft.as_deref()?;
        self.tree.get(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_header_is_read_from_the_file_name() {
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
    fn entries_are_recovered_from_joined_lines() {
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
            found
                .into_iter()
                .map(|salvaged| salvaged.entry.id)
                .collect::<Vec<_>>()
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

//! Copies one branch into a new session.
//!
//! Ids and times stay, so that references within the branch remain valid. Labels move to the end. A reference to a
//! dropped entry points to the next remaining one.
//!
//! An entry that stays as it is is not read: the system copies the bytes of its line, together with those of its
//! neighbours.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use super::entry_reader::Location;
use super::error::SessionError;
use super::log_file::LogFile;
use super::tree::SessionTree;
use osier_base::{ids, jsonl};
use osier_protocol::{Entry, EntryKind, Header, Jump, Tag};

/// An entry of the copy.
#[derive(Debug)]
enum Part {
    /// The line of this entry of the source, unchanged.
    Line(u32),
    /// An entry with another parent or reference, or a new one.
    Entry(Box<Entry>),
}

impl Part {
    fn id(&self, source: &SessionTree) -> String {
        match self {
            Self::Line(number) => source.id(*number),
            Self::Entry(entry) => entry.id.clone(),
        }
    }

    /// The number of the entry in the source.
    fn number(&self, source: &SessionTree) -> Option<u32> {
        match self {
            Self::Line(number) => Some(*number),
            Self::Entry(entry) => source.number(&entry.id),
        }
    }

    fn tag(&self, source: &SessionTree) -> Tag {
        match self {
            Self::Line(number) => source.tag(*number),
            Self::Entry(entry) => Tag::of(&entry.kind),
        }
    }
}

/// Writes the branch that ends in `leaf` to a new session at `path`. `files` is the entry whose files belong to the end of
/// the branch. `header` is the new session's header; its `parent_session` names the source. Blocks.
///
/// The first prompt of the copy syncs it to disk: until then, the source has all of it.
pub fn fork(
    source: &SessionTree,
    (leaf, files): (Option<&str>, Option<&str>),
    path: PathBuf,
    header: &Header,
) -> Result<(), SessionError> {
    let parts = with_checkpoints(source, branch(source, leaf), files);
    let mut start = Vec::new();
    jsonl::encode(header, &mut start)?;
    let mut file = LogFile::planned(path);
    file.create(&start, |copy| write(source, &parts, copy))
}

/// The entries of a session that has only the branch up to `leaf`.
fn branch(source: &SessionTree, leaf: Option<&str>) -> Vec<Part> {
    let path = source.path_numbers(leaf.and_then(|id| source.number(id)));
    let mut copied: Vec<Part> = Vec::with_capacity(path.len());
    let mut moved = HashMap::new();
    let mut dropped: Vec<u32> = Vec::new();
    let mut last = None;
    let mut name = None;
    for number in path {
        let tag = source.tag(number);
        if matches!(tag, Tag::Label | Tag::Hide) {
            dropped.push(number);
            continue;
        }
        let next = dropped.drain(..).map(|entry| (source.id(entry), number));
        moved.extend(next);
        if tag == Tag::SessionInfo {
            name = Some(number);
        }
        let is_unchanged =
            source.is_as_written(number) && source.parent(number) == last && tag != Tag::Compaction;
        copied.push(if is_unchanged {
            Part::Line(number)
        } else {
            Part::Entry(Box::new(Entry {
                parent_id: last.map(|parent| source.id(parent)),
                ..source.read(number)
            }))
        });
        last = Some(number);
    }
    for part in &mut copied {
        if let Part::Entry(entry) = part
            && let EntryKind::Compaction {
                first_kept_entry_id: id,
                ..
            } = &mut entry.kind
            && let Some(next) = moved.get(id.as_str())
        {
            *id = source.id(*next);
        }
    }
    let mut last_entries = labels(source, &copied);
    // The session's name can be on another branch.
    let on_path = name.and_then(|number| match source.read(number).kind {
        EntryKind::SessionInfo { name } => name,
        _ => None,
    });
    if on_path.as_deref() != source.name() {
        last_entries.extend(source.name_entry());
    }
    append(source, &mut copied, last_entries);
    copied
}

/// Adds the checkpoints of other branches: the states belong to the directory, so the files of an entry can be in any of
/// them. They have no parent, as those of restores.
fn with_checkpoints(source: &SessionTree, branch: Vec<Part>, files: Option<&str>) -> Vec<Part> {
    let numbers = branch.iter().filter_map(|part| part.number(source));
    let own: HashSet<u32> = numbers.collect();
    let checkpoints = source.checkpoints();
    let mut others = checkpoints
        .filter(|number| !own.contains(number))
        .peekable();
    if others.peek().is_none() {
        return branch;
    }
    let root = |number: u32| Entry {
        parent_id: None,
        ..source.read(number)
    };
    // Labels and the name come last, and have no place in time.
    let end = branch.iter().rposition(|part| {
        let tag = part.tag(source);
        tag.is_message() || tag == Tag::Checkpoint
    });
    let mut parts = Vec::with_capacity(branch.len());
    let mut leaf = None;
    for (place, part) in branch.into_iter().enumerate() {
        let number = part.number(source);
        let earlier =
            std::iter::from_fn(|| others.next_if(|other| number.is_some_and(|own| *other < own)));
        append_off_leaf(&mut parts, leaf.as_ref(), earlier.map(root));
        let id = part.id(source);
        parts.push(part);
        if end == Some(place) {
            // The files of the end were recorded later.
            let at = files.and_then(|id| source.number(id));
            let found = at.and_then(|at| source.checkpoint_at(Some(at)));
            let later = found.filter(|found| number.is_some_and(|own| *found > own));
            let of_end = later.map(|found| Entry {
                id: ids::entry_id(),
                parent_id: Some(id.clone()),
                ..source.read(found)
            });
            append_off_leaf(&mut parts, Some(&id), of_end.into_iter());
        }
        leaf = Some(id);
    }
    append_off_leaf(&mut parts, leaf.as_ref(), others.map(root));
    parts
}

/// Appends entries of other branches, and the entry that keeps the leaf: a fork has no earlier
/// positions.
fn append_off_leaf(
    parts: &mut Vec<Part>,
    leaf: Option<&String>,
    entries: impl Iterator<Item = Entry>,
) {
    let mut last = None;
    for entry in entries {
        last = Some(entry.timestamp.clone());
        parts.push(Part::Entry(Box::new(entry)));
    }
    let stays = last.map(|timestamp| Entry {
        id: ids::entry_id(),
        parent_id: None,
        timestamp,
        kind: EntryKind::Leaf {
            target_id: leaf.cloned(),
            before_id: None,
            jump: Jump::Stay,
        },
    });
    parts.extend(stays.map(Box::new).map(Part::Entry));
}

/// The labels of the remaining entries, with their original times.
fn labels(source: &SessionTree, copied: &[Part]) -> Vec<Entry> {
    let labels = source.labels().into_iter();
    let labeled: HashSet<u32> = labels.map(|(number, _)| number).collect();
    if labeled.is_empty() {
        return Vec::new();
    }
    let copied = copied.iter().filter_map(|part| part.number(source));
    let labels = copied.filter(|number| labeled.contains(number));
    labels
        .filter_map(|number| source.label_entry(&source.id(number)))
        .collect()
}

/// Appends entries; an entry gets a new id if its id is already on the path.
fn append(source: &SessionTree, copied: &mut Vec<Part>, entries: Vec<Entry>) {
    if entries.is_empty() {
        return;
    }
    let mut taken: HashSet<String> = copied.iter().map(|part| part.id(source)).collect();
    for mut entry in entries {
        while !taken.insert(entry.id.clone()) {
            entry.id = ids::entry_id();
        }
        entry.parent_id = copied.last().map(|parent| parent.id(source));
        copied.push(Part::Entry(Box::new(entry)));
    }
}

/// Writes the lines of `parts` after the header. Lines that follow one another in the source are one copy.
fn write(source: &SessionTree, parts: &[Part], mut copy: &File) -> io::Result<()> {
    /// Encoded entries are written in blocks of about this size.
    const BLOCK: usize = 1 << 20;
    let mut encoded: Vec<u8> = Vec::new();
    let mut run: Option<(u64, u64)> = None;
    for part in parts {
        let line = match part {
            Part::Line(number) => match source.record(*number).location {
                Location::Stored { offset, length } => Some((offset, offset + u64::from(length))),
                Location::Memory(entry) => {
                    end_run(source, run.take(), copy)?;
                    jsonl::encode(&*entry, &mut encoded)?;
                    None
                }
            },
            Part::Entry(entry) => {
                end_run(source, run.take(), copy)?;
                jsonl::encode(&**entry, &mut encoded)?;
                None
            }
        };
        if let Some((start, end)) = line {
            copy.write_all(&encoded)?;
            encoded.clear();
            // A newline is between two lines.
            run = match run {
                Some((first, last)) if last + 1 == start => Some((first, end)),
                other => {
                    end_run(source, other, copy)?;
                    Some((start, end))
                }
            };
        } else if encoded.len() >= BLOCK {
            copy.write_all(&encoded)?;
            encoded.clear();
        }
    }
    end_run(source, run, copy)?;
    copy.write_all(&encoded)
}

fn end_run(source: &SessionTree, run: Option<(u64, u64)>, mut copy: &File) -> io::Result<()> {
    let Some((start, end)) = run else {
        return Ok(());
    };
    source.entry_reader().copy(start..end, copy)?;
    copy.write_all(b"\n")
}

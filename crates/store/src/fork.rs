//! Copies one branch into a new session.
//!
//! Ids and times stay, so that references within the branch remain valid. Labels move to the end. A reference to a
//! dropped entry points to the next remaining one.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::error::SessionError;
use super::store::SessionStore;
use super::tree::SessionTree;
use osier_base::ids;
use osier_protocol::{Entry, EntryKind, Header, Tag};

/// Writes the branch that ends in `leaf` to a new session at `path` and opens it. `files` is the entry whose files
/// belong to the end of the branch. `header` is the new session's header; its `parent_session` names the source. Returns
/// the store and its tree.
pub async fn fork(
    source: &SessionTree,
    (leaf, files): (Option<&str>, Option<&str>),
    path: PathBuf,
    header: Header,
) -> Result<(SessionStore, SessionTree), SessionError> {
    let branch = fork_entries(source, leaf);
    let leaf = branch.last().map(|entry| entry.id.clone());
    let entries = with_checkpoints(source, branch, files);
    let tree = SessionTree::new(entries.iter().cloned(), leaf.as_deref());
    let store = SessionStore::create_with(path, header, entries)?;
    store.flush().await?;
    store.sync().await?;
    Ok((store, tree))
}

/// The entries of a session that has only the branch up to `leaf`.
pub(crate) fn fork_entries(source: &SessionTree, leaf: Option<&str>) -> Vec<Entry> {
    let path = source.path(leaf);
    let mut copied: Vec<Entry> = Vec::with_capacity(path.len());
    let mut moved = HashMap::new();
    let mut dropped: Vec<String> = Vec::new();
    for entry in path {
        if matches!(entry.kind, EntryKind::Label { .. } | EntryKind::Hide { .. }) {
            dropped.push(entry.id);
            continue;
        }
        moved.extend(dropped.drain(..).map(|id| (id, entry.id.clone())));
        copied.push(Entry {
            parent_id: copied.last().map(|parent| parent.id.clone()),
            ..entry
        });
    }
    for entry in &mut copied {
        if let EntryKind::Compaction {
            first_kept_entry_id: id,
            ..
        } = &mut entry.kind
            && let Some(next) = moved.get(id.as_str())
        {
            id.clone_from(next);
        }
    }
    append_labels(source, &mut copied);
    append_name(source, &mut copied);
    copied
}

/// Adds the checkpoints of other branches: the states belong to the directory, so the files of an entry can be in any of
/// them. They have no parent, as those of restores.
fn with_checkpoints(source: &SessionTree, branch: Vec<Entry>, files: Option<&str>) -> Vec<Entry> {
    let numbers = branch.iter().filter_map(|entry| source.number(&entry.id));
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
    let leaf = branch.last().map(|entry| entry.id.clone());
    // Labels and the name come last, and have no place in time.
    let end = branch.iter().rposition(|entry| {
        let tag = Tag::of(&entry.kind);
        tag.is_message() || tag == Tag::Checkpoint
    });
    let mut entries = Vec::with_capacity(branch.len());
    for (place, entry) in branch.into_iter().enumerate() {
        let number = source.number(&entry.id);
        while let Some(number) = others.next_if(|other| number.is_some_and(|own| *other < own)) {
            entries.push(root(number));
        }
        let id = entry.id.clone();
        entries.push(entry);
        if end != Some(place) {
            continue;
        }
        // The files of the end were recorded later.
        let at = files.and_then(|id| source.number(id));
        let found = at.and_then(|at| source.checkpoint_at(Some(at)));
        if let Some(found) = found.filter(|found| number.is_some_and(|own| *found > own)) {
            entries.push(Entry {
                id: ids::entry_id(),
                parent_id: Some(id),
                ..source.read(found)
            });
        }
    }
    entries.extend(others.map(root));
    let last = entries.last().map(|entry| entry.timestamp.clone());
    entries.push(Entry {
        id: ids::entry_id(),
        parent_id: None,
        timestamp: last.unwrap_or_default(),
        kind: EntryKind::Leaf {
            target_id: leaf,
            before_id: None,
        },
    });
    entries
}

/// Repeats the labels of the remaining entries, with their original times.
fn append_labels(source: &SessionTree, copied: &mut Vec<Entry>) {
    let labels: Vec<_> = copied
        .iter()
        .filter_map(|entry| source.label_entry(&entry.id))
        .collect();
    append(copied, labels);
}

/// The session's name can be on another branch.
fn append_name(source: &SessionTree, copied: &mut Vec<Entry>) {
    let on_path = copied.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::SessionInfo { name } => Some(name.as_deref()),
        _ => None,
    });
    if on_path.flatten() == source.name() {
        return;
    }
    append(copied, source.name_entry().into_iter().collect());
}

/// Appends entries; an entry gets a new id if its id is already on the path.
fn append(copied: &mut Vec<Entry>, entries: Vec<Entry>) {
    if entries.is_empty() {
        return;
    }
    let mut taken: HashSet<String> = copied.iter().map(|entry| entry.id.clone()).collect();
    for mut entry in entries {
        while !taken.insert(entry.id.clone()) {
            entry.id = ids::entry_id();
        }
        entry.parent_id = copied.last().map(|parent| parent.id.clone());
        copied.push(entry);
    }
}

//! A session of its own out of the path to a leaf.
//!
//! Ids and times stay, so references inside the path keep their meaning. Labels leave the path and are
//! given again at its end; what referred to a dropped entry refers to the next one kept.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::entry::{Entry, EntryKind, Header};
use super::error::SessionError;
use super::store::SessionStore;
use super::tree::SessionTree;
use osier_base::ids;

/// Writes the path to `leaf` into a new session at `path` and opens it. `header` is the new session's;
/// its `parent_session` says what it came from. Returns the store with the tree it holds.
pub async fn fork(
    source: &SessionTree,
    leaf: Option<&str>,
    path: PathBuf,
    header: Header,
) -> Result<(SessionStore, SessionTree), SessionError> {
    let entries = fork_entries(source, leaf);
    let leaf = entries.last().map(|entry| entry.id.clone());
    let tree = SessionTree::new(entries.iter().cloned(), leaf.as_deref());
    let store = SessionStore::create_with(path, header, entries)?;
    store.flush().await?;
    store.sync().await?;
    Ok((store, tree))
}

/// The entries of a session that consists of the path to `leaf` alone.
pub fn fork_entries(source: &SessionTree, leaf: Option<&str>) -> Vec<Entry> {
    let path = source.path(leaf);
    let mut kept: Vec<Entry> = Vec::with_capacity(path.len());
    let mut moved = HashMap::new();
    let mut dropped: Vec<String> = Vec::new();
    for entry in path {
        if matches!(entry.kind, EntryKind::Label { .. } | EntryKind::Hide { .. }) {
            dropped.push(entry.id);
            continue;
        }
        moved.extend(dropped.drain(..).map(|id| (id, entry.id.clone())));
        kept.push(Entry {
            parent_id: kept.last().map(|parent| parent.id.clone()),
            ..entry
        });
    }
    for entry in &mut kept {
        if let EntryKind::Compaction {
            first_kept_entry_id: id,
            ..
        } = &mut entry.kind
            && let Some(next) = moved.get(id.as_str())
        {
            id.clone_from(next);
        }
    }
    append_labels(source, &mut kept);
    append_name(source, &mut kept);
    kept
}

/// Gives every label that still has its entry again, with the time it was given at.
fn append_labels(source: &SessionTree, kept: &mut Vec<Entry>) {
    let labels: Vec<_> = kept
        .iter()
        .filter_map(|entry| source.label_entry(&entry.id))
        .collect();
    append(kept, labels);
}

/// The name may have been given on another branch.
fn append_name(source: &SessionTree, kept: &mut Vec<Entry>) {
    let on_path = kept.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::SessionInfo { name } => Some(name.as_deref()),
        _ => None,
    });
    if on_path.flatten() == source.name() {
        return;
    }
    append(kept, source.name_entry().into_iter().collect());
}

/// Adds entries at the end of the chain; under new ids should theirs be on the path.
fn append(kept: &mut Vec<Entry>, entries: Vec<Entry>) {
    if entries.is_empty() {
        return;
    }
    let mut taken: HashSet<String> = kept.iter().map(|entry| entry.id.clone()).collect();
    for mut entry in entries {
        while !taken.insert(entry.id.clone()) {
            entry.id = ids::entry_id();
        }
        entry.parent_id = kept.last().map(|parent| parent.id.clone());
        kept.push(entry);
    }
}

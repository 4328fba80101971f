//! The session in memory: every entry, who hangs on whom, and what a model sees from a given leaf.
//!
//! Fed with the entries of [`Loaded`] and then with each one the store hands back. Walks go by index
//! and never recurse: a session is as deep as it is long.

use std::collections::HashMap;

use super::entry::{Entry, EntryKind};
use super::load::Loaded;
use crate::agent::AgentMessage;
use crate::agent::message::Summary;
use crate::llm::{ThinkingLevel, Usage};

/// The entries of a session as a tree.
#[derive(Debug, Clone, Default)]
pub struct SessionTree {
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    roots: Vec<usize>,
    leaf: Option<usize>,
    labels: HashMap<String, String>,
    name: Option<String>,
    usage: Usage,
}

#[derive(Debug, Clone)]
struct Node {
    entry: Entry,
    parent: Option<usize>,
    children: Vec<usize>,
}

/// What holds at a place of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Provider and model id: the last one chosen, else the last one that answered.
    pub model: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    /// The session's name, whatever the place.
    pub name: Option<String>,
}

impl From<&Loaded> for SessionTree {
    fn from(loaded: &Loaded) -> Self {
        Self::new(loaded.entries.iter().cloned(), loaded.leaf.as_deref())
    }
}

impl SessionTree {
    /// A tree of `entries`, parents first, that stands at `leaf`.
    pub fn new(entries: impl IntoIterator<Item = Entry>, leaf: Option<&str>) -> Self {
        let mut tree = Self::default();
        for entry in entries {
            tree.insert(entry);
        }
        tree.leaf = leaf.and_then(|id| tree.index(id));
        tree
    }

    /// Takes an entry the store has written; the leaf moves as the store's did.
    pub fn insert(&mut self, entry: Entry) {
        self.note(&entry);
        if let EntryKind::Leaf { target_id } = &entry.kind {
            self.leaf = target_id.as_deref().and_then(|id| self.index(id));
            return;
        }
        if self.by_id.contains_key(&entry.id) {
            return;
        }
        let index = self.nodes.len();
        let parent = entry.parent_id.as_deref().and_then(|id| self.index(id));
        match parent {
            Some(parent) => self.nodes[parent].children.push(index),
            None => self.roots.push(index),
        }
        self.by_id.insert(entry.id.clone(), index);
        self.leaf = Some(index);
        self.nodes.push(Node {
            entry,
            parent,
            children: Vec::new(),
        });
    }

    /// Keeps what holds for the whole session and not for a place in it.
    fn note(&mut self, entry: &Entry) {
        match &entry.kind {
            EntryKind::Label {
                target_id,
                label: Some(label),
            } => {
                self.labels.insert(target_id.clone(), label.clone());
            }
            EntryKind::Label { target_id, .. } => {
                self.labels.remove(target_id);
            }
            EntryKind::SessionInfo { name } => self.name.clone_from(name),
            EntryKind::Usage { usage, .. } => self.usage += *usage,
            EntryKind::Message {
                message: AgentMessage::Assistant(message),
            } => self.usage += message.usage,
            _ => {}
        }
    }

    fn index(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Number of entries, those that move the leaf not counted.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Id of the current leaf; `None` before every root.
    pub fn leaf(&self) -> Option<&str> {
        self.leaf.map(|index| self.nodes[index].entry.id.as_str())
    }

    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.index(id).map(|index| &self.nodes[index].entry)
    }

    /// Every entry of the tree in the order it was stored.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.nodes.iter().map(|node| &node.entry)
    }

    /// What hangs on the entry `id` (`None`: the roots), oldest first.
    pub fn children(&self, id: Option<&str>) -> impl DoubleEndedIterator<Item = &Entry> {
        let indices: &[usize] = match id {
            None => &self.roots,
            Some(id) => self
                .index(id)
                .map_or(&[], |index| &self.nodes[index].children),
        };
        indices.iter().map(|&index| &self.nodes[index].entry)
    }

    /// The entries from a root down to `leaf`; empty for `None` and unknown ids.
    pub fn path(&self, leaf: Option<&str>) -> Vec<&Entry> {
        let mut path: Vec<_> = self.ancestors(leaf).collect();
        path.reverse();
        path
    }

    /// `leaf` and what it hangs on, up to its root.
    pub fn ancestors(&self, leaf: Option<&str>) -> impl Iterator<Item = &Entry> {
        let first = leaf.and_then(|id| self.index(id));
        std::iter::successors(first, |&index| self.nodes[index].parent)
            .map(|index| &self.nodes[index].entry)
    }

    /// The last entry that both paths share; what is behind it on the path to `from` is what a move to
    /// `to` leaves.
    pub fn common_ancestor(&self, from: Option<&str>, to: Option<&str>) -> Option<&Entry> {
        let shared = self.path(from).into_iter().zip(self.path(to));
        shared
            .take_while(|(one, other)| one.id == other.id)
            .last()
            .map(|(entry, _)| entry)
    }

    /// Where going on from the entry `id` ends when always the newest child is taken.
    pub fn newest_leaf(&self, id: &str) -> Option<&Entry> {
        let mut index = self.index(id)?;
        while let Some(&newest) = self.nodes[index].children.last() {
            index = newest;
        }
        Some(&self.nodes[index].entry)
    }

    /// The messages a conversation at `leaf` consists of. A compaction on the way takes the place of
    /// everything before the first entry it kept.
    pub fn context(&self, leaf: Option<&str>) -> Vec<AgentMessage> {
        let path = self.path(leaf);
        let compaction = path
            .iter()
            .rposition(|entry| matches!(entry.kind, EntryKind::Compaction { .. }));
        let Some(at) = compaction else {
            return messages(&path).collect();
        };
        let mut context = Vec::with_capacity(path.len() - at + 1);
        if let EntryKind::Compaction {
            summary,
            first_kept_entry_id,
            ..
        } = &path[at].kind
        {
            context.push(AgentMessage::CompactionSummary(Summary {
                summary: summary.clone(),
                from_id: path.first().map(|entry| entry.id.clone()),
                timestamp: milliseconds(&path[at].timestamp),
            }));
            let kept = path[..at]
                .iter()
                .position(|entry| entry.id == *first_kept_entry_id);
            context.extend(messages(&path[kept.unwrap_or(at)..at]));
        }
        context.extend(messages(&path[at + 1..]));
        context
    }

    /// Model, level and name at `leaf`.
    pub fn state_at(&self, leaf: Option<&str>) -> State {
        let mut state = State {
            name: self.name.clone(),
            ..State::default()
        };
        let mut answered = None;
        for entry in self.ancestors(leaf) {
            match &entry.kind {
                EntryKind::ModelChange { provider, model_id } if state.model.is_none() => {
                    state.model = Some((provider.clone(), model_id.clone()));
                }
                EntryKind::ThinkingLevelChange { thinking_level } => {
                    state.thinking_level.get_or_insert(*thinking_level);
                }
                EntryKind::Message {
                    message: AgentMessage::Assistant(message),
                } if answered.is_none() && !message.model.is_empty() => {
                    answered = Some((message.provider.clone(), message.model.clone()));
                }
                _ => {}
            }
            if state.model.is_some() && state.thinking_level.is_some() {
                break;
            }
        }
        state.model = state.model.or(answered);
        state
    }

    /// The name given to the entry `id`.
    pub fn label(&self, id: &str) -> Option<&str> {
        self.labels.get(id).map(String::as_str)
    }

    /// The session's name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Tokens and cost of every call of the session, on all branches.
    pub fn usage(&self) -> Usage {
        self.usage
    }
}

fn messages<'a>(path: &'a [&Entry]) -> impl Iterator<Item = AgentMessage> + 'a {
    path.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Message { message } => Some(message.clone()),
        EntryKind::BranchSummary { from_id, summary } => {
            Some(AgentMessage::BranchSummary(Summary {
                summary: summary.clone(),
                from_id: Some(from_id.clone()),
                timestamp: milliseconds(&entry.timestamp),
            }))
        }
        _ => None,
    })
}

/// Milliseconds since the Unix epoch; 0 for what is no time.
fn milliseconds(timestamp: &str) -> i64 {
    timestamp
        .parse::<jiff::Timestamp>()
        .map_or(0, jiff::Timestamp::as_millisecond)
}

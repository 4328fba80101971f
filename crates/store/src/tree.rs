//! The index of a session: which entries there are, who hangs on whom, and where each one stands in the
//! file. Some forty bytes an entry; the entries themselves are read when they are wanted (`bodies`).
//!
//! What holds for the whole session (name, labels, usage) is kept here. Walks go by number and never
//! recurse: a session is as deep as it is long. A parent always has a smaller number than its children.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::bodies::{Bodies, Place, Record};
use super::entry::{Entry, EntryKind};
use super::envelope::Tag;
use super::key::{Key, Keys};
use osier_agent::AgentMessage;
use osier_llm::Usage;

/// The number of no entry.
const NONE: u32 = u32::MAX;
/// The offset of an entry that is kept in memory.
const KEPT: u64 = u64::MAX;

/// The entries of a session as a tree.
#[derive(Debug, Clone, Default)]
pub struct SessionTree {
    /// Every entry in the order it was stored, moves of the leaf among them.
    nodes: Vec<Node>,
    by_key: HashMap<Key, u32>,
    keys: Keys,
    kept: HashMap<u32, Arc<Entry>>,
    bodies: Bodies,
    newest_root: Link,
    leaf: Option<u32>,
    /// Entries that move the leaf.
    moves: usize,
    /// What a transcript shows of the path to the leaf, oldest first.
    shown: Vec<u32>,
    /// `shown` is that of an earlier leaf.
    stale: bool,
    labels: HashMap<Key, (String, u32)>,
    /// Entries that are out of sight with what hangs on them.
    hidden: BTreeSet<u32>,
    name: Option<String>,
    /// The entry that gave the name or took it away.
    named: Option<u32>,
    usage: Usage,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    key: Key,
    offset: u64,
    length: u32,
    parent: Link,
    newest_child: Link,
    /// The child of the same parent that was stored before this one.
    older_sibling: Link,
    tag: Tag,
}

/// The number of another node, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link(u32);

impl Default for Link {
    fn default() -> Self {
        Self(NONE)
    }
}

impl From<Option<u32>> for Link {
    fn from(number: Option<u32>) -> Self {
        Self(number.unwrap_or(NONE))
    }
}

impl Link {
    fn get(self) -> Option<u32> {
        (self.0 != NONE).then_some(self.0)
    }
}

impl SessionTree {
    /// A tree of `entries`, parents first, that stands at `leaf`. The entries stay in memory.
    pub fn new(entries: impl IntoIterator<Item = Entry>, leaf: Option<&str>) -> Self {
        let mut tree = Self::default();
        for entry in entries {
            tree.take(entry);
        }
        tree.move_to(leaf.and_then(|id| tree.number(id)));
        tree.settle();
        tree
    }

    /// Takes an entry, which stays in memory; the leaf moves as the store's did.
    pub fn insert(&mut self, entry: Entry) {
        self.take(entry);
        self.settle();
    }

    fn take(&mut self, entry: Entry) {
        let parent = entry.parent_id.as_deref().and_then(|id| self.number(id));
        self.add(parent, Place::Kept(Arc::new(entry)));
    }

    /// Takes an entry that was read or made, under `parent`. One whose id is taken already is dropped.
    pub(super) fn add_entry(&mut self, entry: &Entry, parent: Option<u32>, place: Place) {
        let key = self.keys.key(&entry.id);
        if self.by_key.contains_key(&key) {
            return;
        }
        let tag = Tag::of(&entry.kind);
        let number = self.push(key, parent, tag, place);
        self.note(entry, number);
        if let EntryKind::Leaf { target_id } = &entry.kind {
            let target = target_id.as_deref().and_then(|id| self.number(id));
            self.move_to(target);
        }
    }

    fn add(&mut self, parent: Option<u32>, place: Place) {
        if let Place::Kept(entry) = &place {
            let entry = Arc::clone(entry);
            self.add_entry(&entry, parent, place);
        }
    }

    /// Takes an entry of which only the start was read.
    pub(super) fn push(&mut self, key: Key, parent: Option<u32>, tag: Tag, place: Place) -> u32 {
        let number = self.nodes.len() as u32;
        let (offset, length) = match place {
            Place::Stored { offset, length } => (offset, length),
            Place::Kept(entry) => {
                self.kept.insert(number, entry);
                (KEPT, 0)
            }
        };
        let mut node = Node {
            key,
            offset,
            length,
            parent: parent.into(),
            newest_child: Link::default(),
            older_sibling: Link::default(),
            tag,
        };
        self.by_key.insert(key, number);
        if tag == Tag::Leaf {
            self.moves += 1;
            self.nodes.push(node);
            return number;
        }
        let newest = match parent {
            Some(parent) => &mut self.nodes[parent as usize].newest_child,
            None => &mut self.newest_root,
        };
        node.older_sibling = std::mem::replace(newest, Link(number));
        self.nodes.push(node);
        let goes_on = parent == self.leaf;
        self.leaf = Some(number);
        if !goes_on {
            self.stale = true;
        } else if tag.is_shown() {
            self.shown.push(number);
        }
        number
    }

    /// Keeps what holds for the whole session and not for a place in it.
    fn note(&mut self, entry: &Entry, number: u32) {
        match &entry.kind {
            EntryKind::Label { target_id, label } => {
                let target = self.keys.key(target_id);
                match label {
                    Some(label) => self.labels.insert(target, (label.clone(), number)),
                    None => self.labels.remove(&target),
                };
            }
            EntryKind::Hide { target_id, hidden } => {
                if let Some(target) = self.number(target_id) {
                    if *hidden {
                        self.hidden.insert(target);
                    } else {
                        self.hidden.remove(&target);
                    }
                }
            }
            EntryKind::SessionInfo { name } => {
                self.name.clone_from(name);
                self.named = Some(number);
            }
            EntryKind::Usage { usage, .. } => self.usage += *usage,
            EntryKind::Message {
                message: AgentMessage::Assistant(message),
            } => self.usage += message.usage,
            _ => {}
        }
    }

    /// Takes an entry that was made under `parent`; the leaf stays where it is.
    pub(super) fn add_aside(&mut self, entry: &Entry, parent: Option<u32>, place: Place) {
        let (leaf, stale) = (self.leaf, self.stale);
        let shown = self.shown.len();
        self.add_entry(entry, parent, place);
        self.shown.truncate(shown);
        (self.leaf, self.stale) = (leaf, stale);
    }

    /// Counts the usage of an answer that was not read.
    pub(super) fn add_usage(&mut self, usage: Usage) {
        self.usage += usage;
    }

    /// Moves the leaf.
    pub(super) fn move_to(&mut self, leaf: Option<u32>) {
        self.stale |= leaf != self.leaf;
        self.leaf = leaf;
    }

    /// Brings what depends on the leaf up to date after a change.
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let mut shown: Vec<u32> = self
            .walk(self.leaf)
            .filter(|number| self.nodes[*number as usize].tag.is_shown())
            .collect();
        shown.reverse();
        self.shown = shown;
    }

    /// Lets an entry that was kept in memory go, now that it stands in the file.
    pub(super) fn stored(&mut self, id: &str, offset: u64, length: u32) {
        let number = self.keys.find(id).and_then(|key| self.by_key.get(&key));
        if let Some(&number) = number
            && self.kept.remove(&number).is_some()
        {
            let node = &mut self.nodes[number as usize];
            (node.offset, node.length) = (offset, length);
        }
    }

    /// Makes room for about so many more entries.
    pub(super) fn reserve(&mut self, entries: usize) {
        self.nodes.reserve(entries);
        self.by_key.reserve(entries);
    }

    /// Gives back what growing took too much of.
    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to(self.nodes.len() + 64);
        self.shown.shrink_to(self.shown.len() + 64);
    }

    pub(super) fn keys(&mut self) -> &mut Keys {
        &mut self.keys
    }

    pub(super) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Whether an entry has this id, one that moves the leaf included.
    pub(super) fn has(&self, key: Key) -> bool {
        self.by_key.contains_key(&key)
    }

    /// The number of the entry with this key; entries that move the leaf have none.
    pub(super) fn node(&self, key: Key) -> Option<u32> {
        let number = *self.by_key.get(&key)?;
        (self.nodes[number as usize].tag != Tag::Leaf).then_some(number)
    }

    pub(super) fn number(&self, id: &str) -> Option<u32> {
        self.node(self.keys.find(id)?)
    }

    /// Number of every entry, those that move the leaf counted.
    pub(super) fn records(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// What a transcript shows of the path to the leaf, oldest first.
    pub(super) fn shown(&self) -> &[u32] {
        &self.shown
    }

    pub(super) fn tag(&self, number: u32) -> Tag {
        self.nodes[number as usize].tag
    }

    /// Bytes of the entry in the file; 0 for one in memory.
    pub(super) fn length(&self, number: u32) -> u32 {
        self.nodes[number as usize].length
    }

    pub(super) fn id(&self, number: u32) -> String {
        self.keys.text(self.nodes[number as usize].key)
    }

    /// The entry `number` as it can be read without this index.
    pub(super) fn record(&self, number: u32) -> Record {
        let node = &self.nodes[number as usize];
        let place = match self.kept.get(&number) {
            Some(entry) => Place::Kept(Arc::clone(entry)),
            None => Place::Stored {
                offset: node.offset,
                length: node.length,
            },
        };
        Record {
            id: self.keys.text(node.key),
            parent_id: node.parent.get().map(|parent| self.id(parent)),
            tag: node.tag,
            place,
        }
    }

    pub(super) fn read(&self, number: u32) -> Entry {
        self.bodies.read(&self.record(number))
    }

    /// `leaf` and what it hangs on, up to its root.
    pub(super) fn walk(&self, leaf: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(leaf, |number| self.nodes[*number as usize].parent.get())
    }

    /// The numbers from a root down to `leaf`.
    pub(super) fn path_numbers(&self, leaf: Option<u32>) -> Vec<u32> {
        let mut path: Vec<u32> = self.walk(leaf).collect();
        path.reverse();
        path
    }

    /// Number of entries, those that move the leaf not counted.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.moves
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Id of the current leaf; `None` before every root.
    pub fn leaf(&self) -> Option<String> {
        self.leaf.map(|number| self.id(number))
    }

    /// The entry `id`.
    pub fn get(&self, id: &str) -> Option<Entry> {
        self.number(id).map(|number| self.read(number))
    }

    /// Ids of what hangs on the entry `id` (`None`: of the roots), oldest first.
    pub fn children(&self, id: Option<&str>) -> Vec<String> {
        let newest = match id {
            None => self.newest_root,
            Some(id) => self.number(id).map_or(Link::default(), |number| {
                self.nodes[number as usize].newest_child
            }),
        };
        let newest_first = std::iter::successors(newest.get(), |number| {
            self.nodes[*number as usize].older_sibling.get()
        });
        let mut ids: Vec<String> = newest_first.map(|number| self.id(number)).collect();
        ids.reverse();
        ids
    }

    pub fn has_entry(&self, id: &str) -> bool {
        self.number(id).is_some()
    }

    /// The last entry of a kind on the current branch.
    pub fn last_of(&self, tag: Tag) -> Option<String> {
        let found = self.walk(self.leaf).find(|number| self.tag(*number) == tag);
        found.map(|number| self.id(number))
    }

    /// The entries from a root down to `leaf`; empty for `None` and unknown ids. Reads them all.
    pub fn path(&self, leaf: Option<&str>) -> Vec<Entry> {
        let leaf = leaf.and_then(|id| self.number(id));
        let numbers = self.path_numbers(leaf);
        numbers
            .into_iter()
            .map(|number| self.read(number))
            .collect()
    }

    /// The last entry that both paths share; what is behind it on the path to `from` is what a move to
    /// `to` leaves.
    pub fn common_ancestor(&self, from: Option<&str>, to: Option<&str>) -> Option<String> {
        let path = |id: Option<&str>| self.path_numbers(id.and_then(|id| self.number(id)));
        let shared = path(from).into_iter().zip(path(to));
        shared
            .take_while(|(one, other)| one == other)
            .last()
            .map(|(number, _)| self.id(number))
    }

    /// Where going on from the entry `id` ends when always the newest child is taken.
    pub fn newest_leaf(&self, id: &str) -> Option<String> {
        let mut number = self.number(id)?;
        while let Some(newest) = self.nodes[number as usize].newest_child.get() {
            number = newest;
        }
        Some(self.id(number))
    }

    /// What the entry `number` hangs on.
    pub(super) fn parent(&self, number: u32) -> Option<u32> {
        let node = &self.nodes[number as usize];
        node.parent.get()
    }

    pub(super) fn key(&self, number: u32) -> Key {
        self.nodes[number as usize].key
    }

    /// Adds the id that `key` stands for to `ids`.
    pub(super) fn write_id(&self, key: Key, ids: &mut String) {
        self.keys.write(key, ids);
    }

    /// The number of the current leaf.
    pub(super) fn leaf_number(&self) -> Option<u32> {
        self.leaf
    }

    /// Every name that was given and holds, with the number of its entry.
    pub(super) fn labels(&self) -> Vec<(u32, String)> {
        let named = self.labels.iter();
        let mut labels: Vec<(u32, String)> = named
            .filter_map(|(key, (label, _))| Some((self.node(*key)?, label.clone())))
            .collect();
        labels.sort_unstable();
        labels
    }

    /// Entries that are out of sight with what hangs on them.
    pub(super) fn hidden(&self) -> &BTreeSet<u32> {
        &self.hidden
    }

    /// The name given to the entry `id`.
    pub fn label(&self, id: &str) -> Option<&str> {
        let (label, _) = self.labels.get(&self.keys.find(id)?)?;
        Some(label)
    }

    /// The entry that gave the entry `id` its name.
    pub(super) fn label_entry(&self, id: &str) -> Option<Entry> {
        let (_, number) = self.labels.get(&self.keys.find(id)?)?;
        Some(self.read(*number))
    }

    /// The session's name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether the session was given a name or lost it at least once.
    pub(super) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// Whether no entry has this id.
    pub(super) fn is_free(&self, id: &str) -> bool {
        self.keys.find(id).is_none_or(|key| !self.has(key))
    }

    /// The entry that gave the session its name or took it away.
    pub(super) fn name_entry(&self) -> Option<Entry> {
        self.named.map(|number| self.read(number))
    }

    /// Tokens and cost of every call of the session, on all branches.
    pub fn usage(&self) -> Usage {
        self.usage
    }
}

//! The index of a session: its entries, their parents and their locations in the file. About forty bytes per entry;
//! the entries themselves are read on demand (`entry_reader`).
//!
//! Data of the complete session (name, labels, usage) is stored here. Walks are iterative, because a session is as
//! deep as it is long. A parent always has a smaller number than its children.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::entry_reader::{EntryReader, Location, Record};
use super::key::{Key, Keys};
use super::positions::{Position, Positions};
use osier_agent::AgentMessage;
use osier_llm::Usage;
use osier_protocol::{Entry, EntryKind, Jump, Tag};

/// The number that stands for no entry.
const NONE: u32 = u32::MAX;
/// The offset of an entry in memory.
const IN_MEMORY: u64 = u64::MAX;

/// The entries of a session as a tree.
#[derive(Debug, Clone, Default)]
pub struct SessionTree {
    /// All entries in stored order, including moves of the leaf.
    nodes: Vec<Node>,
    by_key: HashMap<Key, u32>,
    keys: Keys,
    in_memory: HashMap<u32, Arc<Entry>>,
    /// Entries whose line has another id or another parent than the tree.
    altered: BTreeSet<u32>,
    entry_reader: EntryReader,
    newest_root: Link,
    leaf: Option<u32>,
    /// The prompt before which the conversation continues.
    before: Option<u32>,
    positions: Positions,
    /// Number of entries that move the leaf.
    moves: usize,
    /// The visible messages from the root to the leaf, oldest first.
    shown: Vec<u32>,
    /// `shown` belongs to an earlier leaf.
    stale: bool,
    labels: HashMap<Key, (String, u32)>,
    /// Hidden entries, in the order in which they were hidden; their descendants are hidden too.
    hidden: Vec<u32>,
    /// Entries below which the tree is collapsed.
    folded: Vec<u32>,
    name: Option<String>,
    /// The last entry that set or removed the session's name.
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
    /// The previous child of the same parent.
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
    /// A tree of `entries`, parents first, with the leaf `leaf`. The entries stay in memory.
    pub fn new(entries: impl IntoIterator<Item = Entry>, leaf: Option<&str>) -> Self {
        let mut tree = Self::default();
        for entry in entries {
            tree.insert_read(entry);
        }
        tree.move_to(leaf.and_then(|id| tree.number(id)));
        tree.settle();
        tree
    }

    /// Adds an entry that stays in memory, and moves the leaf as the store does.
    pub fn insert(&mut self, entry: Entry) {
        self.insert_read(entry);
        self.settle();
    }

    fn insert_read(&mut self, entry: Entry) {
        let parent = entry.parent_id.as_deref().and_then(|id| self.number(id));
        let entry = Arc::new(entry);
        self.add_entry(&entry, parent, Location::Memory(Arc::clone(&entry)));
    }

    /// Adds an entry under `parent`. Drops an entry whose id already exists.
    pub(super) fn add_entry(&mut self, entry: &Entry, parent: Option<u32>, location: Location) {
        let key = self.keys.key(&entry.id);
        if self.by_key.contains_key(&key) {
            return;
        }
        let tag = Tag::of(&entry.kind);
        let number = self.push(key, parent, tag, location);
        self.note(entry, number);
        if let EntryKind::Leaf {
            target_id,
            before_id,
            jump,
        } = &entry.kind
        {
            let target = target_id.as_deref().and_then(|id| self.number(id));
            self.jump_to(target, before_id.as_deref(), *jump);
        }
    }

    /// Adds an entry of which only the start of its line was parsed.
    pub(super) fn push(
        &mut self,
        key: Key,
        parent: Option<u32>,
        tag: Tag,
        location: Location,
    ) -> u32 {
        let number = self.nodes.len() as u32;
        let (offset, length) = match location {
            Location::Stored { offset, length } => (offset, length),
            Location::Memory(entry) => {
                self.in_memory.insert(number, entry);
                (IN_MEMORY, 0)
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
        if goes_on {
            self.positions.continued();
        } else {
            self.positions.stray(self.position());
            self.before = None;
        }
        self.leaf = Some(number);
        // A deleted entry can have been a message.
        if goes_on && (tag.is_message() || tag == Tag::Deleted) {
            self.before = None;
            self.positions.forget_undo();
        }
        if !goes_on {
            self.stale = true;
        } else if tag.is_shown() {
            self.shown.push(number);
        }
        number
    }

    /// Updates the data that applies to the complete session.
    fn note(&mut self, entry: &Entry, number: u32) {
        match &entry.kind {
            EntryKind::Label { target_id, label } => {
                let target = self.keys.key(target_id);
                match label {
                    Some(label) => self.labels.insert(target, (label.clone(), number)),
                    None => self.labels.remove(&target),
                };
            }
            EntryKind::Hide {
                target_id,
                hidden: is_in,
            }
            | EntryKind::Fold {
                target_id,
                folded: is_in,
            } => {
                let target = self.number(target_id);
                let list = match &entry.kind {
                    EntryKind::Hide { .. } => &mut self.hidden,
                    _ => &mut self.folded,
                };
                list.retain(|known| Some(*known) != target);
                list.extend(target.filter(|_| *is_in));
            }
            EntryKind::SessionInfo { name } => {
                self.name.clone_from(name);
                self.named = Some(number);
            }
            EntryKind::Usage { usage, .. }
            | EntryKind::Deleted {
                usage: Some(usage), ..
            } => self.usage += *usage,
            EntryKind::Message {
                message: AgentMessage::Assistant(message),
            } => self.usage += message.usage,
            _ => {}
        }
    }

    /// Adds an entry under `parent` without moving the leaf.
    pub(super) fn add_on_branch(&mut self, entry: &Entry, parent: Option<u32>, location: Location) {
        let (leaf, before, stale) = (self.leaf, self.before, self.stale);
        let (shown, positions) = (self.shown.len(), self.positions.clone());
        self.add_entry(entry, parent, location);
        self.shown.truncate(shown);
        self.positions = positions;
        (self.leaf, self.before, self.stale) = (leaf, before, stale);
    }

    /// Adds the usage of an answer that was not parsed.
    pub(super) fn add_usage(&mut self, usage: Usage) {
        self.usage += usage;
    }

    /// Moves the leaf.
    pub(super) fn move_to(&mut self, leaf: Option<u32>) {
        self.stale |= leaf != self.leaf;
        self.leaf = leaf;
        self.before = None;
    }

    /// Moves the leaf as the entry of the move says, which is the last one.
    pub(super) fn jump_to(&mut self, leaf: Option<u32>, before: Option<&str>, jump: Jump) {
        let from = self.position();
        self.move_to(leaf);
        // The move can name a prompt that was deleted later.
        let before = before.and_then(|id| self.number(id));
        self.before = before.filter(|before| !self.is_deleted(*before));
        self.positions
            .jump(self.records() - 1, from, self.position(), jump);
    }

    /// The current position.
    pub fn position(&self) -> Position {
        Position {
            leaf: self.leaf,
            before: self.before,
        }
    }

    /// Forgets earlier positions, hidden and collapsed branches whose entries were deleted.
    pub(super) fn forget_deleted(&mut self) {
        if self.nodes.iter().any(|node| node.tag == Tag::Deleted) {
            let mut positions = std::mem::take(&mut self.positions);
            positions.forget(|entry| self.is_deleted(entry));
            self.positions = positions;
            let before = self.before;
            self.before = before.filter(|before| !self.is_deleted(*before));
            let (mut hidden, mut folded) = (self.hidden.clone(), self.folded.clone());
            for list in [&mut hidden, &mut folded] {
                list.retain(|entry| !self.is_deleted(*entry));
            }
            (self.hidden, self.folded) = (hidden, folded);
        }
    }

    /// Whether the entry or one above it was deleted.
    pub fn is_deleted(&self, number: u32) -> bool {
        self.walk(Some(number))
            .any(|number| self.tag(number) == Tag::Deleted)
    }

    /// Earlier positions in the tree.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// The prompt before which the conversation continues; unset when a message follows the move.
    pub(super) fn before(&self) -> Option<u32> {
        self.before
    }

    /// The entry that stores the current position again.
    pub(super) fn stay(&self) -> EntryKind {
        EntryKind::Leaf {
            target_id: self.leaf(),
            before_id: self.before.map(|number| self.id(number)),
            jump: Jump::Stay,
        }
    }

    /// Updates the data that depends on the leaf.
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

    /// Drops an entry from memory after it was stored.
    pub(super) fn stored(&mut self, id: &str, offset: u64, length: u32) {
        let number = self.keys.find(id).and_then(|key| self.by_key.get(&key));
        if let Some(&number) = number
            && self.in_memory.remove(&number).is_some()
        {
            let node = &mut self.nodes[number as usize];
            (node.offset, node.length) = (offset, length);
        }
    }

    /// Reserves memory for about this many more entries.
    pub(super) fn reserve(&mut self, entries: usize) {
        self.nodes.reserve(entries);
        self.by_key.reserve(entries);
    }

    /// Releases unused memory.
    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to(self.nodes.len() + 64);
        self.shown.shrink_to(self.shown.len() + 64);
    }

    pub(super) fn keys(&mut self) -> &mut Keys {
        &mut self.keys
    }

    pub(super) fn entry_reader(&self) -> &EntryReader {
        &self.entry_reader
    }

    /// Whether an entry has this id, including moves of the leaf.
    pub(super) fn has(&self, key: Key) -> bool {
        self.by_key.contains_key(&key)
    }

    /// The number of the entry with this key; `None` for moves of the leaf.
    pub(super) fn node(&self, key: Key) -> Option<u32> {
        let number = *self.by_key.get(&key)?;
        (self.nodes[number as usize].tag != Tag::Leaf).then_some(number)
    }

    /// The entry with this key, including moves of the leaf.
    pub(super) fn record_of(&self, key: Key) -> Option<Record> {
        self.by_key.get(&key).map(|number| self.record(*number))
    }

    /// The number of an entry, or of a move of the leaf.
    pub(super) fn any_number(&self, id: &str) -> Option<u32> {
        self.by_key.get(&self.keys.find(id)?).copied()
    }

    pub fn number(&self, id: &str) -> Option<u32> {
        self.node(self.keys.find(id)?)
    }

    /// Number of all entries, including moves of the leaf.
    pub(super) fn records(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The visible messages from the root to the leaf, oldest first.
    pub(super) fn shown(&self) -> &[u32] {
        &self.shown
    }

    pub fn tag(&self, number: u32) -> Tag {
        self.nodes[number as usize].tag
    }

    /// Bytes of the entry in the file; 0 for one in memory.
    pub(super) fn length(&self, number: u32) -> u32 {
        self.nodes[number as usize].length
    }

    pub fn id(&self, number: u32) -> String {
        self.keys.text(self.nodes[number as usize].key)
    }

    /// The entry `number`, readable without this index.
    pub(super) fn record(&self, number: u32) -> Record {
        let node = &self.nodes[number as usize];
        let location = match self.in_memory.get(&number) {
            Some(entry) => Location::Memory(Arc::clone(entry)),
            None => Location::Stored {
                offset: node.offset,
                length: node.length,
            },
        };
        Record {
            id: self.keys.text(node.key),
            parent_id: node.parent.get().map(|parent| self.id(parent)),
            tag: node.tag,
            location,
        }
    }

    pub(super) fn records_of(&self, numbers: &[u32]) -> Vec<Record> {
        numbers.iter().map(|number| self.record(*number)).collect()
    }

    pub(super) fn read(&self, number: u32) -> Entry {
        self.entry_reader.read(&self.record(number))
    }

    /// Whether the line of the entry has its id and its parent.
    pub(super) fn is_as_written(&self, number: u32) -> bool {
        !self.altered.contains(&number)
    }

    /// The next entry has another id or another parent than its line.
    pub(super) fn alter_next(&mut self) {
        self.altered.insert(self.nodes.len() as u32);
    }

    /// The entries from `leaf` to its root.
    pub(super) fn walk(&self, leaf: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(leaf, |number| self.nodes[*number as usize].parent.get())
    }

    /// The numbers from a root to `leaf`.
    pub(super) fn path_numbers(&self, leaf: Option<u32>) -> Vec<u32> {
        let mut path: Vec<u32> = self.walk(leaf).collect();
        path.reverse();
        path
    }

    /// Number of entries without moves of the leaf.
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

    /// Reads the entry `id`.
    pub fn get(&self, id: &str) -> Option<Entry> {
        self.number(id).map(|number| self.read(number))
    }

    /// Ids of the children of the entry `id` (`None`: the roots), oldest first.
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

    /// Reads the entries from a root to `leaf`; empty for `None` and unknown ids.
    pub fn path(&self, leaf: Option<&str>) -> Vec<Entry> {
        let leaf = leaf.and_then(|id| self.number(id));
        let numbers = self.path_numbers(leaf);
        numbers
            .into_iter()
            .map(|number| self.read(number))
            .collect()
    }

    /// The last common entry of both paths. A move from `from` to `to` leaves the entries after it.
    pub fn common_ancestor(&self, from: Option<&str>, to: Option<&str>) -> Option<String> {
        let path = |id: Option<&str>| self.path_numbers(id.and_then(|id| self.number(id)));
        let shared = path(from).into_iter().zip(path(to));
        shared
            .take_while(|(one, other)| one == other)
            .last()
            .map(|(number, _)| self.id(number))
    }

    /// The end of the branch that follows the newest child from the entry `id`.
    pub(crate) fn newest_leaf(&self, id: &str) -> Option<String> {
        let mut number = self.number(id)?;
        while let Some(newest) = self.nodes[number as usize].newest_child.get() {
            number = newest;
        }
        Some(self.id(number))
    }

    /// The parent of the entry `number`.
    pub fn parent(&self, number: u32) -> Option<u32> {
        let node = &self.nodes[number as usize];
        node.parent.get()
    }

    pub(super) fn key(&self, number: u32) -> Key {
        self.nodes[number as usize].key
    }

    /// Appends the id of `key` to `ids`.
    pub(super) fn write_id(&self, key: Key, ids: &mut String) {
        self.keys.write(key, ids);
    }

    /// The number of the current leaf.
    pub(super) fn leaf_number(&self) -> Option<u32> {
        self.leaf
    }

    /// All current labels with the numbers of their entries.
    pub(super) fn labels(&self) -> Vec<(u32, String)> {
        let named = self.labels.iter();
        let mut labels: Vec<(u32, String)> = named
            .filter_map(|(key, (label, _))| Some((self.node(*key)?, label.clone())))
            .collect();
        labels.sort_unstable();
        labels
    }

    /// Hidden entries, the last one hidden last; their descendants are hidden too.
    pub(super) fn hidden(&self) -> &[u32] {
        &self.hidden
    }

    /// Entries below which the tree is collapsed.
    pub(super) fn folded(&self) -> &[u32] {
        &self.folded
    }

    /// The label of the entry `id`.
    pub fn label(&self, id: &str) -> Option<&str> {
        let (label, _) = self.labels.get(&self.keys.find(id)?)?;
        Some(label)
    }

    /// The entry that set the label of the entry `id`.
    pub(super) fn label_entry(&self, id: &str) -> Option<Entry> {
        let (_, number) = self.labels.get(&self.keys.find(id)?)?;
        Some(self.read(*number))
    }

    /// The session's name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether the session's name was ever set or removed.
    pub(super) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// Whether the id is unused.
    pub(super) fn is_free(&self, id: &str) -> bool {
        self.keys.find(id).is_none_or(|key| !self.has(key))
    }

    /// The last entry that set or removed the session's name.
    pub fn name_entry(&self) -> Option<Entry> {
        self.named.map(|number| self.read(number))
    }

    /// Tokens and cost of every call of the session, on all branches.
    pub fn usage(&self) -> Usage {
        self.usage
    }
}

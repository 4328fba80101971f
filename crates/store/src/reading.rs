//! Reads a stored session from start to end without changing it, for exports and reports.
//!
//! It takes no lock and changes nothing. The index is a copy, so the session can continue meanwhile. Entries are read
//! one by one.

use std::ops::Deref;
use std::path::Path;

use super::error::SessionError;
use super::glimpse::glimpse;
use super::index::EntryIndex;
use super::load::{Findings, scan_unlocked};
use super::tree::SessionTree;
use osier_protocol::{Entry, Glimpse, Header, Tag, VERSION};

/// A session for reading.
#[derive(Debug, Clone)]
pub struct Reading {
    header: Header,
    tree: SessionTree,
    findings: Findings,
}

/// The tree is that of the complete file.
impl Deref for Reading {
    type Target = SessionTree;

    fn deref(&self) -> &SessionTree {
        &self.tree
    }
}

impl Reading {
    /// Reads the session at `path`, with an interrupted answer unless another process still writes it.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        let scan = scan_unlocked(path)?;
        Ok(Self {
            header: scan.header,
            tree: scan.tree,
            findings: scan.findings,
        })
    }

    /// The open session of `index`, as it is now.
    pub fn of(header: Header, index: &EntryIndex) -> Self {
        Self {
            header,
            tree: index.read(SessionTree::clone),
            findings: Findings::default(),
        }
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn tree(&self) -> &SessionTree {
        &self.tree
    }

    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Number of entries, in stored order from 0, including moves of the leaf. A parent has a smaller number than its
    /// children.
    pub fn count(&self) -> u32 {
        self.tree.records()
    }

    /// Reads the entry `number`, as far as it is readable.
    pub fn any_entry(&self, number: u32) -> Option<Entry> {
        let reader = self.tree.entry_reader();
        reader.try_read(&self.tree.record(number))
    }

    /// Reads the entry `number`; `None` if it is damaged.
    pub fn entry(&self, number: u32) -> Option<Entry> {
        let entry = self.any_entry(number)?;
        // Unknown entries of a newer version are not damage.
        let readable = !entry.kind.is_damaged() || self.header.version > VERSION;
        readable.then_some(entry)
    }

    /// The start of the text of the entry `number`; `None` if it is damaged.
    pub fn glimpse(&self, number: u32, bytes: usize) -> Option<Glimpse> {
        self.entry(number).map(|entry| glimpse(&entry, bytes))
    }

    /// The line of the entry `number` as written, without its newline. `None` if the entry is not in the file, is
    /// damaged, or has another parent than its line says.
    pub fn line(&self, number: u32) -> Option<Vec<u8>> {
        let line = self.tree.entry_reader().line(&self.tree.record(number))?;
        let entry = Entry::parse(&line).ok()?;
        let is_leaf = self.tag(number) == Tag::Leaf;
        let parent = self.parent(number).map(|parent| self.id(parent));
        (is_leaf || entry.parent_id == parent).then_some(line)
    }

    /// The entries from a root to `leaf`.
    pub fn path(&self, leaf: Option<u32>) -> Vec<u32> {
        self.tree.path_numbers(leaf)
    }

    /// The current leaf.
    pub fn leaf(&self) -> Option<u32> {
        self.tree.leaf_number()
    }

    /// Whether this entry itself is hidden, not just one of its ancestors.
    pub fn is_hidden(&self, number: u32) -> bool {
        self.tree.hidden().contains(&number)
    }

    /// The entry with the label of the entry `number`.
    pub fn label_entry(&self, number: u32) -> Option<Entry> {
        self.tree.label_entry(&self.id(number))
    }
}

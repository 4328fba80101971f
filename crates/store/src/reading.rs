//! A stored session, read from one end to the other by somebody who only looks: an export, a report.
//!
//! Nothing is locked and nothing is changed. The index is a copy, so the session may go on meanwhile; the
//! entries are read one by one.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::entry::{Entry, Header, VERSION};
use super::envelope::Tag;
use super::error::SessionError;
use super::index::SessionIndex;
use super::load::{Findings, scan};
use super::lock;
use super::tree::SessionTree;
use osier_llm::Usage;

/// A session for reading.
#[derive(Debug, Clone)]
pub struct Reading {
    header: Header,
    tree: SessionTree,
    findings: Findings,
}

impl Reading {
    /// The session at `path`, with the answer a crash interrupted unless another process still writes it.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        let file = File::open(path).map_err(|error| SessionError::io("open", path, error))?;
        let with_draft = !lock::is_held(&file);
        let mut scan = scan(&file, path, &AtomicBool::new(false))?;
        if with_draft {
            scan.recover_draft(path);
        }
        Ok(Self {
            header: scan.header,
            tree: scan.tree,
            findings: scan.findings,
        })
    }

    /// The open session of `index`, as it is now.
    pub fn of(header: Header, index: &SessionIndex) -> Self {
        Self {
            header,
            tree: index.look(SessionTree::clone),
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

    pub fn usage(&self) -> Usage {
        self.tree.usage()
    }

    /// Entries there are, numbered from 0 in the order they were stored; those that move the leaf are
    /// among them. A parent has a smaller number than its children.
    pub fn count(&self) -> u32 {
        self.tree.records()
    }

    pub fn tag(&self, number: u32) -> Tag {
        self.tree.tag(number)
    }

    pub fn id(&self, number: u32) -> String {
        self.tree.id(number)
    }

    pub fn number(&self, id: &str) -> Option<u32> {
        self.tree.number(id)
    }

    pub fn parent(&self, number: u32) -> Option<u32> {
        self.tree.parent(number)
    }

    /// The entry `number`; `None` when it can no longer be read, or not as what it was.
    pub fn entry(&self, number: u32) -> Option<Entry> {
        let entry = self.tree.bodies().try_read(&self.tree.record(number))?;
        // What a newer version added is no damage.
        let readable = !entry.kind.is_damaged() || self.header.version > VERSION;
        readable.then_some(entry)
    }

    /// The line of the entry `number` as it was written, without its newline; `None` for one that is not
    /// in the file, is damaged, or hangs elsewhere than its line says.
    pub fn line(&self, number: u32) -> Option<Vec<u8>> {
        let line = self.tree.bodies().line(&self.tree.record(number))?;
        let entry = Entry::parse(&line).ok()?;
        let is_leaf = self.tag(number) == Tag::Leaf;
        let parent = self.parent(number).map(|parent| self.id(parent));
        (is_leaf || entry.parent_id == parent).then_some(line)
    }

    /// The entries from a root down to `leaf`.
    pub fn path(&self, leaf: Option<u32>) -> Vec<u32> {
        self.tree.path_numbers(leaf)
    }

    /// The entry that the session stands at.
    pub fn leaf(&self) -> Option<u32> {
        self.tree.leaf_number()
    }

    /// Whether the entry was taken out of sight itself, not with one it hangs on.
    pub fn is_hidden(&self, number: u32) -> bool {
        self.tree.hidden().contains(&number)
    }

    /// The entry that gave the entry `number` its name.
    pub fn label_entry(&self, number: u32) -> Option<Entry> {
        self.tree.label_entry(&self.id(number))
    }

    /// The entry that gave the session its name or took it away.
    pub fn name_entry(&self) -> Option<Entry> {
        self.tree.name_entry()
    }
}

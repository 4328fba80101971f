//! The index of an open session, shared: the store's thread changes it, everyone else reads it.
//!
//! Nobody holds it while reading from the file: what is wanted is looked up first and read afterwards,
//! so that a slow disk never holds up an append.

use std::sync::{Arc, PoisonError, RwLock};

use super::entry::Entry;
use super::envelope::Tag;
use super::page::{Page, PageAt};
use super::tree::SessionTree;
use super::walk::{ContextEntry, State, into_message};
use osier_agent::{AgentMessage, ToolResultMessage};
use osier_llm::Usage;

/// How much a tree holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// On all branches.
    pub entries: usize,
    /// Ends of branches.
    pub branches: usize,
    /// Recorded states of the files.
    pub checkpoints: usize,
}

/// A handle on the index. Everything here may block on the disk.
#[derive(Debug, Clone, Default)]
pub struct SessionIndex(Arc<RwLock<SessionTree>>);

impl SessionIndex {
    /// Looks something up. A thread that panicked while it held the lock left plain data behind.
    pub fn look<T>(&self, read: impl FnOnce(&SessionTree) -> T) -> T {
        read(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut SessionTree) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Id of the current leaf.
    pub fn leaf(&self) -> Option<String> {
        self.look(SessionTree::leaf)
    }

    pub fn usage(&self) -> Usage {
        self.look(SessionTree::usage)
    }

    /// How much the tree holds.
    pub fn counts(&self) -> Counts {
        self.look(|tree| {
            let mut counts = Counts::default();
            let mut has_children = vec![false; tree.records() as usize];
            for number in (0..tree.records()).rev() {
                let shown = tree.tag(number).is_shown();
                counts.entries += 1;
                counts.checkpoints += usize::from(tree.tag(number) == Tag::Checkpoint);
                let below = has_children[number as usize];
                counts.branches += usize::from(shown && !below);
                if let Some(parent) = tree.parent(number) {
                    has_children[parent as usize] |= shown || below;
                }
            }
            counts
        })
    }

    /// Messages that a transcript of the current branch shows.
    pub fn shown(&self) -> usize {
        self.look(|tree| tree.shown().len())
    }

    /// Model, level and name at the leaf.
    pub fn state(&self) -> State {
        self.look(|tree| tree.state_at(tree.leaf().as_deref()))
    }

    /// At most `limit` entries behind the entry `since`, or the first ones, as they were stored, and whether
    /// others follow; `None` when there is no such entry. What can no longer be read is left out. Blocks.
    pub fn entries_behind(&self, since: Option<&str>, limit: usize) -> Option<(Vec<Entry>, bool)> {
        let (records, bodies, more) = self.look(|tree| {
            let first = match since {
                Some(id) => tree.number(id)? + 1,
                None => 0,
            };
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            let end = tree.records().min(first.saturating_add(limit));
            let records = (first..end).map(|number| tree.record(number));
            let records: Vec<_> = records.collect();
            Some((records, tree.bodies().clone(), end < tree.records()))
        })?;
        let entries = records.iter().filter_map(|record| bodies.try_read(record));
        Some((entries.collect(), more))
    }

    /// The messages a conversation at `leaf` consists of. What can no longer be read is left out.
    pub fn context(&self, leaf: Option<&str>) -> Vec<AgentMessage> {
        let (plan, bodies) = self.look(|tree| (tree.context_plan(leaf), tree.bodies().clone()));
        plan.read(&bodies)
    }

    /// The same with the entries the messages stand in.
    pub fn context_entries(&self, leaf: Option<&str>) -> Vec<ContextEntry> {
        let (plan, bodies) = self.look(|tree| (tree.context_plan(leaf), tree.bodies().clone()));
        plan.read_entries(&bodies)
    }

    /// The messages that a move to `target` leaves, oldest first.
    pub fn left_behind(&self, target: Option<&str>) -> Vec<AgentMessage> {
        let (records, bodies) = self.look(|tree| {
            let path = |id: Option<u32>| tree.path_numbers(id);
            let (here, there) = (
                path(tree.leaf_number()),
                path(target.and_then(|id| tree.number(id))),
            );
            let both = here.iter().zip(&there);
            let shared = both.take_while(|(one, other)| one == other).count();
            let left = here[shared..]
                .iter()
                .filter(|number| tree.tag(**number).is_shown());
            let records: Vec<_> = left.map(|number| tree.record(*number)).collect();
            (records, tree.bodies().clone())
        });
        let entries = records.iter().filter_map(|record| bodies.try_read(record));
        entries.filter_map(into_message).collect()
    }

    /// The page at a place; `None` when its entry is not on the current branch.
    pub fn page(&self, at: &PageAt) -> Option<Page> {
        let (plan, bodies) = self.look(|tree| (tree.page_plan(at), tree.bodies().clone()));
        Some(plan?.read(&bodies))
    }

    /// The last result of `tool` on the current branch, among its last results.
    pub fn last_result(&self, tool: &str) -> Option<ToolResultMessage> {
        let (records, bodies) = self.look(|tree| (tree.last_results(), tree.bodies().clone()));
        records
            .iter()
            .find_map(|record| match into_message(bodies.try_read(record)?)? {
                AgentMessage::ToolResult(result) if result.result.tool_name == tool => Some(result),
                _ => None,
            })
    }
}

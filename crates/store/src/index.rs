//! The shared index of an open session: the store's thread changes the index, all other threads read it.
//!
//! Callers look up entries and read the file after they released the lock, so that a slow disk never delays an append.

use parking_lot::RwLock;
use std::sync::Arc;

use super::page::Page;
use super::tree::SessionTree;
use super::walk::{ContextEntries, ContextLimit, State, into_message};
use osier_agent::{AgentMessage, ToolResultMessage};
use osier_llm::Usage;
use osier_protocol::{Entry, PageAt, Tag};

/// A list of entries ends after this number of bytes, even if its limit is larger.
const ANSWER_BYTES: u64 = 16 << 20;

/// Counts of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// On all branches.
    pub entries: usize,
    /// Branch ends.
    pub branches: usize,
    /// Checkpoints of the files.
    pub checkpoints: usize,
}

/// A handle on the index. Every method can block on the disk.
#[derive(Debug, Clone, Default)]
pub struct EntryIndex(Arc<RwLock<SessionTree>>);

impl EntryIndex {
    /// Runs `read` on the tree. A panic while the lock was held leaves only plain data behind, so a poisoned lock is
    /// usable.
    pub fn read<T>(&self, read: impl FnOnce(&SessionTree) -> T) -> T {
        read(&self.0.read())
    }

    /// The entries that `select` names, without unreadable ones. They are read from the file one by one.
    pub(super) fn entries<I, F>(&self, select: F) -> impl Iterator<Item = Entry> + use<I, F>
    where
        I: IntoIterator<Item = u32>,
        F: FnOnce(&SessionTree) -> I,
    {
        let (records, entry_reader) = self.read(|tree| {
            let numbers = select(tree).into_iter();
            let records: Vec<_> = numbers.map(|number| tree.record(number)).collect();
            (records, tree.entry_reader().clone())
        });
        let records = records.into_iter();
        records.filter_map(move |record| entry_reader.try_read(&record))
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut SessionTree) -> T) -> T {
        change(&mut self.0.write())
    }

    /// Id of the current leaf.
    pub fn leaf(&self) -> Option<String> {
        self.read(SessionTree::leaf)
    }

    pub fn usage(&self) -> Usage {
        self.read(SessionTree::usage)
    }

    /// Counts entries, branches and checkpoints.
    pub fn counts(&self) -> Counts {
        self.read(|tree| {
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

    /// Number of messages in the transcript of the current branch.
    pub fn shown(&self) -> usize {
        self.read(|tree| tree.shown().len())
    }

    /// The messages in the transcript of the current branch, oldest first, read from the file one by one. Skips
    /// unreadable entries. Blocks.
    pub fn shown_messages(&self) -> impl Iterator<Item = AgentMessage> + use<> {
        let shown = self.entries(|tree| tree.shown().to_vec());
        shown.filter_map(into_message)
    }

    /// Model, level and name at the leaf.
    pub fn state(&self) -> State {
        self.read(|tree| tree.state_at(tree.leaf().as_deref()))
    }

    /// The entries after `since`, or the first entries, in stored order: at most `limit`, and about 16 MB. Also returns whether more
    /// follow. `None` if there is no entry `since`. Skips unreadable entries. Blocks.
    pub fn entries_after(&self, since: Option<&str>, limit: usize) -> Option<(Vec<Entry>, bool)> {
        let (records, entry_reader, more) = self.read(|tree| {
            let first = match since {
                Some(id) => tree.any_number(id)? + 1,
                None => 0,
            };
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            let end = tree.records().min(first.saturating_add(limit));
            let mut bytes = 0;
            let fitting = (first..end).take_while(|number| {
                let fits = bytes < ANSWER_BYTES;
                bytes += u64::from(tree.length(*number));
                fits
            });
            let records: Vec<_> = fitting.map(|number| tree.record(number)).collect();
            let end = first as usize + records.len();
            let more = end < tree.records() as usize;
            Some((records, tree.entry_reader().clone(), more))
        })?;
        let entries = records
            .iter()
            .filter_map(|record| entry_reader.try_read(record));
        Some((entries.collect(), more))
    }

    /// The messages of the conversation at `leaf`. Skips unreadable entries.
    pub fn context(&self, leaf: Option<&str>) -> Vec<AgentMessage> {
        let (plan, entry_reader) =
            self.read(|tree| (tree.context_plan(leaf), tree.entry_reader().clone()));
        let records = |numbers: &[u32]| self.read(|tree| tree.records_of(numbers));
        plan.read(&entry_reader, &records)
    }

    /// Whether the conversation at `leaf` has messages. Reads none.
    pub fn has_context(&self, leaf: Option<&str>) -> bool {
        self.read(|tree| !tree.context_plan(leaf).is_empty())
    }

    /// The end of the conversation at `leaf` that `limit` allows, with its entries. Compactions for smaller windows are
    /// left out if the conversation fits without them.
    pub fn context_within(&self, leaf: Option<&str>, limit: ContextLimit) -> ContextEntries {
        let (plans, entry_reader) = self.read(|tree| {
            let plans = tree.context_plans(leaf, limit.window);
            (plans, tree.entry_reader().clone())
        });
        let records = |numbers: &[u32]| self.read(|tree| tree.records_of(numbers));
        let mut plans = plans.into_iter();
        let shortest = plans.next().unwrap_or_default();
        let mut context = shortest.read_within(&entry_reader, &records, limit);
        for longer in plans {
            let all = longer.read_within(&entry_reader, &records, limit.whole());
            if all.is_cut {
                break;
            }
            context = all;
        }
        context
    }

    /// The entries up to `last` that can report usage, on all branches, oldest first.
    pub fn spending_entries(&self, last: &str) -> impl Iterator<Item = Entry> + use<> {
        let last = last.to_owned();
        self.entries(move |tree| {
            let end = tree
                .any_number(&last)
                .map_or(tree.records(), |last| last + 1);
            let has_usage = |tag| {
                let tags = [Tag::Assistant, Tag::ToolResult, Tag::Usage, Tag::Deleted];
                tags.contains(&tag)
            };
            let numbers = (0..end).filter(|number| has_usage(tree.tag(*number)));
            numbers.collect::<Vec<u32>>()
        })
    }

    /// The messages that a move to `target` leaves, oldest first.
    pub fn left_behind(&self, target: Option<&str>) -> Vec<AgentMessage> {
        let left = self.entries(|tree| {
            let here = tree.path_numbers(tree.leaf_number());
            let there = tree.path_numbers(target.and_then(|id| tree.number(id)));
            let both = here.iter().zip(&there);
            let shared = both.take_while(|(one, other)| one == other).count();
            let left = here.into_iter().skip(shared);
            let left = left.filter(|number| tree.tag(*number).is_shown());
            left.collect::<Vec<u32>>()
        });
        left.filter_map(into_message).collect()
    }

    /// The texts that the user typed in the last messages on the branch of `leaf`, at most `limit`, newest first.
    pub fn typed(&self, leaf: Option<&str>, limit: usize) -> Vec<String> {
        let prompts = self.entries(|tree| {
            let branch = tree.walk(leaf.and_then(|id| tree.number(id)));
            let prompts =
                branch.filter(|number| matches!(tree.tag(*number), Tag::User | Tag::Message));
            prompts.collect::<Vec<u32>>()
        });
        let typed = prompts.filter_map(|entry| match into_message(entry)? {
            AgentMessage::User(message) => Some(message.typed().to_owned()),
            _ => None,
        });
        typed.filter(|text| !text.is_empty()).take(limit).collect()
    }

    /// The page at a position; `None` if its entry is not on the current branch.
    pub fn page(&self, at: &PageAt) -> Option<Page> {
        let (plan, entry_reader) =
            self.read(|tree| (tree.page_plan(at), tree.entry_reader().clone()));
        Some(plan?.read(&entry_reader))
    }

    /// The last result of `tool` on the current branch, if it is among the last results.
    pub fn last_result(&self, tool: &str) -> Option<ToolResultMessage> {
        let mut results = self.entries(SessionTree::last_results);
        results.find_map(|entry| match into_message(entry)? {
            AgentMessage::ToolResult(result) if result.result.tool_name == tool => Some(result),
            _ => None,
        })
    }
}

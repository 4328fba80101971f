//! Finds the checkpoint that belongs to an entry of the tree. The checkpoint store has the files; this module only
//! reads the entries that name them.

use super::index::EntryIndex;
use super::tree::SessionTree;
use osier_protocol::{Entry, EntryKind, Jump, Tag};

/// The first and last entry of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRange {
    /// Id of the prompt.
    pub prompt: String,
    /// Id of the last entry before the next prompt.
    pub end: String,
}

impl SessionTree {
    /// The checkpoint with the state of the files at `at`: before a prompt, after any other message. An entry that is
    /// no message has the files of the one above it. `None` means before every root.
    ///
    /// A state belongs to the directory, not to a branch: where a turn recorded none, the files are those that were
    /// recorded last, on whatever branch.
    pub(super) fn checkpoint_at(&self, at: Option<u32>) -> Option<u32> {
        let decides = |number: &u32| {
            let tag = self.tag(*number);
            tag.is_message() || tag == Tag::Checkpoint
        };
        let Some(at) = self.walk(at).find(decides) else {
            return self.checkpoints().next();
        };
        if self.tag(at) == Tag::Checkpoint {
            return Some(at);
        }
        // A run records the files before the first change, so the state before a prompt is in the first checkpoint of
        // the run.
        let near = if self.tag(at) == Tag::User {
            self.below(at, true)
        } else {
            // A lane that was applied has two: that of its copy, and that of the directory.
            let mut recorded = self.checkpoints().rev().take_while(|number| *number > at);
            recorded.find(|number| self.walk(Some(*number)).nth(1) == Some(at))
        };
        let earlier = || self.checkpoints().rev().find(|number| *number < at);
        // Without a checkpoint nothing was changed, so the first checkpoint below still applies.
        near.or_else(earlier).or_else(|| self.below(at, false))
    }

    /// The first checkpoint below `at`; with `same_prompt` only within the same prompt.
    fn below(&self, at: u32, same_prompt: bool) -> Option<u32> {
        let mut is_below = vec![false; (self.records() - at) as usize];
        is_below[0] = true;
        for number in at + 1..self.records() {
            let parent = self.walk(Some(number)).nth(1);
            let inside = parent
                .and_then(|parent| parent.checked_sub(at))
                .is_some_and(|location| is_below[location as usize]);
            if !inside || (same_prompt && self.tag(number) == Tag::User) {
                continue;
            }
            if self.tag(number) == Tag::Checkpoint {
                return Some(number);
            }
            is_below[(number - at) as usize] = true;
        }
        None
    }

    /// The checkpoints of the turns after `above` on the branch of `to`, oldest first. What is recorded for the
    /// files of a turn is on its path or below an entry of it.
    fn checkpoints_between(&self, above: Option<u32>, to: u32) -> Vec<u32> {
        let shared = self.path_numbers(above);
        let mut turns = self.path_numbers(Some(to));
        turns.retain(|number| shared.binary_search(number).is_err());
        let belongs = |number: &u32| {
            let mut above = self.walk(Some(*number));
            let entry = above.find(|number| self.tag(*number) != Tag::Checkpoint);
            entry.is_some_and(|entry| turns.binary_search(&entry).is_ok())
        };
        self.checkpoints().filter(belongs).collect()
    }

    /// Whether the entry moves the conversation.
    fn is_move(&self, number: u32) -> bool {
        let is_leaf = self.tag(number) == Tag::Leaf;
        is_leaf
            && !matches!(
                self.read(number).kind,
                EntryKind::Leaf {
                    jump: Jump::Stay,
                    ..
                }
            )
    }

    /// All checkpoints, oldest first.
    pub(super) fn checkpoints(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.records()).filter(|number| self.tag(*number) == Tag::Checkpoint)
    }
}

impl EntryIndex {
    /// The entry whose files belong to the current position: the prompt before which the conversation continues, or the
    /// current entry.
    pub fn position(&self) -> Option<String> {
        self.read(|tree| {
            tree.before()
                .map_or_else(|| tree.leaf(), |prompt| Some(tree.id(prompt)))
        })
    }

    /// The prompt before which the conversation continues.
    pub fn before(&self) -> Option<String> {
        self.read(|tree| tree.before().map(|prompt| tree.id(prompt)))
    }

    /// Whether the conversation continues after the entry `id`: no message follows the entry.
    pub fn is_current(&self, id: &str) -> bool {
        self.read(|tree| {
            let message = |at| tree.walk(at).find(|number| tree.tag(*number).is_message());
            let at = tree.number(id);
            tree.before().is_none() && at.is_some() && message(at) == message(tree.leaf_number())
        })
    }

    /// The checkpoint with the state of the files at an entry: before a prompt, after any other entry. `None` means
    /// before every root.
    pub fn checkpoint_at(&self, entry: Option<&str>) -> Option<Entry> {
        let mut found = self.entries(|tree| match entry {
            Some(id) => tree.checkpoint_at(Some(tree.number(id)?)),
            None => tree.checkpoint_at(None),
        });
        found.next()
    }

    /// The checkpoints stored after the entry `id`, on all branches, oldest first.
    pub fn checkpoints_after(&self, id: &str) -> Vec<Entry> {
        let later = self.entries(|tree| {
            let after = tree.number(id);
            let later = tree.checkpoints().filter(|number| Some(*number) > after);
            later.collect::<Vec<u32>>()
        });
        later.collect()
    }

    /// All checkpoints of the session, oldest first.
    pub fn checkpoints_after_start(&self) -> Vec<Entry> {
        let all = self.entries(|tree| tree.checkpoints().collect::<Vec<u32>>());
        all.collect()
    }

    /// The checkpoints of the turns after the entry `above` on the branch of the entry `to`, oldest first.
    pub fn checkpoints_between(&self, above: Option<&str>, to: &str) -> Vec<Entry> {
        let found = self.entries(|tree| {
            let above = above.and_then(|id| tree.number(id));
            let to = tree.number(to);
            to.map_or_else(Vec::new, |to| tree.checkpoints_between(above, to))
        });
        found.collect()
    }

    /// The checkpoints stored between a move that undid a prompt and the next move, oldest first. The move is the one
    /// that `redo` reverts, or with `is_done` the one that the last move has reverted.
    pub fn checkpoints_after_undo(&self, is_done: bool) -> Vec<Entry> {
        let found = self.entries(|tree| {
            let Some(undo) = tree.positions().undo_of(tree.position(), is_done) else {
                return Vec::new();
            };
            let later = (undo + 1..tree.records()).take_while(|number| !tree.is_move(*number));
            later
                .filter(|number| tree.tag(*number) == Tag::Checkpoint)
                .collect()
        });
        found.collect()
    }

    /// Whether a move has left the current position, and the first checkpoint that was stored after the last such move.
    pub fn checkpoint_after_leaving(&self) -> (bool, Option<Entry>) {
        let left = self.read(|tree| tree.positions().left_by(tree.position()));
        let mut found = self.entries(|tree| {
            let later = tree.checkpoints().filter(|number| Some(*number) > left);
            later.take(1).collect::<Vec<u32>>()
        });
        (left.is_some(), found.next().filter(|_| left.is_some()))
    }

    /// The prompt at or above the entry `id`, and the end of its turn. Follows the current branch if it contains the entry,
    /// else the newest one.
    pub fn turn(&self, id: &str) -> Option<TurnRange> {
        self.read(|tree| {
            let at = tree.number(id)?;
            let mut above = tree.walk(Some(at));
            let prompt = above.find(|number| tree.tag(*number) == Tag::User)?;
            let current = tree.path_numbers(tree.leaf_number());
            let path = if current.binary_search(&at).is_ok() {
                current
            } else {
                let leaf = tree.newest_leaf(id)?;
                tree.path_numbers(tree.number(&leaf))
            };
            let behind = path.iter().copied().filter(|number| *number > prompt);
            let own = behind.take_while(|number| tree.tag(*number) != Tag::User);
            let end = own.last().unwrap_or(prompt);
            Some(TurnRange {
                prompt: tree.id(prompt),
                end: tree.id(end),
            })
        })
    }

    /// The checkpoint stored last, on any branch.
    pub fn last_checkpoint(&self) -> Option<Entry> {
        self.entries(|tree| tree.checkpoints().next_back()).next()
    }
}

//! Which recorded state of the files belongs to which place of the tree. The states themselves are the
//! business of the checkpoint store; here are only the entries that name them.

use super::entry::Entry;
use super::envelope::Tag;
use super::index::SessionIndex;
use super::tree::SessionTree;

impl SessionTree {
    /// The entry that says how files stood at `at`: before a prompt, behind anything else; `None` is
    /// before every root.
    fn checkpoint_at(&self, at: Option<u32>) -> Option<u32> {
        let Some(at) = at else {
            return self.checkpoints().next();
        };
        // What a prompt led to has recorded the files before it changed them.
        let near = if self.tag(at) == Tag::User {
            self.below(at, true)
        } else {
            let mut recorded = self.checkpoints().filter(|number| *number > at);
            recorded.find(|number| self.walk(Some(*number)).nth(1) == Some(at))
        };
        let above = || {
            let mut path = self.walk(Some(at));
            path.find(|number| self.tag(*number) == Tag::Checkpoint)
        };
        // Where nothing was recorded nothing had been changed, so the first state below still holds.
        near.or_else(above).or_else(|| self.below(at, false))
    }

    /// The first checkpoint below `at`; with `same_prompt` none that another prompt led to.
    fn below(&self, at: u32, same_prompt: bool) -> Option<u32> {
        let mut is_below = vec![false; (self.records() - at) as usize];
        is_below[0] = true;
        for number in at + 1..self.records() {
            let parent = self.walk(Some(number)).nth(1);
            let inside = parent
                .and_then(|parent| parent.checked_sub(at))
                .is_some_and(|place| is_below[place as usize]);
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

    /// Every checkpoint in the order of time.
    fn checkpoints(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.records()).filter(|number| self.tag(*number) == Tag::Checkpoint)
    }
}

impl SessionIndex {
    /// The checkpoint that says how files stood at an entry: before a prompt, behind anything else;
    /// `None` is before every root.
    pub fn checkpoint_at(&self, entry: Option<&str>) -> Option<Entry> {
        let found = self.look(|tree| {
            let at = match entry {
                Some(id) => Some(tree.number(id)?),
                None => None,
            };
            let number = tree.checkpoint_at(at)?;
            Some((tree.record(number), tree.bodies().clone()))
        });
        let (record, bodies) = found?;
        bodies.try_read(&record)
    }

    /// The checkpoints stored after the entry `id`, on any branch, the oldest first.
    pub fn checkpoints_after(&self, id: &str) -> Vec<Entry> {
        let (records, bodies) = self.look(|tree| {
            let after = tree.number(id);
            let later = tree.checkpoints().filter(|number| Some(*number) > after);
            let records: Vec<_> = later.map(|number| tree.record(number)).collect();
            (records, tree.bodies().clone())
        });
        let entries = records.iter().filter_map(|record| bodies.try_read(record));
        entries.collect()
    }

    /// The prompt at or above the entry `id`, and where what it led to ends: the next prompt, or the last
    /// entry. On the current branch where that goes through the entry, else where it was gone on last.
    pub fn turn(&self, id: &str) -> Option<(String, String)> {
        self.look(|tree| {
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
            let mut next = behind.filter(|number| tree.tag(*number) == Tag::User);
            let end = next.next().or_else(|| path.last().copied())?;
            Some((tree.id(prompt), tree.id(end)))
        })
    }

    /// The checkpoint stored last, on whatever branch.
    pub fn last_checkpoint(&self) -> Option<Entry> {
        let (record, bodies) = self.look(|tree| {
            let number = tree.checkpoints().next_back()?;
            Some((tree.record(number), tree.bodies().clone()))
        })?;
        bodies.try_read(&record)
    }
}

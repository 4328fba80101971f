//! The kill ring: cut text, newest first, for yank and yank-pop. Consecutive kills are one entry.

use std::collections::VecDeque;

use super::buffer::Fragment;

/// Maximum number of entries.
const LIMIT: usize = 60;

/// The side of the cursor from which text was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillSide {
    Before,
    After,
}

/// The entries and the index of the last yanked one.
#[derive(Debug, Clone, Default)]
pub(super) struct KillRing {
    entries: VecDeque<Fragment>,
    current: usize,
}

impl KillRing {
    /// Adds a kill; `joined` if the previous command was also a kill.
    pub(super) fn push(&mut self, killed: Fragment, side: KillSide, joined: bool) {
        if killed.is_empty() {
            return;
        }
        self.current = 0;
        match self.entries.front_mut().filter(|_| joined) {
            Some(newest) if side == KillSide::After => newest.append(&killed),
            Some(newest) => {
                let mut joined_kill = killed;
                joined_kill.append(newest);
                *newest = joined_kill;
            }
            None => {
                self.entries.truncate(LIMIT - 1);
                self.entries.push_front(killed);
            }
        }
    }

    /// The newest entry.
    pub(super) fn yank(&mut self) -> Option<&Fragment> {
        self.current = 0;
        self.entries.front()
    }

    /// The entry before the last yanked one; after the oldest, the newest again.
    pub(super) fn older(&mut self) -> Option<&Fragment> {
        if self.entries.is_empty() {
            return None;
        }
        self.current = (self.current + 1) % self.entries.len();
        self.entries.get(self.current)
    }
}

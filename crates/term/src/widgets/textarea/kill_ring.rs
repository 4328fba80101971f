//! The kill ring: what was cut, newest first, to be put back by yank and yank-pop. Kills in a row are one
//! entry.

use std::collections::VecDeque;

use super::buffer::Fragment;

/// Entries kept.
const LIMIT: usize = 60;

/// On which side of the cursor a kill took its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The entries and the place of the last yank in them.
#[derive(Debug, Clone, Default)]
pub(super) struct KillRing {
    entries: VecDeque<Fragment>,
    current: usize,
}

impl KillRing {
    /// Adds a kill; `joined` when the command before it was a kill too.
    pub(super) fn push(&mut self, killed: Fragment, side: Side, joined: bool) {
        if killed.is_empty() {
            return;
        }
        self.current = 0;
        match self.entries.front_mut().filter(|_| joined) {
            Some(newest) if side == Side::After => newest.append(&killed),
            Some(newest) => {
                let mut whole = killed;
                whole.append(newest);
                *newest = whole;
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

    /// The entry before the one yanked last; after the oldest comes the newest again.
    pub(super) fn older(&mut self) -> Option<&Fragment> {
        if self.entries.is_empty() {
            return None;
        }
        self.current = (self.current + 1) % self.entries.len();
        self.entries.get(self.current)
    }
}

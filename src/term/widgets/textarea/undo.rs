//! Undo and redo of edits. Typing coalesces: the characters of a word are one step, each space is its own,
//! and so are the characters of an unbroken run of single deletions.

use std::collections::VecDeque;

use super::buffer::{Edit, Fragment, Position, end_of};

/// Steps kept. The oldest are forgotten first.
const LIMIT: usize = 1000;

/// What an edit was, as far as coalescing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One typed character.
    Typed,
    /// One character deleted before the cursor.
    DeletedLeft,
    /// One character deleted after the cursor.
    DeletedRight,
    /// Anything else: always a step of its own.
    Other,
}

/// An edit with the cursor before it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub edit: Edit,
    pub cursor: Position,
    kind: Kind,
    /// Steps of one number are taken back together; 0 is none.
    group: u64,
}

/// The two stacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    done: VecDeque<Step>,
    undone: Vec<Step>,
    /// The next edit starts a step of its own.
    sealed: bool,
    /// The group of what is recorded now, and the last number given.
    group: u64,
    groups: u64,
}

impl Undo {
    /// The cursor was moved: what is typed next is a new step.
    pub(super) fn seal(&mut self) {
        self.sealed = true;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// What is recorded from now on is one step.
    pub(super) fn open_group(&mut self) {
        self.groups += 1;
        self.group = self.groups;
    }

    /// The same, unless it is so already.
    pub(super) fn open_group_once(&mut self) {
        if self.group == 0 {
            self.open_group();
        }
    }

    pub(super) fn close_group(&mut self) {
        self.group = 0;
    }

    pub(super) fn record(&mut self, edit: Edit, cursor: Position, kind: Kind) {
        self.undone.clear();
        let sealed = std::mem::replace(&mut self.sealed, false);
        if !sealed
            && let Some(last) = self.done.back_mut()
            && last.kind == kind
            && last.group == self.group
            && merge(&mut last.edit, &edit, kind)
        {
            return;
        }
        if self.done.len() == LIMIT {
            self.done.pop_front();
        }
        let group = self.group;
        self.done.push_back(Step {
            edit,
            cursor,
            kind,
            group,
        });
    }

    /// The step to take back now.
    pub(super) fn undo(&mut self) -> Option<Step> {
        let step = self.done.pop_back()?;
        self.undone.push(step.clone());
        self.sealed = true;
        Some(step)
    }

    /// Whether the step that would be taken back, or done again, belongs to this one.
    pub(super) fn continues(&self, step: &Step, redo: bool) -> bool {
        let next = if redo {
            self.undone.last()
        } else {
            self.done.back()
        };
        step.group != 0 && next.is_some_and(|next| next.group == step.group)
    }

    /// The step to do again now.
    pub(super) fn redo(&mut self) -> Option<Step> {
        let step = self.undone.pop()?;
        self.done.push_back(step.clone());
        self.sealed = true;
        Some(step)
    }
}

/// Joins `next` to `last` when they are one step.
fn merge(last: &mut Edit, next: &Edit, kind: Kind) -> bool {
    match kind {
        Kind::Typed => {
            let joins = next.start == end_of(last.start, &last.inserted)
                && is_word(&last.inserted)
                && is_word(&next.inserted)
                && next.removed.is_empty();
            if joins {
                last.inserted.append(&next.inserted);
            }
            joins
        }
        Kind::DeletedLeft => {
            let joins = end_of(next.start, &next.removed) == last.start;
            if joins {
                let mut removed = next.removed.clone();
                removed.append(&last.removed);
                last.removed = removed;
                last.start = next.start;
            }
            joins
        }
        Kind::DeletedRight => {
            let joins = next.start == last.start;
            if joins {
                last.removed.append(&next.removed);
            }
            joins
        }
        Kind::Other => false,
    }
}

fn is_word(fragment: &Fragment) -> bool {
    fragment.chips().is_empty() && !fragment.text.ends_with(char::is_whitespace)
}

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
}

/// The two stacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    done: VecDeque<Step>,
    undone: Vec<Step>,
    /// The next edit starts a step of its own.
    sealed: bool,
}

impl Undo {
    /// The cursor was moved: what is typed next is a new step.
    pub(super) fn seal(&mut self) {
        self.sealed = true;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn record(&mut self, edit: Edit, cursor: Position, kind: Kind) {
        self.undone.clear();
        let sealed = std::mem::replace(&mut self.sealed, false);
        if !sealed
            && let Some(last) = self.done.back_mut()
            && last.kind == kind
            && merge(&mut last.edit, &edit, kind)
        {
            return;
        }
        if self.done.len() == LIMIT {
            self.done.pop_front();
        }
        self.done.push_back(Step { edit, cursor, kind });
    }

    /// The step to take back now.
    pub(super) fn undo(&mut self) -> Option<Step> {
        let step = self.done.pop_back()?;
        self.undone.push(step.clone());
        self.sealed = true;
        Some(step)
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

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    pub edit: Edit,
    pub cursor: Position,
    kind: Kind,
}

/// Edits that are taken back together, at least one, the oldest first.
pub(super) type Step = Vec<Done>;

/// The two stacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    done: VecDeque<Step>,
    undone: Vec<Step>,
    /// The next edit starts a step of its own, or, in an open group, is not joined to the last.
    sealed: bool,
    group: Group,
}

/// Whether what is recorded belongs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Group {
    #[default]
    None,
    /// It begins with the next edit.
    Begins,
    /// It is the last step.
    Grows,
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
        self.group = Group::Begins;
    }

    /// The same, unless it is so already.
    pub(super) fn open_group_once(&mut self) {
        if self.group == Group::None {
            self.open_group();
        }
    }

    pub(super) fn close_group(&mut self) {
        if std::mem::take(&mut self.group) == Group::Grows {
            self.sealed = true;
        }
    }

    pub(super) fn record(&mut self, edit: Edit, cursor: Position, kind: Kind) {
        self.undone.clear();
        let joins = !std::mem::replace(&mut self.sealed, false) && self.group != Group::Begins;
        if joins
            && let Some(last) = self.done.back_mut().and_then(|step| step.last_mut())
            && last.kind == kind
            && merge(&mut last.edit, &edit, kind)
        {
            return;
        }
        let done = Done { edit, cursor, kind };
        if self.group == Group::Grows
            && let Some(step) = self.done.back_mut()
        {
            step.push(done);
            return;
        }
        if self.group == Group::Begins {
            self.group = Group::Grows;
        }
        if self.done.len() == LIMIT {
            self.done.pop_front();
        }
        self.done.push_back(vec![done]);
    }

    /// The step to take back now.
    pub(super) fn undo(&mut self) -> Option<Step> {
        let step = self.done.pop_back()?;
        self.undone.push(step.clone());
        self.part();
        Some(step)
    }

    /// The step to do again now.
    pub(super) fn redo(&mut self) -> Option<Step> {
        let step = self.undone.pop()?;
        self.done.push_back(step.clone());
        self.part();
        Some(step)
    }

    /// What comes next does not belong to the last step.
    fn part(&mut self) {
        self.sealed = true;
        if self.group == Group::Grows {
            self.group = Group::Begins;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(undo: &mut Undo, count: usize) {
        for line in 0..count {
            let edit = Edit {
                start: Position::new(line, 0),
                removed: Fragment::default(),
                inserted: Fragment::plain("x"),
            };
            undo.record(edit, Position::new(line, 0), Kind::Other);
        }
    }

    /// How many edits each step has that is taken back, the last one first.
    fn taken_back(mut undo: Undo) -> Vec<usize> {
        std::iter::from_fn(|| undo.undo())
            .map(|step| step.len())
            .collect()
    }

    #[test]
    fn a_group_is_one_step_however_long() {
        let mut undo = Undo::default();
        record(&mut undo, 2);
        undo.open_group();
        record(&mut undo, 2 * LIMIT);
        undo.close_group();
        record(&mut undo, 3);
        assert_eq!(taken_back(undo.clone()), [1, 1, 1, 2 * LIMIT, 1, 1]);
        record(&mut undo, LIMIT);
        assert_eq!(taken_back(undo), [1; LIMIT]);
    }

    #[test]
    fn what_follows_a_step_back_is_another_step() {
        let mut undo = Undo::default();
        undo.open_group();
        record(&mut undo, 3);
        assert_eq!(undo.undo().map(|step| step.len()), Some(3));
        record(&mut undo, 2);
        assert_eq!(undo.redo(), None);
        assert_eq!(taken_back(undo), [2]);
    }
}

//! Undo and redo. Typing coalesces: the characters of a word are one step, each space is its own,
//! and consecutive single deletions are one step.

use std::collections::VecDeque;

use super::buffer::{Fragment, Position, TextEdit, end_of};

/// Maximum number of steps; the oldest are dropped first.
const LIMIT: usize = 1000;

/// The kind of an edit, for coalescing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditKind {
    /// One typed character.
    Typed,
    /// One character deleted before the cursor.
    DeletedLeft,
    /// One character deleted after the cursor.
    DeletedRight,
    /// Anything else: always a separate step.
    Other,
}

/// An edit with the cursor before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UndoEdit {
    pub edit: TextEdit,
    pub cursor: Position,
    kind: EditKind,
}

/// Edits that are undone together, at least one, oldest first.
pub(super) type Step = Vec<UndoEdit>;

/// The undo and redo stacks.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    done: VecDeque<Step>,
    undone: Vec<Step>,
    /// The next edit starts a new step or, in an open group, is not merged with the last edit.
    sealed: bool,
    group: Group,
}

/// Whether recorded edits form one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Group {
    #[default]
    None,
    /// The next edit starts the group.
    Begins,
    /// The group is the last step.
    Grows,
}

impl Undo {
    /// Prevents merging, after the cursor moved.
    pub(super) fn seal(&mut self) {
        self.sealed = true;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Starts a group: the following edits are one step.
    pub(super) fn open_group(&mut self) {
        self.group = Group::Begins;
    }

    /// Starts a group unless one is open.
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

    pub(super) fn record(&mut self, edit: TextEdit, cursor: Position, kind: EditKind) {
        self.undone.clear();
        let joins = !std::mem::replace(&mut self.sealed, false) && self.group != Group::Begins;
        if joins
            && let Some(last) = self.done.back_mut().and_then(|step| step.last_mut())
            && last.kind == kind
            && merge(&mut last.edit, &edit, kind)
        {
            return;
        }
        let done = UndoEdit { edit, cursor, kind };
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

    /// Moves the last step to the redo stack and returns it.
    pub(super) fn undo(&mut self) -> Option<Step> {
        let step = self.done.pop_back()?;
        self.undone.push(step.clone());
        self.separate();
        Some(step)
    }

    /// Moves the last undone step back to the undo stack and returns it.
    pub(super) fn redo(&mut self) -> Option<Step> {
        let step = self.undone.pop()?;
        self.done.push_back(step.clone());
        self.separate();
        Some(step)
    }

    /// Separates the following edits from the last step.
    fn separate(&mut self) {
        self.sealed = true;
        if self.group == Group::Grows {
            self.group = Group::Begins;
        }
    }
}

/// Merges `next` into `last` if they belong to one step.
fn merge(last: &mut TextEdit, next: &TextEdit, kind: EditKind) -> bool {
    match kind {
        EditKind::Typed => {
            let joins = next.start == end_of(last.start, &last.inserted)
                && is_word(&last.inserted)
                && is_word(&next.inserted)
                && next.removed.is_empty();
            if joins {
                last.inserted.append(&next.inserted);
            }
            joins
        }
        EditKind::DeletedLeft => {
            let joins = end_of(next.start, &next.removed) == last.start;
            if joins {
                let mut removed = next.removed.clone();
                removed.append(&last.removed);
                last.removed = removed;
                last.start = next.start;
            }
            joins
        }
        EditKind::DeletedRight => {
            let joins = next.start == last.start;
            if joins {
                last.removed.append(&next.removed);
            }
            joins
        }
        EditKind::Other => false,
    }
}

fn is_word(fragment: &Fragment) -> bool {
    fragment.chips.is_empty() && !fragment.text.ends_with(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(undo: &mut Undo, count: usize) {
        for line in 0..count {
            let edit = TextEdit {
                start: Position::new(line, 0),
                removed: Fragment::default(),
                inserted: Fragment::plain("x"),
            };
            undo.record(edit, Position::new(line, 0), EditKind::Other);
        }
    }

    /// The number of edits of each undone step, last step first.
    fn undone_steps(mut undo: Undo) -> Vec<usize> {
        std::iter::from_fn(|| undo.undo())
            .map(|step| step.len())
            .collect()
    }

    #[test]
    fn group_is_one_undo_step() {
        let mut undo = Undo::default();
        record(&mut undo, 2);
        undo.open_group();
        record(&mut undo, 2 * LIMIT);
        undo.close_group();
        record(&mut undo, 3);
        assert_eq!(undone_steps(undo.clone()), [1, 1, 1, 2 * LIMIT, 1, 1]);
        record(&mut undo, LIMIT);
        assert_eq!(undone_steps(undo), [1; LIMIT]);
    }

    #[test]
    fn edit_after_undo_is_a_new_step() {
        let mut undo = Undo::default();
        undo.open_group();
        record(&mut undo, 3);
        assert_eq!(undo.undo().map(|step| step.len()), Some(3));
        record(&mut undo, 2);
        assert_eq!(undo.redo(), None);
        assert_eq!(undone_steps(undo), [2]);
    }
}

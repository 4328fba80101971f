//! The history of positions in the tree, as a browser has it: every move keeps the position that it left. It is
//! derived from the moves in the session file, so it outlasts the program.

use std::collections::BTreeSet;

use osier_protocol::Jump;

/// Older positions than twice as many are forgotten.
const LIMIT: usize = 100;

/// Where the conversation continues: after `leaf`, before the prompt `before`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub leaf: Option<u32>,
    pub before: Option<u32>,
}

/// A position that a move left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    position: Position,
    /// The number of the move, if it undid a prompt and no message follows.
    undo: Option<u32>,
}

/// Earlier positions, and the positions that steps back have left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions {
    back: Vec<Left>,
    forward: Vec<Position>,
    /// The number of the move that the last move reverted, if it undid a prompt.
    redone: Option<u32>,
    /// The number of the last move that left each position, oldest first.
    leaving: Vec<(Position, u32)>,
    /// The positions that were left last, for entries elsewhere. They count until a move says that the leaf stays.
    strays: Vec<Position>,
    /// Entries of positions that were deleted. Their positions stay in the lists, so that reading the session file again gives the same
    /// history.
    gone: BTreeSet<u32>,
}

impl Positions {
    /// The position to which a step back from `from` leads.
    pub fn back(&self, from: Position) -> Option<Position> {
        let strays = self.strays.iter().copied();
        let back = self.back.iter().map(|left| left.position);
        self.newest_of(back.chain(strays), from)
    }

    /// The position that a step forward returns to.
    pub fn forward(&self, from: Position) -> Option<Position> {
        let newest = self.newest_of(self.forward.iter().copied(), from);
        newest.filter(|_| self.strays.is_empty())
    }

    /// The position before the last undone prompt was undone.
    pub fn undone(&self, from: Position) -> Option<Position> {
        let undone = self.back.iter().filter(|left| left.undo.is_some());
        let newest = self.newest_of(undone.map(|left| left.position), from);
        newest.filter(|_| self.strays.is_empty())
    }

    /// The number of the last move that left the position `from`.
    pub(super) fn left_by(&self, from: Position) -> Option<u32> {
        let mut leaving = self.leaving.iter();
        let found = leaving.find(|(position, _)| *position == from);
        found.map(|(_, number)| *number)
    }

    fn leave(&mut self, from: Position, number: u32) {
        self.leaving.retain(|(position, _)| *position != from);
        self.leaving.push((from, number));
        if self.leaving.len() > 2 * LIMIT {
            self.leaving.drain(..LIMIT);
        }
    }

    /// The number of the move that undid a prompt and that `redo` reverts: the last one, or with `is_done` the one that the
    /// last move has reverted.
    pub(super) fn undo_of(&self, from: Position, is_done: bool) -> Option<u32> {
        if is_done {
            return self.redone;
        }
        let to = self.undone(from)?;
        let mut newest_first = self.back.iter().rev();
        newest_first.find(|left| left.position == to)?.undo
    }

    /// The newest position that still exists and differs from `from`.
    fn newest_of(
        &self,
        oldest_first: impl DoubleEndedIterator<Item = Position>,
        from: Position,
    ) -> Option<Position> {
        let mut others = oldest_first.rev().filter(|position| *position != from);
        others.find(|position| self.exists(position))
    }

    fn exists(&self, position: &Position) -> bool {
        position.leaf.is_none_or(|leaf| !self.gone.contains(&leaf))
    }

    /// The entries of the newest `count` positions, newest first.
    pub fn newest(&self, count: usize) -> Vec<u32> {
        // They are newer than what steps back left.
        let forward = self.forward.iter().filter(|_| !self.strays.is_empty());
        let back = self.back.iter().map(|left| &left.position);
        let oldest_first = back.chain(forward).chain(&self.strays);
        let existing = oldest_first.rev().filter(|position| self.exists(position));
        let newest = existing.take(count);
        newest.filter_map(|position| position.leaf).collect()
    }

    /// Finds out which entries of positions were deleted.
    pub(super) fn forget(&mut self, is_deleted: impl Fn(u32) -> bool) {
        let back = self.back.iter().map(|left| &left.position);
        let all = back.chain(&self.forward).chain(&self.strays);
        let leaves = all.filter_map(|position| position.leaf);
        self.gone = leaves.filter(|leaf| is_deleted(*leaf)).collect();
    }

    /// An entry was stored elsewhere: the leaf is there, unless a move says that it stays.
    pub(super) fn stray(&mut self, from: Position) {
        self.strays.push(from);
    }

    /// An entry was stored after the leaf, so the leaf did move.
    pub(super) fn continued(&mut self) {
        for from in std::mem::take(&mut self.strays) {
            self.forget_undo();
            self.push(from, None);
        }
    }

    fn push(&mut self, position: Position, undo: Option<u32>) {
        let forward = std::mem::take(&mut self.forward).into_iter();
        self.back.extend(forward.map(|position| Left {
            position,
            undo: None,
        }));
        self.back.push(Left { position, undo });
        if self.back.len() > 2 * LIMIT {
            self.back.drain(..LIMIT);
        }
    }

    /// A message follows: undone prompts stay undone.
    pub(super) fn forget_undo(&mut self) {
        for left in &mut self.back {
            left.undo = None;
        }
        self.redone = None;
    }

    /// Applies the move with this number.
    pub(super) fn jump(&mut self, number: u32, from: Position, to: Position, jump: Jump) {
        if jump == Jump::Stay {
            return self.strays.clear();
        }
        self.continued();
        self.redone = None;
        if from != to {
            self.leave(from, number);
        }
        match jump {
            // A deletion made both positions equal, so nothing moves.
            _ if from == to => {}
            Jump::Back if !self.back.is_empty() => {
                let found = self.back.iter().rposition(|left| left.position == to);
                let place = found.unwrap_or(self.back.len() - 1);
                // The newer positions are those of deleted entries.
                self.redone = self.back[place].undo;
                self.back.truncate(place);
                self.forward.push(from);
            }
            Jump::Forward if !self.forward.is_empty() => {
                let found = self.forward.iter().rposition(|position| *position == to);
                self.forward
                    .truncate(found.unwrap_or(self.forward.len() - 1));
                self.forget_undo();
                self.back.push(Left {
                    position: from,
                    undo: None,
                });
            }
            Jump::Undo => self.push(from, Some(number)),
            _ => {
                self.forget_undo();
                self.push(from, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(leaf: u32) -> Position {
        Position {
            leaf: Some(leaf),
            before: None,
        }
    }

    /// Moves through these positions, and returns the history.
    fn moved(start: u32, jumps: &[(u32, Jump)]) -> Positions {
        let (mut positions, mut from) = (Positions::default(), at(start));
        for (number, (to, jump)) in (100..).zip(jumps) {
            positions.jump(number, from, at(*to), *jump);
            from = at(*to);
        }
        positions
    }

    #[test]
    fn steps_go_back_and_forward_and_a_new_move_loses_no_position() {
        let steps = [(2, Jump::Usual), (3, Jump::Usual), (2, Jump::Back)];
        let positions = moved(9, &steps);
        assert_eq!(positions.back(at(2)), Some(at(9)));
        assert_eq!(positions.forward(at(2)), Some(at(3)));
        let elsewhere = [&steps[..], &[(5, Jump::Usual)]].concat();
        let positions = moved(9, &elsewhere);
        assert_eq!(positions.newest(5), [2, 3, 9]);
        assert_eq!(positions.forward(at(5)), None);
    }

    #[test]
    fn the_last_move_that_left_a_position_is_known() {
        let steps = [(2, Jump::Usual), (3, Jump::Usual), (2, Jump::Back)];
        let positions = moved(9, &[&steps[..], &[(9, Jump::Back)]].concat());
        let left_by = [9, 2, 3, 4].map(|leaf| positions.left_by(at(leaf)));
        assert_eq!(left_by, [Some(100), Some(103), Some(102), None]);
    }

    #[test]
    fn undone_prompts_are_redone_until_a_message_follows() {
        let undone = [(6, Jump::Undo), (3, Jump::Undo)];
        let mut positions = moved(9, &undone);
        assert_eq!(positions.undone(at(3)), Some(at(6)));
        let undo_of = |positions: &Positions, from| {
            let [next, done] = [false, true].map(|is_done| positions.undo_of(from, is_done));
            (next, done)
        };
        assert_eq!(undo_of(&positions, at(3)), (Some(101), None));
        positions.jump(102, at(3), at(6), Jump::Back);
        assert_eq!(positions.undone(at(6)), Some(at(9)));
        assert_eq!(undo_of(&positions, at(6)), (Some(100), Some(101)));
        positions.forget_undo();
        assert_eq!(undo_of(&positions, at(6)), (None, None));
        let seen = (positions.undone(at(6)), positions.back(at(6)));
        assert_eq!(seen, (None, Some(at(9))));
    }

    #[test]
    fn redo_passes_over_positions_that_no_undo_left() {
        let visited = [(6, Jump::Undo), (3, Jump::Undo), (6, Jump::Back)];
        let again = [(2, Jump::Undo), (6, Jump::Back)];
        let positions = moved(9, &[&visited[..], &again[..]].concat());
        assert_eq!(positions.back(at(6)), Some(at(3)));
        assert_eq!(positions.undone(at(6)), Some(at(9)));
    }

    #[test]
    fn entries_of_other_branches_leave_no_position() {
        let mut positions = moved(9, &[(2, Jump::Usual)]);
        let before = positions.clone();
        positions.stray(at(2));
        positions.stray(at(11));
        assert_eq!(positions.newest(5), [11, 2, 9]);
        positions.jump(103, at(12), at(2), Jump::Stay);
        assert_eq!(positions, before);
        // A summary on another branch is a move.
        positions.stray(at(2));
        positions.continued();
        positions.jump(103, at(14), at(14), Jump::Stay);
        assert_eq!(positions.newest(5), [2, 9]);
    }

    #[test]
    fn entries_of_other_branches_leave_the_steps_forward_and_the_undone_prompts() {
        let undone = [(6, Jump::Undo), (3, Jump::Undo), (6, Jump::Back)];
        let mut positions = moved(9, &undone);
        let before = positions.clone();
        positions.stray(at(6));
        let all = |positions: &Positions, from| {
            let [back, forward] = [positions.back(from), positions.forward(from)];
            (back, forward, positions.undone(from))
        };
        assert_eq!(all(&positions, at(11)), (Some(at(6)), None, None));
        assert_eq!(positions.newest(5), [6, 3, 9]);
        positions.jump(103, at(11), at(6), Jump::Stay);
        assert_eq!(positions, before);
        let known = (Some(at(9)), Some(at(3)), Some(at(9)));
        assert_eq!(all(&positions, at(6)), known);
    }

    #[test]
    fn positions_of_a_deleted_branch_are_left_out_and_the_file_gives_the_same_again() {
        let moves = [(7, Jump::Usual), (2, Jump::Undo), (8, Jump::Undo)];
        let mut positions = moved(9, &moves);
        // Entry 2 is deleted while the conversation is at 8.
        positions.forget(|entry| entry == 2);
        assert_eq!(positions.newest(5), [7, 9]);
        assert_eq!(positions.undone(at(8)), Some(at(7)));
        positions.jump(103, at(8), at(7), Jump::Back);
        let mut again = moved(9, &[&moves[..], &[(7, Jump::Back)]].concat());
        for positions in [&mut again, &mut positions] {
            positions.forget(|entry| entry == 2);
        }
        assert_eq!(again, positions);
        assert_eq!(positions.back(at(7)), Some(at(9)));
        assert_eq!(positions.undone(at(7)), None);
        // The first position has no earlier one.
        positions.jump(103, at(7), at(9), Jump::Back);
        assert_eq!(positions.back(at(9)), None);
    }
}

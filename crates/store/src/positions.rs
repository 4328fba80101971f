//! The history of positions in the tree, as a browser has it: every move keeps the position that it left. It is
//! derived from the moves in the session file, so it outlasts the program.

use osier_protocol::Jump;

/// Older positions than twice as many are forgotten.
const LIMIT: usize = 100;

/// Where the conversation continues: after `leaf`, before the prompt `before`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub leaf: Option<u32>,
    pub before: Option<u32>,
}

/// Earlier positions, and the positions that steps back have left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions {
    back: Vec<Position>,
    forward: Vec<Position>,
    /// The newest moves that undid a prompt, without a message after them.
    undone: usize,
    /// The positions that were left last, for entries elsewhere. They count until a move says that the leaf stays.
    strays: Vec<Position>,
}

impl Positions {
    /// The position that a step back returns to.
    pub fn back(&self) -> Option<Position> {
        self.strays.last().or(self.back.last()).copied()
    }

    /// The position that a step forward returns to.
    pub fn forward(&self) -> Option<Position> {
        let newest = self.forward.last().copied();
        newest.filter(|_| self.strays.is_empty())
    }

    /// The position before the last undone prompt was undone.
    pub fn undone(&self) -> Option<Position> {
        let newest = self.back.last().copied();
        newest.filter(|_| self.undone > 0 && self.strays.is_empty())
    }

    /// The entries of the newest `count` positions, newest first.
    pub fn newest(&self, count: usize) -> Vec<u32> {
        // They are newer than what steps back left.
        let forward = self.forward.iter().filter(|_| !self.strays.is_empty());
        let oldest_first = self.back.iter().chain(forward).chain(&self.strays);
        let newest = oldest_first.rev().take(count);
        newest.filter_map(|position| position.leaf).collect()
    }

    /// Forgets positions at entries that `keeps` refuses.
    pub(super) fn retain(&mut self, keeps: impl Fn(u32) -> bool) {
        let keeps = |position: &Position| {
            let mut entries = position.leaf.into_iter().chain(position.before);
            entries.all(&keeps)
        };
        self.back.retain(keeps);
        self.forward.retain(keeps);
        self.strays.retain(keeps);
        self.undone = self.undone.min(self.back.len());
    }

    /// An entry was stored elsewhere: the leaf is there, unless a move says that it stays.
    pub(super) fn stray(&mut self, from: Position) {
        self.strays.push(from);
    }

    /// An entry was stored after the leaf, so the leaf did move.
    pub(super) fn continued(&mut self) {
        for from in std::mem::take(&mut self.strays) {
            self.push(from);
        }
    }

    fn push(&mut self, from: Position) {
        self.back.append(&mut self.forward);
        self.back.push(from);
        self.undone = 0;
        if self.back.len() > 2 * LIMIT {
            self.back.drain(..LIMIT);
        }
    }

    /// A message follows: undone prompts stay undone.
    pub(super) fn forget_undo(&mut self) {
        self.undone = 0;
    }

    pub(super) fn jump(&mut self, from: Position, to: Position, jump: Jump) {
        if jump == Jump::Stay {
            return self.strays.clear();
        }
        self.continued();
        let undone = self.undone;
        match jump {
            Jump::Back if self.back.pop().is_some() => {
                self.forward.push(from);
                self.undone = undone.saturating_sub(1);
            }
            Jump::Forward if self.forward.pop().is_some() => {
                self.back.push(from);
                self.undone = 0;
            }
            _ if from == to => {}
            jump => {
                self.push(from);
                if jump == Jump::Undo {
                    self.undone = undone + 1;
                }
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
        for (to, jump) in jumps {
            positions.jump(from, at(*to), *jump);
            from = at(*to);
        }
        positions
    }

    #[test]
    fn steps_go_back_and_forward_and_a_new_move_loses_no_position() {
        let steps = [(2, Jump::Usual), (3, Jump::Usual), (2, Jump::Back)];
        let positions = moved(9, &steps);
        assert_eq!(positions.back(), Some(at(9)));
        assert_eq!(positions.forward(), Some(at(3)));
        let elsewhere = [&steps[..], &[(5, Jump::Usual)]].concat();
        let positions = moved(9, &elsewhere);
        assert_eq!(positions.newest(5), [2, 3, 9]);
        assert_eq!(positions.forward(), None);
    }

    #[test]
    fn undone_prompts_are_redone_until_a_message_follows() {
        let undone = [(6, Jump::Undo), (3, Jump::Undo)];
        let mut positions = moved(9, &undone);
        assert_eq!(positions.undone(), Some(at(6)));
        positions.jump(at(3), at(6), Jump::Back);
        assert_eq!(positions.undone(), Some(at(9)));
        positions.forget_undo();
        assert_eq!((positions.undone(), positions.back()), (None, Some(at(9))));
    }

    #[test]
    fn entries_of_other_branches_leave_no_position() {
        let mut positions = moved(9, &[(2, Jump::Usual)]);
        let before = positions.clone();
        positions.stray(at(2));
        positions.stray(at(11));
        assert_eq!(positions.newest(5), [11, 2, 9]);
        positions.jump(at(12), at(2), Jump::Stay);
        assert_eq!(positions, before);
        // A summary on another branch is a move.
        positions.stray(at(2));
        positions.continued();
        positions.jump(at(14), at(14), Jump::Stay);
        assert_eq!(positions.newest(5), [2, 9]);
    }

    #[test]
    fn entries_of_other_branches_leave_the_steps_forward_and_the_undone_prompts() {
        let undone = [(6, Jump::Undo), (3, Jump::Undo), (6, Jump::Back)];
        let mut positions = moved(9, &undone);
        let before = positions.clone();
        positions.stray(at(6));
        let seen = (positions.back(), positions.forward(), positions.undone());
        assert_eq!(seen, (Some(at(6)), None, None));
        assert_eq!(positions.newest(5), [6, 3, 9]);
        positions.jump(at(11), at(6), Jump::Stay);
        assert_eq!(positions, before);
        let seen = (positions.back(), positions.forward(), positions.undone());
        assert_eq!(seen, (Some(at(9)), Some(at(3)), Some(at(9))));
    }
}

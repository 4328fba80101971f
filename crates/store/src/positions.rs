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

/// Earlier positions, and those that steps back left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions {
    back: Vec<Position>,
    forward: Vec<Position>,
    /// The newest moves that undid a prompt, without a message after them.
    undone: usize,
    /// The newest positions that were left without a move: for entries of other branches, if the leaf stays.
    strays: usize,
}

impl Positions {
    /// The position that a step back returns to.
    pub fn back(&self) -> Option<Position> {
        self.back.last().copied()
    }

    /// The position that a step forward returns to.
    pub fn forward(&self) -> Option<Position> {
        self.forward.last().copied()
    }

    /// The position before the last undone prompt was undone.
    pub fn undone(&self) -> Option<Position> {
        self.back().filter(|_| self.undone > 0)
    }

    /// The entries of the newest `count` positions, newest first.
    pub fn newest(&self, count: usize) -> Vec<u32> {
        let newest = self.back.iter().rev().take(count);
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
        self.undone = self.undone.min(self.back.len());
    }

    /// An entry was stored on another branch.
    pub(super) fn stray(&mut self, from: Position) {
        self.push(from);
        self.strays += 1;
    }

    /// An entry was stored on this branch.
    pub(super) fn continued(&mut self) {
        self.strays = 0;
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
        let (undone, strays) = (self.undone, std::mem::take(&mut self.strays));
        match jump {
            Jump::Stay => self.back.truncate(self.back.len().saturating_sub(strays)),
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
        positions.jump(at(12), at(2), Jump::Stay);
        assert_eq!(positions, before);
        // A summary on another branch is a move.
        positions.stray(at(2));
        positions.continued();
        positions.jump(at(14), at(14), Jump::Stay);
        assert_eq!(positions.newest(5), [2, 9]);
    }
}

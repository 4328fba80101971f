//! The expected state of a session: its conversation, its editor, its model and its history of positions, computed from the
//! operations alone.

use std::collections::BTreeMap;

/// The work that a prompt asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The model answers.
    Say,
    /// The model writes the number of the prompt to [`FILE`], then answers.
    Put,
}

/// The file that the model and the user write.
pub(super) const FILE: &str = "state.txt";

/// A prompt and its answer.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) has_picture: bool,
    /// The id of the model that answered.
    pub(super) model: String,
    /// The branch before the turn.
    pub(super) before: Vec<Step>,
    /// The content of the file when the prompt was sent.
    pub(super) file: Option<String>,
    pub(super) prompt_id: String,
    pub(super) answer_id: String,
}

impl Turn {
    pub(super) fn text(&self) -> String {
        let word = match self.kind {
            Kind::Say => "say",
            Kind::Put => "put",
        };
        format!("GO {word} {}", self.number)
    }

    /// The prompt as a line.
    pub(super) fn prompt(&self) -> String {
        let picture = if self.has_picture { " picture" } else { "" };
        format!("user {}{picture}", self.text())
    }

    /// All messages of the turn.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.prompt()];
        if self.kind == Kind::Put {
            lines.extend(["call".to_owned(), "result".to_owned()]);
        }
        lines.push(format!("assistant done {} {}", self.number, self.model));
        lines
    }
}

/// A part of a branch: the number of a turn, or a summary of everything before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Turn(usize),
    Summary { from: usize },
}

/// Where a conversation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) path: Vec<Step>,
    /// The turn whose prompt is in the editor.
    pub(super) editor: Option<usize>,
    pub(super) model: String,
    /// The current entry, as osier reports it.
    pub(super) leaf: Option<String>,
}

impl Position {
    /// Whether both positions continue the conversation at the same entry, with the same prompt in the editor.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.leaf, self.editor) == (&other.leaf, other.editor)
    }

    /// The turns of the branch.
    pub(super) fn turns(&self) -> Vec<usize> {
        let steps = self.path.iter();
        steps
            .filter_map(|step| match step {
                Step::Turn(turn) => Some(*turn),
                Step::Summary { .. } => None,
            })
            .collect()
    }

    /// The messages of the branch as they are shown.
    pub(super) fn transcript(&self, turns: &[Turn]) -> Vec<String> {
        lines(&self.path, turns)
    }

    /// The messages that a model gets.
    pub(super) fn context(&self, turns: &[Turn]) -> Vec<String> {
        let is_summary = |step: &Step| matches!(step, Step::Summary { .. });
        let Some(at) = self.path.iter().rposition(is_summary) else {
            return self.transcript(turns);
        };
        let Step::Summary { from } = self.path[at] else {
            return Vec::new();
        };
        let first = self.path.iter().position(|step| *step == Step::Turn(from));
        let kept = self.path[first.unwrap_or(at)..].iter().copied();
        let kept: Vec<Step> = kept.filter(|step| !is_summary(step)).collect();
        let mut context = vec!["summary".to_owned()];
        context.extend(lines(&kept, turns));
        context
    }

    /// The turns before which a summary can end: the model gets something before each of them.
    pub(super) fn summary_ends(&self) -> Vec<usize> {
        let last = self.path.iter().rev().find_map(|step| match step {
            Step::Summary { from } => Some(*from),
            Step::Turn(_) => None,
        });
        let turns = self.turns();
        let first = last.and_then(|from| turns.iter().position(|turn| *turn == from));
        turns[first.unwrap_or(0)..]
            .iter()
            .skip(1)
            .copied()
            .collect()
    }
}

fn lines(path: &[Step], turns: &[Turn]) -> Vec<String> {
    let lines = path.iter().flat_map(|step| match step {
        Step::Turn(turn) => turns[*turn].lines(),
        Step::Summary { .. } => vec!["summary".to_owned()],
    });
    lines.collect()
}

/// How a move changes the history of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Jump {
    Usual,
    /// A move that `redo_prompt` reverts.
    Undo,
    Back,
    Forward,
}

/// A session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) id: String,
    /// The turns in the file of the session.
    pub(super) turns: Vec<usize>,
    pub(super) now: Position,
    /// Each with whether `redo_prompt` reverts the move that left it.
    back: Vec<(Position, bool)>,
    forward: Vec<(Position, bool)>,
    /// The last entry that osier has reported.
    pub(super) last_entry: Option<String>,
    /// The labels of entries.
    pub(super) labels: BTreeMap<String, String>,
    /// The last turn that a copy has from its source.
    pub(super) end_of_copy: Option<usize>,
}

impl Session {
    pub(super) fn new(id: String, turns: Vec<usize>, now: Position) -> Self {
        Self {
            id,
            turns,
            now,
            back: Vec::new(),
            forward: Vec::new(),
            last_entry: None,
            labels: BTreeMap::new(),
            end_of_copy: None,
        }
    }

    /// The position to which a step leads: the newest one that differs from the current one.
    pub(super) fn target(&self, jump: Jump) -> Option<Position> {
        match jump {
            Jump::Forward => self.newest_other(&self.forward, |_| true),
            _ => self.newest_other(&self.back, |_| true),
        }
    }

    /// Where `redo_prompt` leads.
    pub(super) fn redo(&self) -> Option<Position> {
        self.newest_other(&self.back, |is_undo| is_undo)
    }

    fn newest_other(
        &self,
        list: &[(Position, bool)],
        counts: impl Fn(bool) -> bool,
    ) -> Option<Position> {
        let mut others = list.iter().rev();
        let found = others.find(|(other, is_undo)| counts(*is_undo) && !other.is_at(&self.now));
        found.map(|(position, _)| position.clone())
    }

    /// Undone prompts stay undone.
    fn forget_undo(&mut self) {
        for (_, is_undo) in &mut self.back {
            *is_undo = false;
        }
    }

    pub(super) fn jump(&mut self, to: Position, jump: Jump) {
        let from = std::mem::replace(&mut self.now, to);
        let is_same = from.is_at(&self.now);
        match jump {
            Jump::Back => {
                take(&mut self.back, &self.now);
                self.forward.push((from, false));
            }
            Jump::Forward => {
                take(&mut self.forward, &self.now);
                self.forget_undo();
                self.back.push((from, false));
            }
            Jump::Usual | Jump::Undo if is_same => {}
            Jump::Usual | Jump::Undo => {
                if jump == Jump::Usual {
                    self.forget_undo();
                }
                self.back.append(&mut self.forward);
                self.back.push((from, jump == Jump::Undo));
                // osier remembers no more than 200 positions.
                if self.back.len() > 200 {
                    self.back.drain(..100);
                }
            }
        }
    }

    /// The turn and all turns below it, on every branch.
    pub(super) fn below(&self, top: usize, turns: &[Turn]) -> Vec<usize> {
        let mut below = self.turns.clone();
        below.retain(|turn| *turn == top || turns[*turn].before.contains(&Step::Turn(top)));
        below
    }

    /// Removes deleted turns, the positions at them, and moves between positions that are equal after the deletion.
    pub(super) fn forget(&mut self, gone: &[usize]) {
        self.turns.retain(|turn| !gone.contains(turn));
        let forget = |position: &mut Position| {
            position.editor = position.editor.filter(|turn| !gone.contains(turn));
            !position.turns().iter().any(|turn| gone.contains(turn))
        };
        forget(&mut self.now);
        for list in [&mut self.back, &mut self.forward] {
            let mut next = self.now.clone();
            let mut kept = Vec::new();
            for (mut position, is_undo) in std::mem::take(list).into_iter().rev() {
                if forget(&mut position) && !position.is_at(&next) {
                    next = position.clone();
                    kept.push((position, is_undo));
                }
            }
            kept.reverse();
            *list = kept;
        }
    }

    /// Adds a turn at the end of the branch.
    pub(super) fn continued(&mut self, turn: usize) {
        self.now.path.push(Step::Turn(turn));
        self.now.editor = None;
        self.turns.push(turn);
        self.forget_undo();
    }
}

/// Removes the newest position equal to `to`, and the newer ones, which a step passes over.
fn take(list: &mut Vec<(Position, bool)>, to: &Position) {
    let place = list.iter().rposition(|(position, _)| position.is_at(to));
    list.truncate(place.unwrap_or(list.len()));
}

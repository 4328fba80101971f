//! Calls that wait for a permission: their cells show what they would do, and the conversation ends with the call whose
//! question is open.

use super::cell::Body;
use super::state::{Position, Transcript};
use super::tool::ToolCell;
use osier_protocol::questions::{Question, QuestionKind};

impl Transcript {
    /// A question waits: the cell of its call shows what the call would do.
    pub(super) fn propose(&mut self, question: &Question) {
        let QuestionKind::Permission { call_id, .. } = &question.kind else {
            return;
        };
        let is_known = self.proposals.iter().any(|known| known.id == question.id);
        if question.subject.is_none() || is_known {
            return;
        }
        self.proposals.push(question.clone());
        if !self.near.calls.contains_key(call_id) {
            let _ = self.join_call(call_id);
        }
        self.show_proposal(call_id);
    }

    /// The cell of a call was added: if a question about the call waits, the cell shows what the
    /// call would do.
    pub(super) fn show_proposal(&mut self, call_id: &str) {
        let is_its = |question: &&Question| call_of(question) == Some(call_id);
        let question = self.proposals.iter().find(is_its);
        if let (Some(question), Some(place)) = (question, self.near.calls.get(call_id)) {
            let change = |cell: &mut ToolCell| cell.propose(Some(question));
            self.near.change_tool(*place, change);
        }
    }

    /// Ends the questions with these ids.
    pub(super) fn withdraw(&mut self, ends: impl Fn(&str) -> bool) {
        let ended = self.proposals.extract_if(.., |question| ends(&question.id));
        for question in ended.collect::<Vec<_>>() {
            let place = call_of(&question).and_then(|call| self.near.calls.get(call));
            if let Some(place) = place.copied() {
                self.near.change_tool(place, |cell| cell.propose(None));
            }
        }
    }

    /// A question opens or closes. The conversation goes to its end, so that the call is on the screen.
    pub(crate) fn set_open_question(&mut self, id: Option<&str>) {
        if self.open_question.as_deref() == id {
            return;
        }
        self.open_question = id.map(str::to_owned);
        if id.is_some() {
            self.leave_away();
            self.position = Position::Follow;
            self.below = None;
        }
    }

    /// Whether the open question is about a call whose cell shows what it would do.
    pub(crate) fn shows_open_question(&self) -> bool {
        self.asking_cell().is_some()
    }

    /// The rows of the call of the open question that are above the viewport, and all rows from the viewport to the end of
    /// the call, as of the last frame.
    pub(crate) fn cut_proposal(&mut self) -> (usize, usize) {
        let Some(asking) = self.asking_cell() else {
            return (0, 0);
        };
        let (top, row) = self.top();
        let height = self.full_height(asking);
        let gap = self.strip().gap(asking, self.style);
        let covered = usize::from(self.prompt_above().is_some());
        if asking < top {
            return (height - gap, 0);
        }
        let mut above = 0;
        if asking == top {
            above = (row + covered).saturating_sub(gap);
        }
        let before: usize = (top..asking).map(|cell| self.full_height(cell)).sum();
        let end = (before + height).saturating_sub(row);
        let below = end.saturating_sub(usize::from(self.viewport.1));
        (above.min(height - gap), below)
    }

    /// The cell after the last one that is shown at the end.
    pub(super) fn end(&self) -> usize {
        let end = self.strip().cells.len();
        self.asking_cell().map_or(end, |cell| cell + 1)
    }

    /// The cell of the call that the open question is about.
    fn asking_cell(&self) -> Option<usize> {
        let open = self.open_question.as_deref()?;
        let question = self.proposals.iter().find(|question| question.id == open)?;
        let place = *self.near.calls.get(call_of(question)?)?;
        let body = &self.near.cells.get(place)?.body;
        let is_shown = matches!(body, Body::Tool(cell) if cell.is_proposed());
        (self.away.is_none() && is_shown && !self.style.linear).then_some(place)
    }
}

/// The call that a question is about.
fn call_of(question: &Question) -> Option<&str> {
    match &question.kind {
        QuestionKind::Permission { call_id, .. } => Some(call_id),
        _ => None,
    }
}

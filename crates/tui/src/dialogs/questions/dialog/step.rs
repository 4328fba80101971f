//! The interface of a dialog's inputs: rows to draw, and the effects of keys.

use std::ops::Range;

use crate::actions::Action;
use osier_protocol::questions::Answer;
use osier_term::Row;

/// The effect of a key on the body.
#[derive(Debug)]
pub(super) enum Step {
    /// The input used the key.
    Stay,
    /// The key has no effect here.
    Unused,
    Answer(Answer),
    /// Opens the plan in the user's editor.
    EditPlan,
    /// Opens a text in the user's editor.
    EditText(String),
    /// Shows the input for a text.
    Write(Purpose),
    Act(Action),
}

/// The rows of a body, the row that must be visible, the cursor position, and the choices for the mouse.
#[derive(Debug, Default)]
pub(super) struct Painted {
    pub(super) rows: Vec<Row>,
    pub(super) focus: usize,
    pub(super) cursor: Option<(usize, usize)>,
    pub(super) hits: Vec<Hit>,
}

/// The cells of a choice.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) row: usize,
    pub(super) columns: Range<usize>,
    pub(super) choice: usize,
}

impl Painted {
    /// The shown rows: the first row and the number of rows. The row with the focus is one of them.
    pub(super) fn window(&self, room: usize) -> (usize, usize) {
        let shown = self.rows.len().min(room.max(1));
        let first = (self.focus + 1).saturating_sub(shown);
        (first.min(self.rows.len() - shown), shown)
    }
}

/// The purpose of a text that the user writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The answer to an input.
    Text,
    /// Another answer than the choices.
    Other,
    /// The reason of a refusal.
    Reason,
    /// The call's arguments; only its command where it has one.
    Call,
}

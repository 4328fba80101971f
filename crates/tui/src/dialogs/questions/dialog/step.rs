//! The interface of a dialog's inputs: rows to draw, and the effects of keys.

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
    /// Shows the input for a text.
    Write(Purpose),
    Act(Action),
}

/// The rows of a body, the row that must be visible, and the cursor position.
#[derive(Debug, Default)]
pub(super) struct Painted {
    pub(super) rows: Vec<Row>,
    pub(super) focus: usize,
    pub(super) cursor: Option<(usize, usize)>,
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

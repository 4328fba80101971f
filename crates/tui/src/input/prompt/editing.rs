//! The editing commands, for every text that the user edits.

use crate::actions::Command;
use osier_term::widgets::textarea::{Motion, TextArea};

/// Edits `area`, which holds any number of lines; false when nothing was done.
pub(crate) fn edit_area(area: &mut TextArea, command: Command) -> bool {
    match command {
        Command::Newline => {
            area.insert("\n");
            true
        }
        Command::Left => area.move_by(Motion::Left),
        Command::Right => area.move_by(Motion::Right),
        Command::WordLeft => area.move_by(Motion::WordLeft),
        Command::WordRight => area.move_by(Motion::WordRight),
        Command::LineStart => area.move_by(Motion::LineStart),
        Command::LineEnd => area.move_by(Motion::LineEnd),
        Command::BufferStart => area.move_by(Motion::BufferStart),
        Command::BufferEnd => area.move_by(Motion::BufferEnd),
        Command::DeleteBackward => area.delete(Motion::Left),
        Command::DeleteForward => area.delete(Motion::Right),
        Command::DeleteWordBackward => area.kill(Motion::WordLeft),
        Command::DeleteWordForward => area.kill(Motion::WordRight),
        Command::KillToLineStart => area.kill(Motion::LineStart),
        Command::KillToLineEnd => area.kill(Motion::LineEnd),
        Command::Yank => area.yank(),
        Command::YankPop => area.yank_pop(),
        Command::Undo => area.undo(),
        Command::Redo => area.redo(),
        _ => false,
    }
}

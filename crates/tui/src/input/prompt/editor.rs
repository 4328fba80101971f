//! The editor of the prompt: the text area and earlier prompts.

use super::completion::Completer;
use super::editing::edit_area;
use super::history::History;
use crate::actions::{Command, command::Category};
use osier_base::parts::Parts;
use osier_term::Row;
use osier_term::widgets::textarea::modal::Modal;
use osier_term::widgets::textarea::{Chip, Draft, DraftPart, Motion, Position, TextArea};

const PLACEHOLDER: &str = "Ask, or type / for commands";

/// The editor.
#[derive(Debug)]
pub struct Editor {
    pub(super) area: TextArea,
    pub(super) modal: Box<Modal>,
    history: History,
    pub(super) completer: Completer,
    /// Rows of the last view above and below it.
    hidden: (usize, usize),
}

/// Lines of a prompt that the history returns as a placeholder.
const LONG_PROMPT: usize = 50;
/// Characters of a prompt that the history returns as a placeholder.
const LONG_TEXT: usize = 2000;

impl Editor {
    pub fn new() -> Self {
        Self {
            area: TextArea::new(PLACEHOLDER),
            modal: Box::default(),
            history: History::default(),
            completer: Completer::default(),
            hidden: (0, 0),
        }
    }

    /// The text to send, pastes expanded.
    pub fn text(&self) -> String {
        self.area.text()
    }

    /// The parts of the draft; the text of a paste is shared, not copied.
    pub fn parts(&self) -> Parts {
        self.area.parts()
    }

    /// Counts the edits.
    pub fn edits(&self) -> u64 {
        self.area.edits()
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Whether the text would run as a command of the user.
    pub fn is_shell(&self) -> bool {
        self.area.line(0).trim_start().starts_with('!')
    }

    pub fn clear(&mut self) {
        self.set_text("");
        self.history.leave();
    }

    /// Replaces the text; undo restores the old one.
    pub fn set_text(&mut self, text: &str) {
        self.area.set_text(text);
        self.modal.reset(&mut self.area);
        self.completer.close();
    }

    /// Replaces the text, with pasted parts as placeholders.
    pub fn set_parts(&mut self, parts: &Parts) {
        self.area.set_parts(parts);
        self.modal.reset(&mut self.area);
        self.completer.close();
    }

    /// Puts a prompt with its chips in front of what is there, with a blank line between.
    pub fn put_draft_before(&mut self, mut pieces: Vec<DraftPart>) {
        let rest = self.area.snapshot();
        if !rest.is_empty() {
            pieces.push(DraftPart::Text("\n\n".to_owned()));
            pieces.extend(rest.parts);
        }
        let cursor = Position::new(usize::MAX, usize::MAX);
        self.area.restore(&Draft {
            parts: pieces,
            cursor,
        });
        self.modal.reset(&mut self.area);
        self.completer.close();
    }

    /// Starts a new line after a backslash at the end of the line. A shell command keeps the
    /// backslash. Returns false without a backslash.
    pub(crate) fn continue_line(&mut self) -> bool {
        let before = self.area.before_cursor();
        if !before.ends_with('\\') || before != self.area.line(self.area.cursor().line) {
            return false;
        }
        if !self.is_shell() {
            self.area.delete(Motion::Left);
        }
        self.area.insert("\n");
        true
    }

    pub fn insert_char(&mut self, character: char) {
        let mut buffer = [0; 4];
        let times = self.modal.take_times().unwrap_or(1);
        self.modal.touch(&mut self.area);
        for _ in 0..times {
            self.area.insert(character.encode_utf8(&mut buffer));
        }
        self.modal.edited(&mut self.area, false);
        self.history.leave();
    }

    pub fn paste(&mut self, text: &str) {
        self.modal.paste(&mut self.area, text);
        self.history.leave();
        self.completer.close();
    }

    /// Puts a chip at the cursor.
    pub fn insert_chip(&mut self, chip: Chip) {
        self.modal.touch(&mut self.area);
        self.area.insert_chip(chip);
        self.area.insert(" ");
        self.modal.edited(&mut self.area, false);
        self.completer.close();
    }

    /// The typed text with its chips.
    pub fn pieces(&self) -> Vec<DraftPart> {
        self.area.snapshot().parts
    }

    /// Numbers of the attachments whose chips are in the text, in their order.
    pub fn attachments(&self) -> Vec<u64> {
        self.area.attachments()
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn load_history(&mut self, prompts: Vec<String>) {
        self.history.load(prompts);
    }

    pub fn remember(&mut self, text: &str) {
        self.history.push(text);
    }

    /// Runs an editing command; false when it is not the editor's.
    pub fn on_command(&mut self, command: Command) -> bool {
        if self.completer.on_command(command, &mut self.area) {
            return true;
        }
        self.modal.touch(&mut self.area);
        let times = self.modal.take_times();
        if times.is_some_and(|times| times > 1) && is_editing(command) {
            for _ in 1..times.unwrap_or(1) {
                edit_area(&mut self.area, command);
            }
        }
        let moved = match command {
            Command::Up => self.area.move_by(Motion::Up(1)) || self.recall(true),
            Command::Down => self.area.move_by(Motion::Down(1)) || self.recall(false),
            // At the end of the text, the key has its other meaning.
            Command::DeleteForward if !edit_area(&mut self.area, command) => return false,
            Command::DeleteForward => true,
            command => edit_area(&mut self.area, command),
        };
        self.modal.edited(&mut self.area, is_motion(command));
        moved || is_editing(command)
    }

    /// Steps through the prompt history; false at its end.
    pub(super) fn recall(&mut self, earlier: bool) -> bool {
        let shown = if earlier {
            self.history.previous(&self.area.text()).map(str::to_owned)
        } else {
            self.history.next().map(str::to_owned)
        };
        let Some(text) = shown else { return false };
        self.set_text(&text);
        if text.lines().count() > LONG_PROMPT || text.chars().count() > LONG_TEXT {
            // A placeholder, as it was when it was pasted.
            self.area.set_text("");
            self.area.paste(&text);
            self.modal.reset(&mut self.area);
        }
        true
    }

    /// Rows the text wants at `width`.
    pub fn height(&mut self, width: u16, limit: u16) -> u16 {
        self.area.height(usize::from(width), usize::from(limit)) as u16
    }

    /// The visible rows and the cursor's cell among them.
    pub fn rows(&mut self, width: u16, height: u16) -> (Vec<Row>, (u16, u16)) {
        self.area.set_selection(self.modal.selection(&self.area));
        let view = self.area.view(usize::from(width), usize::from(height));
        self.hidden = (view.above, view.below);
        (view.rows, view.cursor)
    }

    /// Rows above and below the last view.
    pub fn hidden_rows(&self) -> (usize, usize) {
        self.hidden
    }
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

/// Commands that belong to the editor even when they change nothing.
fn is_editing(command: Command) -> bool {
    command
        .info()
        .is_some_and(|info| info.category == Category::Editor)
}

/// Commands that only move the cursor.
fn is_motion(command: Command) -> bool {
    matches!(
        command,
        Command::Left
            | Command::Right
            | Command::Up
            | Command::Down
            | Command::WordLeft
            | Command::WordRight
            | Command::LineStart
            | Command::LineEnd
            | Command::BufferStart
            | Command::BufferEnd
    )
}

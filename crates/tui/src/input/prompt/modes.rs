//! The editor under a keymap with modes or regions: actions go to the state machine; vertical motions beyond the
//! text step through the prompt history.

use super::Editor;
use crate::actions::Command;
use osier_term::input::KeyCode;
use osier_term::keymap::Lookup;
use osier_term::widgets::textarea::modal::{Edit, EditorRequest, Modal, Mode, Outcome};
use osier_term::{KeyPress, Keymap};

impl Editor {
    /// Sets whether there are modes; a change drops the pending command.
    pub fn set_modes(&mut self, modes: bool) {
        if self.modal.has_modes() != modes {
            *self.modal = Modal::new(modes);
        }
    }

    pub fn modal(&self) -> &Modal {
        &self.modal
    }

    pub fn take_requests(&mut self) -> Vec<EditorRequest> {
        self.modal.take_requests()
    }

    /// Runs an action of a modal keymap.
    pub fn edit(&mut self, edit: Edit) -> Outcome {
        // Esc closes the list first.
        if edit == Edit::NORMAL_MODE && self.completer.close() && !self.modal.has_modes() {
            return Outcome::Done;
        }
        self.completer.close();
        let outcome = self.modal.run(&mut self.area, edit);
        match edit {
            Edit::UP | Edit::DOWN if outcome == Outcome::Unused => {
                if self.recall(edit == Edit::UP) && self.modal.has_modes() {
                    self.modal.run(&mut self.area, Edit::NORMAL_MODE);
                }
                Outcome::Done
            }
            _ => outcome,
        }
    }

    /// Handles a key that the editor waits for, whatever it is bound to; false for any other.
    pub(crate) fn handle_awaited(&mut self, key: KeyPress, keymap: &Keymap<Command>) -> bool {
        if let Some(char) = key.typed().filter(|char| self.modal.wants(*char)) {
            self.argument(char);
            return true;
        }
        if !self.modal.is_searching() {
            return false;
        }
        let bound = match keymap.lookup(&["editor"], &[], key) {
            Lookup::Actions(commands) => commands.into_iter().next(),
            Lookup::Prefix | Lookup::None => None,
        };
        match (key.code, bound) {
            (_, Some(Command::Edit(edit @ (Edit::FIND_TEXT | Edit::FIND_TEXT_BACK)))) => {
                let back = edit == Edit::FIND_TEXT_BACK;
                self.modal.find_more(&mut self.area, back);
            }
            (KeyCode::Enter, _) => self.modal.search_key(&mut self.area, true),
            (KeyCode::Backspace, _) => self.modal.search_key(&mut self.area, false),
            (KeyCode::Esc, _) | (_, Some(Command::Edit(Edit::DROP_MARK))) => {
                self.modal.leave_search(&mut self.area);
            }
            // Any other key ends the search at the match and keeps its meaning.
            _ => {
                self.modal.end_search();
                return false;
            }
        }
        true
    }

    /// A digit of a count; false for any other key.
    pub(crate) fn handle_digit(&mut self, key: KeyPress) -> bool {
        let digit = match key.code {
            KeyCode::Char(digit) if digit.is_ascii_digit() => digit,
            _ => return false,
        };
        self.edit(Edit::DIGIT);
        self.argument(digit);
        true
    }

    /// Handles a click: the cursor goes there, or the word there is selected.
    pub fn click(&mut self, at: (u16, u16), selects_word: bool) {
        self.completer.close();
        self.modal.click(&mut self.area, at, selects_word);
    }

    /// Handles a character outside of insert mode.
    pub fn argument(&mut self, char: char) {
        self.modal.char(&mut self.area, char);
    }

    /// Drops the pending command after an unbound key sequence.
    pub fn drop_begun(&mut self) {
        if self.modal.mode() != Mode::Insert {
            self.modal.char(&mut self.area, '\0');
        }
    }

    pub fn clipboard(&mut self, text: &str) {
        self.modal.clipboard(&mut self.area, text);
    }
}

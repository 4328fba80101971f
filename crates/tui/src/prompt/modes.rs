//! The editor under a keymap with modes or regions: actions go to the state machine; vertical motions beyond the
//! text step through the prompt history.

use super::Editor;
use osier_term::widgets::textarea::modal::{Edit, EditorRequest, Modal, Mode, Outcome};

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
        if edit == Edit::NormalMode && self.completion.take().is_some() && !self.modal.has_modes() {
            return Outcome::Done;
        }
        self.completion = None;
        let outcome = self.modal.run(&mut self.area, edit);
        match edit {
            Edit::Up | Edit::Down if outcome == Outcome::Unused => {
                if self.recall(edit == Edit::Up) && self.modal.has_modes() {
                    self.modal.run(&mut self.area, Edit::NormalMode);
                }
                Outcome::Done
            }
            _ => outcome,
        }
    }

    /// Handles a click: the cursor goes there, or the word there is selected.
    pub fn click(&mut self, at: (u16, u16), selects_word: bool) {
        self.completion = None;
        self.modal.click(&mut self.area, at, selects_word);
    }

    /// Handles a character outside of insert mode.
    pub fn argument(&mut self, char: char) {
        self.modal.char(&mut self.area, char);
    }

    pub fn search_key(&mut self, accept: bool) {
        self.modal.search_key(&mut self.area, accept);
    }

    pub fn leave_search(&mut self) {
        self.modal.leave_search(&mut self.area);
    }

    pub fn end_search(&mut self) {
        self.modal.end_search();
    }

    pub fn find_more(&mut self, back: bool) {
        self.modal.find_more(&mut self.area, back);
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

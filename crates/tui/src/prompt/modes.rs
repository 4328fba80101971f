//! The editor under a keymap with modes or regions: steps go to the state machine, and what it has no use for
//! walks through the history.

use super::Editor;
use osier_term::input::{KeyCode, KeyPress};
use osier_term::widgets::textarea::modal::{Edit, Modal, Mode, Outcome, Request};

impl Editor {
    /// Whether there are modes; what was begun in others is dropped.
    pub fn set_modes(&mut self, modes: bool) {
        if self.modal.has_modes() != modes {
            *self.modal = Modal::new(modes);
        }
    }

    pub fn modal(&self) -> &Modal {
        &self.modal
    }

    pub fn take_requests(&mut self) -> Vec<Request> {
        self.modal.take_requests()
    }

    /// Runs a step of a modal keymap.
    pub fn edit(&mut self, edit: Edit) -> Outcome {
        // Esc closes the list first.
        if edit == Edit::NormalMode && self.completion.take().is_some() && !self.modal.has_modes() {
            return Outcome::Done;
        }
        self.completion = None;
        let outcome = self.modal.run(&mut self.area, edit);
        match edit {
            // Keys that are played stay in the prompt.
            Edit::Up | Edit::Down if outcome == Outcome::Unused && !self.macros.is_playing() => {
                if self.recall(edit == Edit::Up) && self.modal.has_modes() {
                    self.modal.run(&mut self.area, Edit::NormalMode);
                }
                Outcome::Done
            }
            _ => outcome,
        }
    }

    /// The mouse: the cursor goes there, or the word there is selected.
    pub fn click(&mut self, at: (u16, u16), selects_word: bool) {
        self.completion = None;
        self.modal.click(&mut self.area, at, selects_word);
    }

    /// A key was pressed; `begins` where no sequence was begun before it.
    pub fn note_key(&mut self, key: KeyPress, begins: bool) {
        self.macros.press(key, begins);
    }

    /// Keeps keys for a register, or ends that.
    pub fn keep_keys(&mut self, register: Option<char>) {
        match register {
            Some(register) => self.macros.begin(register),
            None => {
                if let Some((register, typed)) = self.macros.end(|key| key.typed()) {
                    self.modal.keys_kept(register, &typed);
                }
            }
        }
    }

    pub fn play(&mut self, register: char, text: &str, times: usize) {
        self.macros.play(register, text, times, |char| match char {
            '\n' => KeyPress::plain(KeyCode::Enter),
            char => KeyPress::char(char),
        });
    }

    /// The next key that is played; none behind a step that came to nothing.
    pub fn played_key(&mut self) -> Option<KeyPress> {
        if self.modal.has_failed() {
            self.macros.stop();
        }
        self.macros.next_key()
    }

    pub fn stop_playing(&mut self) {
        self.macros.stop();
    }

    /// A character that a step waits for, or that counts.
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

    /// A sequence of keys led nowhere.
    pub fn drop_begun(&mut self) {
        if self.modal.mode() != Mode::Insert {
            self.modal.char(&mut self.area, '\0');
        }
    }

    pub fn clipboard(&mut self, text: &str) {
        self.modal.clipboard(&mut self.area, text);
    }
}

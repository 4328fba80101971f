//! From a key to what it does: the contexts that hold now, sequences, arguments of the editor, and text.

use std::time::Instant;

use super::{App, Effect};
use crate::command::Command;
use osier_term::component::Cx;
use osier_term::frame::CursorShape;
use osier_term::input::{KeyCode, KeyPress};
use osier_term::keymap::{KeyHint, Lookup};
use osier_term::widgets::textarea::modal::{Edit, EditorRequest, Mode, Outcome, RegionEdit};

/// Keymap contexts while the conversation is browsed, innermost first.
const BROWSE_CONTEXTS: &[&str] = &["transcript", "global"];

impl App {
    /// Keymap contexts that hold now, innermost first.
    pub(crate) fn contexts(&self) -> Vec<&'static str> {
        if self.layers.is_empty() {
            let contexts = if self.browsing {
                BROWSE_CONTEXTS
            } else {
                self.editor.modal().contexts()
            };
            return contexts.to_vec();
        }
        let mut contexts = self.layers.contexts();
        contexts.extend(["editor", "global"]);
        contexts
    }

    /// What can follow the keys of a begun sequence, with a word for each.
    pub(crate) fn next_keys(&self) -> Vec<KeyHint<Command>> {
        self.keymap
            .hints_after(&self.contexts(), &self.pending_keys)
    }

    /// Whether keys go to the editor of the prompt.
    fn writes(&self) -> bool {
        self.layers.is_empty() && !self.browsing
    }

    /// The cursor of the editor, by its mode; as the user has set it where there are no modes.
    pub fn cursor_shape(&self) -> CursorShape {
        let modal = self.editor.modal();
        match modal.mode() {
            _ if !self.writes() || !modal.has_modes() => CursorShape::Terminal,
            Mode::Insert => CursorShape::Bar,
            _ if modal.is_awaiting() => CursorShape::Underline,
            _ => CursorShape::Block,
        }
    }

    pub(crate) fn on_key(&mut self, key: KeyPress, now: Instant) {
        self.one_key(key, now);
        self.serve_editor();
    }

    fn one_key(&mut self, key: KeyPress, now: Instant) {
        if !self.browsing {
            self.transcript.clear_selection();
        }
        if self.writes() && self.pending_keys.is_empty() && self.editor_argument(key) {
            return;
        }
        if self.layers.captures() {
            return self.on_plain_key(key, now);
        }
        let contexts = self.contexts();
        match self.keymap.lookup(&contexts, &self.pending_keys, key) {
            Lookup::Actions(commands) => {
                self.pending_keys.clear();
                // A context that has no use for its command leaves the key to the next one.
                let mut commands = commands.into_iter();
                let used = commands.any(|command| self.run_bound(command, key, now));
                if !used && self.writes() && self.editor.modal().inserts() && key.typed().is_some()
                {
                    self.on_plain_key(key, now);
                }
            }
            Lookup::Prefix => self.pending_keys.push(key),
            Lookup::None if !self.pending_keys.is_empty() => {
                self.pending_keys.clear();
                self.editor.drop_begun();
            }
            Lookup::None => self.on_plain_key(key, now),
        }
    }

    fn digit(&mut self, key: KeyPress) -> bool {
        let digit = match key.code {
            KeyCode::Char(digit) if digit.is_ascii_digit() => digit,
            _ => return false,
        };
        self.editor.edit(Edit::Digit);
        self.editor.argument(digit);
        true
    }

    fn run_bound(&mut self, command: Command, key: KeyPress, now: Instant) -> bool {
        match command {
            // The key contains the digit.
            Command::Edit(Edit::Digit) => self.writes() && self.digit(key),
            Command::Edit(edit) => self.writes() && self.editor.edit(edit) == Outcome::Done,
            Command::Plugin(number) => self.press_plugin_key(number),
            command => self.command(command, now),
        }
    }

    /// Handles a key that the editor waits for, whatever it is bound to; false for any other.
    fn editor_argument(&mut self, key: KeyPress) -> bool {
        let modal = self.editor.modal();
        if let Some(char) = key.typed().filter(|char| modal.wants(*char)) {
            self.editor.argument(char);
            return true;
        }
        if !modal.is_searching() {
            return false;
        }
        let bound = match self.keymap.lookup(&["editor"], &[], key) {
            Lookup::Actions(commands) => commands.into_iter().next(),
            Lookup::Prefix | Lookup::None => None,
        };
        match (key.code, bound) {
            (_, Some(Command::Edit(Edit::IncrementalSearch { back }))) => {
                self.editor.find_more(back);
            }
            (KeyCode::Enter, _) => self.editor.search_key(true),
            (KeyCode::Backspace, _) => self.editor.search_key(false),
            (KeyCode::Esc, _) | (_, Some(Command::Edit(Edit::Region(RegionEdit::Drop)))) => {
                self.editor.leave_search();
            }
            // Any other key ends the search at the match and keeps its meaning.
            _ => {
                self.editor.end_search();
                return false;
            }
        }
        true
    }

    /// An unbound key: text for the layer in front.
    fn on_plain_key(&mut self, key: KeyPress, now: Instant) {
        if !self.layers.is_empty() {
            let _ = self.layers.on_key(
                key,
                &mut Cx {
                    actions: &mut self.actions,
                    now,
                },
            );
        } else if let Some(character) = key.typed() {
            // Typing leaves browse mode, so that no typed text is lost.
            self.leave_browsing();
            if self.editor.modal().inserts() {
                self.editor.insert_char(character);
                self.offer_completion();
            } else {
                self.editor.argument(character);
            }
        }
    }

    /// Serves the requests of the editor.
    pub(crate) fn serve_editor(&mut self) {
        for request in self.editor.take_requests() {
            match request {
                EditorRequest::Copy(text) => self.effects.push(Effect::Copy(text)),
                EditorRequest::Paste => self.effects.push(Effect::ReadClipboard),
            }
        }
    }

    /// Receives the clipboard's text for a register.
    pub fn pasted(&mut self, text: &str) {
        self.editor.clipboard(text);
        self.dirty = true;
    }
}

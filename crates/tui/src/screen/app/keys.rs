//! From a key to what it does: the contexts that hold now, sequences, arguments of the editor, and text.

use std::time::Instant;

use super::App;
use crate::actions::Command;
use crate::dialogs::{help, help::AfterPage, questions};
use crate::input::keymap;
use osier_term::KeyPress;
use osier_term::frame::CursorShape;
use osier_term::keymap::Lookup;
use osier_term::widgets::textarea::modal::{Edit, Mode, Outcome};

/// Keymap contexts while the conversation is browsed, innermost first.
const BROWSE_CONTEXTS: &[&str] = &["transcript", "global"];

impl App {
    /// Keymap contexts that hold now, innermost first.
    pub(super) fn contexts(&self) -> Vec<&'static str> {
        if self.overlays.is_empty() {
            let contexts = if self.transcript.is_browsing() {
                BROWSE_CONTEXTS
            } else {
                self.prompt.editor.modal().contexts()
            };
            return contexts.to_vec();
        }
        let mut contexts = self.overlays.contexts();
        contexts.extend(["editor", "global"]);
        contexts
    }

    /// Whether keys go to the editor of the prompt.
    pub(crate) fn writes(&self) -> bool {
        self.overlays.is_empty() && !self.transcript.is_browsing()
    }

    /// The cursor of the editor, by its mode; as the user has set it where there are no modes.
    pub fn cursor_shape(&self) -> CursorShape {
        let modal = self.prompt.editor.modal();
        match modal.mode() {
            _ if !self.writes() || !modal.has_modes() => CursorShape::Terminal,
            Mode::Insert => CursorShape::Bar,
            _ if modal.is_awaiting() => CursorShape::Underline,
            _ => CursorShape::Block,
        }
    }

    pub(super) fn on_key(&mut self, key: KeyPress, now: Instant) {
        if self.keys_shown.page().is_some() {
            let after = help::after_page(&self.keymap, &self.contexts(), key);
            if let AfterPage::Turn { forward } = after
                && self.keys_shown.turn(forward)
            {
                return;
            }
            self.keys_shown.close();
            match after {
                AfterPage::AllKeys => {
                    let (used, overlays) = (&self.settings.keymap, &mut self.overlays);
                    return keymap::open(&self.keymap, self.plugins.keys(), used, overlays);
                }
                AfterPage::Nothing => return,
                AfterPage::TheKey | AfterPage::Turn { .. } => {}
            }
        }
        self.activity.toast.dismiss(now);
        if !self.transcript.is_browsing() {
            self.transcript.clear_selection();
        }
        if self.late.holds(self.overlays.top(), now) {
            if let Some(character) = key.typed() {
                self.late.typed(now);
                self.prompt.on_char(character, &mut self.outbox);
            }
            return;
        }
        if self.writes()
            && self.pending_keys.is_empty()
            && self.prompt.editor.handle_awaited(key, &self.keymap)
        {
            return;
        }
        if self.overlays.captures() {
            return self.on_plain_key(key, now);
        }
        let contexts = self.contexts();
        match self.keymap.lookup(&contexts, &self.pending_keys, key) {
            Lookup::Actions(commands) => {
                self.pending_keys.clear();
                // A context that has no use for its command leaves the key to the next one.
                let mut rest = commands.iter();
                let used = rest.any(|command| self.run_bound(*command, key, now));
                questions::explain_unused(used, &commands, &mut self.outbox);
                let inserts = self.prompt.editor.modal().inserts();
                if !used && self.writes() && inserts && key.typed().is_some() {
                    self.on_plain_key(key, now);
                }
            }
            Lookup::Prefix => self.pending_keys.push(key),
            Lookup::None if !self.pending_keys.is_empty() => {
                self.pending_keys.clear();
                self.prompt.editor.drop_begun();
            }
            Lookup::None => self.on_plain_key(key, now),
        }
    }

    fn run_bound(&mut self, command: Command, key: KeyPress, now: Instant) -> bool {
        match command {
            // The key contains the digit.
            Command::Edit(Edit::DIGIT) => self.writes() && self.prompt.editor.handle_digit(key),
            Command::Edit(edit) => self.writes() && self.prompt.editor.edit(edit) == Outcome::Done,
            Command::Help => {
                self.keys_shown.open();
                true
            }
            Command::Plugin(number) => self.plugins.press_key(number, &mut self.outbox),
            command => {
                self.late.forget();
                // A second press counts only if no other key came in between.
                if !matches!(command, Command::Interrupt | Command::ClearOrExit) {
                    self.rewind.disarm();
                    self.tabs.disarm_exit();
                    self.activity.toast.disarm();
                }
                self.command(command, now)
            }
        }
    }

    /// An unbound key: text for the layer in front.
    fn on_plain_key(&mut self, key: KeyPress, now: Instant) {
        self.rewind.disarm();
        self.tabs.disarm_exit();
        self.activity.toast.disarm();
        if !self.overlays.is_empty() {
            let _ = self.overlays.on_key(key, &mut self.outbox.cx(now));
        } else if let Some(character) = key.typed() {
            // Typing leaves browse mode, so that no typed text is lost.
            self.transcript.leave_browsing();
            self.late.typed(now);
            self.prompt.on_char(character, &mut self.outbox);
        }
    }
}

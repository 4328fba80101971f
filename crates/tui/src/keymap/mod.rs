//! Keyboard shortcuts: their list and the dialog that binds keys.

mod capture;
mod list;

use crate::app::{App, Effect};
use crate::appearance::NewBinding;
use crate::command::Command;
use crate::overlays;
use capture::Capture;
use osier_term::keymap::parse_sequence;

impl App {
    /// Lists the keyboard shortcuts.
    pub(crate) fn open_keymap(&mut self) {
        let picker = list::picker(&self.keymap, &self.plugins.keys);
        self.layers.push(list::ID, picker);
    }

    /// Waits for new keys of a command.
    pub(crate) fn capture_keys(&mut self, context: String, command: Command) {
        let capture = Capture::new(context, command);
        self.layers.push(capture::ID, capture);
    }

    /// Updates the open list after the bindings have changed.
    pub(crate) fn refresh_keymap(&mut self) {
        let picker = list::picker(&self.keymap, &self.plugins.keys);
        overlays::refresh(&mut self.layers, list::ID, picker);
    }

    /// Removes the keys of a command, one line of the user's file each.
    pub(crate) fn unbind(&mut self, context: &str, command: Command) {
        for keys in self.keymap.keys_for(context, command) {
            if let Ok(keys) = parse_sequence(&keys, None) {
                let (context, action) = (context.to_owned(), String::new());
                self.effects.push(Effect::Bind(NewBinding {
                    context,
                    keys,
                    action,
                }));
            }
        }
    }
}

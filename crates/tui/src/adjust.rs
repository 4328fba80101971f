//! Changing the interface from within: settings and keys.

use super::app::{App, Effect};
use super::command::Command;
use super::looks::{NewBinding, ThemeChoice};
use super::overlays;
use osier_session::host::Op;
use osier_settings::SettingInfo;
use osier_term::keymap::parse_sequence;

impl App {
    /// Lists the themes; `current` is the chosen one.
    pub fn pick_theme(&mut self, choices: &[ThemeChoice], current: &str) {
        let picker = overlays::theme::picker(choices, current);
        self.layers.push(overlays::theme::ID, picker);
        self.dirty = true;
    }

    /// Lists the settings, or shows how they stand now.
    pub fn show_settings(&mut self, settings: Vec<SettingInfo>) {
        self.settings = settings;
        let picker = overlays::settings::picker(&self.settings);
        if self.layers.contains(overlays::settings::ID) {
            self.renew(overlays::settings::ID, picker);
        } else {
            self.layers.push(overlays::settings::ID, picker);
        }
        self.dirty = true;
    }

    /// The next of a setting's values; a line to write in where it can be anything.
    pub(super) fn edit_setting(&mut self, name: &str) {
        let Some(info) = self.settings.iter().find(|info| info.name == name) else {
            return;
        };
        if name == "theme" {
            self.effects.push(Effect::PickTheme);
            return;
        }
        if let Some(first) = info.choices.first() {
            let place = info.choices.iter().position(|choice| *choice == info.value);
            let next = place.and_then(|place| info.choices.get(place + 1));
            let value = Some(next.unwrap_or(first).clone());
            let name = name.to_owned();
            return self.effects.push(Effect::WriteSetting { name, value });
        }
        let line = overlays::value::ValueLine::new(info);
        self.layers.push(overlays::value::ID, line);
    }

    /// Removes the keys of a command, one line of the user's file each.
    pub(super) fn unbind(&mut self, context: &str, command: Command) {
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

    /// The keys have changed under the list of them.
    pub(super) fn renew_keymap(&mut self) {
        if self.layers.contains(overlays::keymap::ID) {
            let picker = overlays::keymap::picker(&self.keymap, &self.plugins.keys);
            self.renew(overlays::keymap::ID, picker);
        }
    }

    /// The favourites are others: a list of models that is open follows.
    pub fn follow_favourites(&mut self) {
        self.ops.push(Op::ListModels);
    }

    /// Preferences that hold while the program runs.
    pub fn prefer(&mut self, show_thinking: bool, reduced_motion: bool) {
        // The transcript only knows how to turn it round, and says what it is then.
        if self.transcript.toggle_thinking() != show_thinking {
            self.transcript.toggle_thinking();
        }
        self.activity.set_reduced_motion(reduced_motion);
        self.dirty = true;
    }
}

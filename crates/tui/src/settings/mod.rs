//! The settings editor.

mod list;
mod value;

use crate::app::{App, Effect};
use crate::overlays;
use osier_session::host::Op;
use osier_settings::SettingInfo;

impl App {
    /// Lists the settings, or shows how they stand now.
    pub fn show_settings(&mut self, settings: Vec<SettingInfo>) {
        self.settings = settings;
        let picker = list::picker(&self.settings);
        if self.layers.contains(list::ID) {
            overlays::refresh(&mut self.layers, list::ID, picker);
        } else {
            self.layers.push(list::ID, picker);
        }
        self.dirty = true;
    }

    /// The next of a setting's values; a line to write in where it can be anything.
    pub(crate) fn edit_setting(&mut self, name: &str) {
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
        let line = value::ValueLine::new(info);
        self.layers.push(value::ID, line);
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

//! The settings editor.

mod list;
mod value;

use crate::app::{App, Effect};
use crate::overlays::{self, Overlays};
use osier_protocol::Op;
use osier_settings::SettingInfo;

/// The settings as the editor shows them.
#[derive(Debug, Default)]
pub(crate) struct SettingsEditor {
    settings: Vec<SettingInfo>,
}

impl SettingsEditor {
    /// Lists the settings, or updates the open list.
    fn show(&mut self, settings: Vec<SettingInfo>, overlays: &mut Overlays) {
        self.settings = settings;
        let picker = list::picker(&self.settings);
        if overlays.contains(list::ID) {
            overlays::refresh(overlays, list::ID, picker);
        } else {
            overlays.push(list::ID, picker);
        }
    }

    /// Switches to the next value of a setting; when it accepts any value, opens a line to type one.
    pub(crate) fn edit(&self, name: &str, overlays: &mut Overlays) -> Option<Effect> {
        let info = self.settings.iter().find(|info| info.name == name)?;
        if name == "theme" {
            return Some(Effect::PickTheme);
        }
        let Some(first) = info.choices.first() else {
            overlays.push(value::ID, value::ValueLine::new(info));
            return None;
        };
        let current = info.choices.iter().position(|choice| *choice == info.value);
        let next = current.and_then(|current| info.choices.get(current + 1));
        Some(Effect::WriteSetting {
            name: name.to_owned(),
            value: Some(next.unwrap_or(first).clone()),
        })
    }
}

impl App {
    /// Lists the settings, or updates the open list.
    pub fn show_settings(&mut self, settings: Vec<SettingInfo>) {
        self.settings.show(settings, &mut self.layers);
        self.dirty = true;
    }

    /// Updates an open list of models after the favourites have changed.
    pub fn reload_models(&mut self) {
        self.ops.push(Op::ListModels);
    }

    /// Applies changed preferences.
    pub fn prefer(&mut self, show_thinking: bool, reduced_motion: bool) {
        // Toggling returns the new state.
        if self.transcript.toggle_thinking() != show_thinking {
            self.transcript.toggle_thinking();
        }
        self.activity.set_reduced_motion(reduced_motion);
        self.dirty = true;
    }
}

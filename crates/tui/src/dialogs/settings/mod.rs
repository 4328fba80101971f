//! The settings editor.

mod list;
mod value;

use crate::actions::{Effect, Outbox};
use crate::drawing::{Overlays, overlays};
use osier_settings::SettingInfo;

/// The settings as the editor shows them.
#[derive(Debug, Default)]
pub(crate) struct SettingsEditor {
    settings: Vec<SettingInfo>,
}

impl SettingsEditor {
    /// Lists the settings, or updates the open list.
    pub(crate) fn show(&mut self, settings: Vec<SettingInfo>, overlays: &mut Overlays) {
        self.settings = settings;
        let picker = list::picker(&self.settings);
        if overlays.contains(list::ID) {
            overlays::refresh(overlays, list::ID, picker);
        } else {
            overlays.push(list::ID, picker);
        }
    }

    /// Switches to the next value of a setting; when it accepts any value, opens a line to type one.
    pub(crate) fn edit(&self, name: &str, overlays: &mut Overlays, outbox: &mut Outbox) {
        let Some(info) = self.settings.iter().find(|info| info.name == name) else {
            return;
        };
        if name == "theme" {
            return outbox.push(Effect::PickTheme);
        }
        let Some(first) = info.choices.first() else {
            return overlays.push(value::ID, value::ValueLine::new(info));
        };
        let current = info.choices.iter().position(|choice| *choice == info.value);
        let next = current.and_then(|current| info.choices.get(current + 1));
        outbox.push(Effect::WriteSetting {
            name: name.to_owned(),
            value: Some(next.unwrap_or(first).clone()),
        });
    }
}

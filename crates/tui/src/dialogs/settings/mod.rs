//! The settings editor.

mod list;

use crate::actions::{Effect, Outbox};
use crate::drawing::{Overlays, ValueBox, overlays, value_box};
use osier_settings::{SettingInfo, readable};

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

    /// Turns a setting on or off; when it accepts other values, opens a box to choose or type one.
    pub(crate) fn edit(&self, name: &str, overlays: &mut Overlays, outbox: &mut Outbox) {
        let Some(info) = self.settings.iter().find(|info| info.name == name) else {
            return;
        };
        if name == "theme" {
            return outbox.push(Effect::PickTheme);
        }
        if info.choices == ["true", "false"] {
            let other = info.choices.iter().find(|choice| **choice != info.value);
            for action in list::write(info.name, other.cloned()) {
                outbox.push(action);
            }
            return;
        }
        overlays.push(value_box::ID, value_box(info));
    }
}

fn value_box(info: &SettingInfo) -> ValueBox {
    let name = info.name;
    let take = move |typed: &str| {
        let value = Some(typed).filter(|typed| !typed.is_empty());
        let value = value.map(|typed| osier_settings::literal(name, typed));
        Ok(Vec::from(list::write(name, value.transpose()?)))
    };
    let choices = info.choices.iter().map(|choice| readable(choice));
    ValueBox::new(name, info.description, info.accepts.as_str(), take)
        .with_value(&readable(&info.value))
        .with_choices(choices.collect())
        .with_empty("empty: the default")
}

//! Every setting with its value. Enter turns it on or off, or opens a box for its value; the preview describes it and
//! names the file that sets it.

use crate::actions::{Action, Command, Effect};
use crate::drawing::{Choice, Picker};
use osier_base::path;
use osier_settings::{SettingInfo, Source, readable};
use osier_term::{Column, Columns, Item, Row, Token, sentence};

pub(super) const ID: &str = "settings";

const COLUMNS: Columns = Columns {
    label: "setting",
    details: &[
        Column::words("about", 1).first(),
        Column::words("value", 0).at_least(12).at_most(30),
        Column::words("set in", 2).at_least(12),
    ],
};

/// The list.
pub(super) fn picker(settings: &[SettingInfo]) -> Picker<SettingInfo> {
    Picker::new(
        "Settings",
        "no setting matches",
        settings.to_vec(),
        |info| [Action::EditSetting(info.name)],
    )
    .staying()
    .with_columns(COLUMNS)
    .taking("change")
    .on(Command::Remove, "reset", |info| write(info.name, None))
    .with_preview(preview)
}

/// Writes a setting, and shows the new list.
pub(super) fn write(name: &str, value: Option<String>) -> [Action; 2] {
    let name = name.to_owned();
    [
        Effect::WriteSetting { name, value }.into(),
        Effect::PickSetting.into(),
    ]
}

impl Choice for SettingInfo {
    fn row(&self) -> Item {
        let value = shown(&self.value);
        let place = match &self.source {
            Source::Default => String::new(),
            Source::File { path, line } => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("{name}:{line}")
            }
        };
        Item {
            label: self.name.to_owned(),
            details: vec![self.group.name().into(), value.into(), place.into()],
            keywords: self.description.to_owned(),
            dimmed: self.source == Source::Default,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A value in the list.
fn shown(value: &str) -> String {
    match value {
        "" => "not set".to_owned(),
        "[]" | "{}" => "none".to_owned(),
        "true" => "on".to_owned(),
        "false" => "off".to_owned(),
        value => readable(value),
    }
}

fn preview(info: &SettingInfo) -> Vec<Row> {
    let mut rows = vec![Row::new(sentence(info.description, Token::Text))];
    let accepts = format!("accepts {}", info.accepts);
    rows.push(Row::plain(accepts, Token::Text));
    let default = shown(info.default);
    rows.push(Row::plain(format!("default {default}"), Token::Text));
    let source = match &info.source {
        Source::Default => "using the default".to_owned(),
        Source::File { path, line } => format!("set in {}:{line}", path::below_home(path)),
    };
    rows.push(Row::plain(source, Token::Text));
    rows
}

//! Every setting with its value. Enter switches to the next value or opens a line to type one; the preview describes
//! it and names the file that sets it.

use crate::actions::{Action, Effect};
use crate::drawing::Picker;
use osier_base::path;
use osier_settings::{SettingInfo, Source};
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::{Row, sentence};
use osier_term::widgets::columns::{Column, Columns};
use osier_term::widgets::select::Item;

pub(super) const ID: &str = "settings";

const COLUMNS: Columns = Columns {
    label: "setting",
    details: &[
        Column::words("about", 0).first(),
        Column::words("value", 0).at_least(12),
        Column::words("set in", 0),
    ],
};

/// The list.
pub(super) fn picker(settings: &[SettingInfo]) -> Picker {
    let items = settings.iter().map(item).collect();
    let previews: Vec<(&'static str, Vec<Row>)> = settings
        .iter()
        .map(|info| (info.name, preview(info)))
        .collect();
    let edit = |name: &str| vec![Action::EditSetting(name.to_owned())];
    let remove = |name: &str| {
        let (name, value) = (name.to_owned(), None);
        vec![Action::Effect(Effect::WriteSetting { name, value })]
    };
    Picker::new("Settings", "no setting matches", items, Box::new(edit))
        .staying()
        .with_columns(COLUMNS)
        .taking("change")
        .on_remove("reset", Box::new(remove))
        .with_preview(Box::new(move |name| {
            let found = previews.iter().find(|(known, _)| *known == name);
            found.map(|(_, rows)| rows.clone()).unwrap_or_default()
        }))
}

fn item(info: &SettingInfo) -> Item {
    let own = info.source != Source::Default;
    let value = if info.value.is_empty() {
        "not set"
    } else {
        &info.value
    };
    let place = match &info.source {
        Source::Default => String::new(),
        Source::File { path, line } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("{name}:{line}")
        }
    };
    Item {
        key: info.name.to_owned(),
        label: info.name.to_owned(),
        details: vec![info.group.name().into(), value.into(), place.into()],
        keywords: info.description.to_owned(),
        dimmed: !own,
    }
}

fn preview(info: &SettingInfo) -> Vec<Row> {
    let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
    let mut rows = vec![Row::plain(info.name, bold)];
    rows.push(Row::new(sentence(info.description, Token::Text)));
    rows.push(Row::default());
    let accepts = format!("accepts {}", info.accepts);
    rows.push(Row::plain(accepts, Token::Muted));
    let default = if info.default.is_empty() {
        "not set"
    } else {
        info.default
    };
    rows.push(Row::plain(format!("default {default}"), Token::Muted));
    let source = match &info.source {
        Source::Default => "using the default".to_owned(),
        Source::File { path, line } => format!("set in {}:{line}", path::below_home(path)),
    };
    rows.push(Row::plain(source, Token::Muted));
    rows
}

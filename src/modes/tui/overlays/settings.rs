//! Every setting with its value. Enter goes to its next value, or lets one be written; the look says what it
//! is and which file says so.

use super::picker::Picker;
use crate::coding::settings::{SettingInfo, Source};
use crate::modes::tui::action::Action;
use crate::term::face::{Emphasis, Face, Token};
use crate::term::row::Row;
use crate::term::widgets::select::Item;
use crate::term::wrap::Wrap;

pub const ID: &str = "settings";

/// Columns that the look is written for.
const LOOK: usize = 44;

/// The list.
pub fn picker(settings: &[SettingInfo]) -> Picker {
    let items = settings.iter().map(item).collect();
    let looks: Vec<(&'static str, Vec<Row>)> = settings
        .iter()
        .map(|info| (info.name, look(info)))
        .collect();
    let edit = |name: &str| vec![Action::EditSetting(name.to_owned())];
    let remove = |name: &str| {
        let (name, value) = (name.to_owned(), None);
        vec![Action::WriteSetting { name, value }]
    };
    Picker::new("Settings", "no setting matches", items, Box::new(edit))
        .staying()
        .on_remove(Box::new(remove))
        .with_look(Box::new(move |name| {
            let found = looks.iter().find(|(known, _)| *known == name);
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
    Item {
        key: info.name.to_owned(),
        label: info.name.to_owned(),
        detail: if own {
            value.to_owned()
        } else {
            format!("{value} (default)")
        },
        keywords: info.description.to_owned(),
        dimmed: !own,
    }
}

fn look(info: &SettingInfo) -> Vec<Row> {
    let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
    let mut rows = vec![Row::plain(info.name, bold)];
    let wrap = Wrap::new(LOOK);
    wrap.text(info.description, Token::Text, &mut rows);
    rows.push(Row::default());
    wrap.text(
        &format!("accepts {}", info.accepts),
        Token::Muted,
        &mut rows,
    );
    let default = if info.default.is_empty() {
        "not set"
    } else {
        info.default
    };
    wrap.text(&format!("default {default}"), Token::Muted, &mut rows);
    let source = match &info.source {
        Source::Default => "no file says otherwise".to_owned(),
        Source::File { path, line } => format!("set in {}:{line}", path.display()),
    };
    wrap.text(&source, Token::Muted, &mut rows);
    rows.push(Row::default());
    let how = if info.choices.is_empty() {
        "enter: write a value"
    } else {
        "enter: the next value"
    };
    wrap.text(how, Token::Muted, &mut rows);
    wrap.text("ctrl+d: back to the default", Token::Muted, &mut rows);
    rows
}

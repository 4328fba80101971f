//! Every command with its keys, context, and the file and line of each binding. Enter captures new keys.

use crate::actions::{Action, Command, command::commands};
use crate::drawing::Picker;
use crate::input::plugins;
use osier_base::text;
use osier_protocol::PluginKey;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::keymap::{BindingInfo, Keymap};
use osier_term::row::{Row, sentence};
use osier_term::widgets::columns::{Cell, Column, Columns};
use osier_term::widgets::select::Item;

pub(super) const ID: &str = "keymap";

/// Keys of an action in the list; the preview has all of them.
const LISTED: usize = 2;

const COLUMNS: Columns = Columns {
    label: "command",
    details: &[
        Column::words("context", 1).first(),
        Column::words("keys", 0).at_least(8).at_most(18),
    ],
};

/// One command in one context.
#[derive(Debug)]
struct Entry {
    context: String,
    command: Command,
    description: String,
    /// Its keys with the places that bind them.
    keys: Vec<(String, String)>,
}

/// The list of everything that is bound, and of the actions that are not.
pub(super) fn picker(keymap: &Keymap<Command>, plugin_keys: &[PluginKey]) -> Picker {
    let entries = entries(keymap, plugin_keys);
    let items = entries.iter().map(item).collect();
    let split = |key: &str| {
        let (context, name) = key.split_once(' ')?;
        let command = Command::from_name(name).or_else(|| Command::plugin_from_name(name))?;
        Some((context.to_owned(), command))
    };
    Picker::new(
        "Keyboard shortcuts",
        "no command matches",
        items,
        Box::new(move |key| {
            let capture = |(context, command)| match command {
                Command::Plugin(_) => Action::Toast {
                    text: "the plugin chooses this key; unbind it here, or change it in the plugin"
                        .to_owned(),
                    error: false,
                },
                command => Action::CaptureKeys { context, command },
            };
            split(key).map(capture).into_iter().collect()
        }),
    )
    .staying()
    .with_columns(COLUMNS)
    .taking("bind keys")
    .on_remove(
        "unbind",
        Box::new(move |key| {
            let unbind = |(context, command)| Action::Unbind { context, command };
            split(key).map(unbind).into_iter().collect()
        }),
    )
    .with_preview(Box::new(move |key| {
        let found = entries.iter().find(|entry| key_of(entry) == key);
        found.map(preview).unwrap_or_default()
    }))
}

fn entries(keymap: &Keymap<Command>, plugin_keys: &[PluginKey]) -> Vec<Entry> {
    let describe = |command| plugins::description(command, plugin_keys).to_owned();
    let mut entries: Vec<Entry> = Vec::new();
    for bound in keymap.bindings() {
        let place = place(&bound);
        let known = entries
            .iter_mut()
            .find(|entry| entry.context == bound.context && entry.command == bound.action);
        match known {
            Some(entry) => entry.keys.push((bound.keys, place)),
            None => entries.push(Entry {
                context: bound.context.to_owned(),
                command: bound.action,
                description: describe(bound.action),
                keys: vec![(bound.keys, place)],
            }),
        }
    }
    for info in commands().filter(|info| info.in_palette()) {
        if entries.iter().all(|entry| entry.command != info.command) {
            entries.push(Entry {
                context: "global".to_owned(),
                command: info.command,
                description: describe(info.command),
                keys: Vec::new(),
            });
        }
    }
    entries
}

/// The file and line of a binding.
pub(crate) fn place(bound: &BindingInfo<'_, Command>) -> String {
    if bound.line == 0 {
        return "plugin".to_owned();
    }
    let name = bound.path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}:{}", bound.line)
}

fn key_of(entry: &Entry) -> String {
    format!("{} {}", entry.context, entry.command)
}

fn item(entry: &Entry) -> Item {
    let keys: Vec<&str> = entry.keys.iter().map(|(keys, _)| keys.as_str()).collect();
    Item {
        key: key_of(entry),
        label: text::unticked(&entry.description),
        details: vec![
            entry.context.as_str().into(),
            Cell::new(keys[..keys.len().min(LISTED)].join(", "), Token::Accent),
        ],
        keywords: format!("{} {} {}", entry.context, entry.command, keys.join(" ")),
        dimmed: keys.is_empty(),
    }
}

fn preview(entry: &Entry) -> Vec<Row> {
    let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
    let mut rows = vec![Row::plain(entry.command.to_string(), bold)];
    rows.push(Row::new(sentence(&entry.description, Token::Text)));
    rows.push(Row::default());
    for (keys, place) in &entry.keys {
        let mut row = Row::plain(format!("{keys:<16} "), Token::Accent);
        row.push(place.clone(), Token::Muted);
        rows.push(row);
    }
    if entry.keys.is_empty() {
        rows.push(Row::plain("not bound", Token::Muted));
    }
    rows.push(Row::default());
    rows.push(Row::plain(
        format!("context [{}]", entry.context),
        Token::Muted,
    ));
    rows
}

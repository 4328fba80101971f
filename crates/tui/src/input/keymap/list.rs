//! Every command with its keys, context, and the file and line of each binding. Enter captures new keys.

use crate::actions::{Action, Command, Effect, Toast, command::commands};
use crate::drawing::{Choice, Picker};
use crate::input::plugins;
use osier_base::text;
use osier_protocol::{PluginKey, slash};
use osier_term::keymap::BindingInfo;
use osier_term::{Cell, Column, Columns, Face, Item, Keymap, Row, Token, sentence};

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

/// One command in one context, or a keymap to use instead.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of a keymap that the entry switches to, and whether it is the current one.
    other: Option<(&'static str, bool)>,
    context: String,
    command: Command,
    description: String,
    /// The keys of the command, with the places that bind them.
    keys: Vec<(String, String)>,
}

/// The list of everything that is bound, and of the actions that are not.
pub(super) fn picker(
    keymap: &Keymap<Command>,
    plugin_keys: &[PluginKey],
    used: &str,
) -> Picker<Entry> {
    Picker::new(
        "Keyboard shortcuts",
        "no command matches",
        entries(keymap, plugin_keys, used),
        |entry| {
            if let Some((name, _)) = entry.other {
                return [Effect::LoadKeymap(name.to_owned()).into()];
            }
            let context = entry.context.clone();
            [match entry.command {
                Command::Plugin(_) => Toast::info(
                    "the plugin chooses this key; unbind it here, or change it in the plugin",
                )
                .into(),
                command => Action::CaptureKeys { context, command },
            }]
        },
    )
    .staying()
    .with_columns(COLUMNS)
    .taking("bind keys")
    .on(Command::Remove, "unbind", |entry| {
        if entry.other.is_some() {
            return [Toast::info("select a command: it is unbound").into()];
        }
        let (context, command) = (entry.context.clone(), entry.command);
        [Action::Unbind { context, command }]
    })
    .with_selected(|entry| matches!(entry.other, Some((_, true))))
    .with_preview(preview)
}

fn entries(keymap: &Keymap<Command>, plugin_keys: &[PluginKey], used: &str) -> Vec<Entry> {
    let describe = |command| plugins::description(command, plugin_keys).to_owned();
    let known = slash::find("keymap").map_or(&[][..], |row| row.values);
    let others = known.iter().map(|name| Entry {
        other: Some((name, *name == used)),
        context: String::new(),
        command: Command::Keymap,
        description: format!("Use the keymap {name}"),
        keys: Vec::new(),
    });
    let mut entries: Vec<Entry> = others.collect();
    for bound in keymap.bindings() {
        let place = place(&bound);
        let known = entries.iter_mut().find(|entry| {
            entry.context == bound.context && entry.command == bound.action && entry.other.is_none()
        });
        match known {
            Some(entry) => entry.keys.push((bound.keys, place)),
            None => entries.push(Entry {
                other: None,
                context: bound.context.to_owned(),
                command: bound.action,
                description: describe(bound.action),
                keys: vec![(bound.keys, place)],
            }),
        }
    }
    for info in commands().filter(|info| info.in_palette()) {
        let is_listed = |entry: &Entry| entry.command == info.command && entry.other.is_none();
        if !entries.iter().any(is_listed) {
            entries.push(Entry {
                other: None,
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

impl Choice for Entry {
    fn row(&self) -> Item {
        let keys: Vec<&str> = self.keys.iter().map(|(keys, _)| keys.as_str()).collect();
        Item {
            label: text::unticked(&self.description),
            details: vec![
                self.context.as_str().into(),
                match self.other {
                    Some((_, true)) => Cell::new("in use", Token::Success),
                    _ => Cell::new(keys[..keys.len().min(LISTED)].join(", "), Token::Accent),
                },
            ],
            keywords: format!("{} {} {}", self.context, self.command, keys.join(" ")),
            dimmed: keys.is_empty() && self.other.is_none(),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let name = |entry: &Self| entry.other.map(|(name, _)| name);
        name(self) == name(other) && self.context == other.context && self.command == other.command
    }
}

/// The keymaps, each with how it differs.
const KEYMAPS: &[(&str, &str)] = &[
    (
        "default",
        "The arrow keys, and those that other agents and shells have. No modes.",
    ),
    (
        "vim",
        "Modes in the prompt: esc, then i to write, : for commands. Single keys in lists and views.",
    ),
    (
        "emacs",
        "Keys of Emacs in the prompt, and ctrl+x before those of views.",
    ),
];

fn preview(entry: &Entry) -> Vec<Row> {
    if let Some((name, _)) = entry.other {
        let mut known = KEYMAPS.iter();
        let about = known.find(|(known, _)| *known == name);
        let about = about.map(|(_, about)| Row::plain(*about, Token::Text));
        let text = format!("{} for this and later starts", entry.description);
        let kept = Row::new(sentence(&text, Token::Text));
        return about.into_iter().chain([kept]).collect();
    }
    let mut name = Row::plain(entry.command.to_string(), Face::bold(Token::Title));
    name.push(format!("  in [{}]", entry.context), Token::Muted);
    let mut rows = vec![name, Row::new(sentence(&entry.description, Token::Text))];
    for (keys, place) in &entry.keys {
        let mut row = Row::plain(format!("{keys:<16} "), Token::Accent);
        row.push(place.clone(), Token::Muted);
        rows.push(row);
    }
    if entry.keys.is_empty() {
        rows.push(Row::plain("not bound", Token::Muted));
    }
    rows
}

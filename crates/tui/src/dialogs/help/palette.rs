//! The command palette: every command with its category, slash command and keys.

use super::keys::wanted_first;
use crate::actions::command::{CommandInfo, commands, parse_slash};
use crate::actions::{Action, Command};
use crate::drawing::{Choice, Picker};
use osier_base::text;
use osier_protocol::AddedCommand;
use osier_protocol::slash::SlashCommand;
use osier_term::{Item, Keymap};

pub(super) const ID: &str = "palette";

/// A command that is built in, with its key or with a value of its argument, or one that was added.
pub(super) enum Entry {
    BuiltIn(&'static CommandInfo, String),
    Value(&'static CommandInfo, &'static SlashCommand, &'static str),
    Added(AddedCommand),
}

/// The picker over commands, built in or added. What is wanted most at this moment is first.
pub(super) fn picker(
    keymap: &Keymap<Command>,
    added: &[AddedCommand],
    is_idle: bool,
) -> Picker<Entry> {
    let first = wanted_first(is_idle);
    let mut listed: Vec<_> = commands().filter(|info| info.in_palette()).collect();
    listed.sort_by_key(|info| {
        let place = first.iter().position(|command| *command == info.command);
        place.unwrap_or(first.len())
    });
    let values = listed.iter().flat_map(|info| {
        let slash = info.slash.into_iter();
        slash.flat_map(move |slash| {
            let values = slash.values.iter();
            values.map(move |value| Entry::Value(info, slash, value))
        })
    });
    let values: Vec<Entry> = values.collect();
    let built_in = listed
        .into_iter()
        .map(|info| Entry::BuiltIn(info, first_key(keymap, info.command)));
    let added = added.iter().cloned().map(Entry::Added);
    let entries = built_in.chain(added).chain(values);
    Picker::new(
        "Commands",
        "no command matches",
        entries,
        |entry| match entry {
            Entry::BuiltIn(info, _) => vec![Action::Run(info.command)],
            Entry::Value(_, slash, value) => {
                let typed = parse_slash(&format!("/{} {value}", slash.name), |_| false);
                typed.and_then(Result::ok).unwrap_or_default()
            }
            Entry::Added(command) => vec![Action::SetEditor {
                text: format!("/{} ", command.name),
            }],
        },
    )
    .taking("run")
}

impl Choice for Entry {
    fn row(&self) -> Item {
        let (info, keys) = match self {
            Self::BuiltIn(info, keys) => (info, keys),
            Self::Value(info, slash, value) => {
                return Item {
                    label: format!("{}: {} {value}", info.category.name(), slash.name),
                    details: vec![format!("/{} {value}", slash.name).into()],
                    by_word: true,
                    only_found: true,
                    ..Item::default()
                };
            }
            Self::Added(command) => {
                return Item {
                    label: text::single_line(&command.description),
                    details: vec![format!("/{}", command.name).into()],
                    keywords: format!("{} {}", command.name, command.origin),
                    ..Item::default()
                };
            }
        };
        let label = format!("{}: {}", info.category.name(), info.description);
        let name = info.slash.map(|slash| slash.name);
        let slash = name.map(|name| format!("/{name}"));
        let keys = Some(keys.clone()).filter(|keys| !keys.is_empty());
        let how: Vec<String> = slash.into_iter().chain(keys).collect();
        Item {
            label: text::unticked(&label),
            details: vec![how.join(", ").into()],
            keywords: info.name.to_owned(),
            queries: info
                .slash
                .into_iter()
                .flat_map(SlashCommand::names)
                .chain(info.queries.iter().copied())
                .collect(),
            by_word: info.by_word,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn(one, _), Self::BuiltIn(other, _)) => one.command == other.command,
            (Self::Value(_, one, value), Self::Value(_, other, same)) => {
                one.name == other.name && value == same
            }
            (Self::Added(one), Self::Added(other)) => one.name == other.name,
            _ => false,
        }
    }
}

/// Contexts whose keys come first: those of the prompt.
const FIRST: [&str; 2] = ["global", "editor"];

/// The modes of the prompt in keymaps that have them.
const MODES: [&str; 2] = ["normal", "insert"];

/// The first key of a command at the prompt: further keys are for terminals that cannot send the
/// first. Keys of views do not count, because there the command is about the selected item.
fn first_key(keymap: &Keymap<Command>, command: Command) -> String {
    let bound_in = |wanted: fn(&str) -> bool| -> Vec<String> {
        let bound = keymap
            .all()
            .filter(|(context, _, bound)| *bound == command && wanted(context));
        bound.map(|(_, keys, _)| keys).collect()
    };
    let mut keys = bound_in(|context| FIRST.contains(&context));
    if keys.is_empty() {
        keys = bound_in(|context| MODES.contains(&context));
    }
    keys.into_iter().next().unwrap_or_default()
}

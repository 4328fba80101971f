//! The command palette: every command with its category, slash command and keys.

use crate::actions::{Action, Command, command::CommandInfo, command::commands};
use crate::drawing::Picker;
use osier_base::text;
use osier_protocol::AddedCommand;
use osier_term::keymap::Keymap;
use osier_term::widgets::select::Item;

pub(super) const ID: &str = "palette";

/// The picker over commands, built in or added.
pub(super) fn picker(keymap: &Keymap<Command>, added: &[AddedCommand]) -> Picker {
    let listed: Vec<&CommandInfo> = commands().filter(|info| info.in_palette()).collect();
    let key = |info: &CommandInfo| info.name.to_owned();
    let aliases = listed.iter().flat_map(|info| {
        let slash = info.slash.map(|slash| slash.name);
        let queries = slash.into_iter().chain(info.queries.iter().copied());
        queries.map(|query| (query, key(info)))
    });
    let aliases = aliases.collect();
    let by_word = listed.iter().filter(|info| info.by_word);
    let by_word = by_word.map(|info| key(info)).collect();
    let commands = listed.iter().map(|info| item(info, keymap));
    let added = added.iter().map(|command| Item {
        key: format!("/{}", command.name),
        label: text::single_line(&command.description),
        details: vec![format!("/{}", command.name).into()],
        keywords: format!("{} {}", command.name, command.origin),
        dimmed: false,
    });
    let items = commands.chain(added).collect();
    let picker = Picker::new("Commands", "no command matches", items, Box::new(run));
    picker.finding(aliases, by_word).taking("run")
}

fn item(info: &CommandInfo, keymap: &Keymap<Command>) -> Item {
    let label = format!("{}: {}", info.category.name(), info.description);
    let slash = info.slash.map(|slash| format!("/{}", slash.name));
    let keys = keys(keymap, info.command);
    let how = slash
        .into_iter()
        .chain(Some(keys).filter(|keys| !keys.is_empty()));
    let how: Vec<String> = how.collect();
    Item {
        key: info.name.to_owned(),
        label: text::unticked(&label),
        details: vec![how.join(", ").into()],
        keywords: info.name.to_owned(),
        dimmed: false,
    }
}

fn run(key: &str) -> Vec<Action> {
    match (key.strip_prefix('/'), Command::from_name(key)) {
        (Some(name), _) => vec![Action::SetEditor {
            text: format!("/{name} "),
        }],
        (None, Some(command)) => vec![Action::Run(command)],
        (None, None) => Vec::new(),
    }
}

/// Contexts whose keys come first: those of the prompt.
const FIRST: [&str; 2] = ["global", "editor"];

/// Keys of a command at most.
const LISTED: usize = 2;

/// The keys of a command in whichever context binds it, except those of browse mode.
fn keys(keymap: &Keymap<Command>, command: Command) -> String {
    let bound_in = |wanted: fn(&str) -> bool| -> Vec<String> {
        let bound = keymap
            .all()
            .filter(|(context, _, bound)| *bound == command && wanted(context));
        bound.map(|(_, keys, _)| keys).collect()
    };
    let mut keys = bound_in(|context| FIRST.contains(&context));
    if keys.is_empty() {
        keys = bound_in(|context| context != "transcript");
    }
    keys.dedup();
    keys.truncate(LISTED);
    keys.join(", ")
}

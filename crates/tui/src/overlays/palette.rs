//! Every action by name, with its keys.

use super::picker::Picker;
use crate::action::Action;
use crate::command::{Command, commands};
use crate::slash::SLASH_COMMANDS;
use osier_base::text;
use osier_context::AddedCommand;
use osier_term::keymap::Keymap;
use osier_term::widgets::select::Item;

pub const ID: &str = "palette";

/// The picker over commands and slash commands.
pub fn picker(keymap: &Keymap, added: &[AddedCommand]) -> Picker {
    let commands = commands().filter(|info| info.in_palette).map(|info| Item {
        key: info.name.to_owned(),
        label: text::unticked(info.description),
        details: vec![keys(keymap, info.name).into()],
        keywords: info.name.to_owned(),
        dimmed: false,
    });
    let with_argument = SLASH_COMMANDS
        .iter()
        .filter(|command| !command.argument.is_empty());
    let slash = with_argument.map(|command| Item {
        key: format!("/{}", command.name),
        label: command.description.to_owned(),
        details: vec![format!("/{} {}", command.name, command.argument).into()],
        keywords: command.name.to_owned(),
        dimmed: false,
    });
    let added = added.iter().map(|command| Item {
        key: format!("/{}", command.name),
        label: text::single_line(&command.description),
        details: vec![format!("/{}", command.name).into()],
        keywords: format!("{} {}", command.name, command.origin),
        dimmed: false,
    });
    let items = commands.chain(slash).chain(added).collect();
    let picker = Picker::new("Actions", "no action matches", items, Box::new(take));
    picker.taking("does it")
}

fn take(key: &str) -> Vec<Action> {
    match (key.strip_prefix('/'), Command::from_name(key)) {
        (Some(name), _) => vec![Action::SetEditor {
            text: format!("/{name} "),
        }],
        (None, Some(command)) => vec![Action::Run(command)],
        (None, None) => Vec::new(),
    }
}

/// Where a person mostly is: what is bound here counts before what overlays bind.
const FIRST: [&str; 2] = ["global", "editor"];

/// The keys of an action in whichever context has it; those of browsing are a page of their own.
pub fn keys(keymap: &Keymap, action: &str) -> String {
    let bound_in = |wanted: fn(&str) -> bool| -> Vec<String> {
        let bound = keymap
            .all()
            .filter(|(context, _, bound)| *bound == action && wanted(context));
        bound.map(|(_, keys, _)| keys).collect()
    };
    let mut keys = bound_in(|context| FIRST.contains(&context));
    if keys.is_empty() {
        keys = bound_in(|context| context != "transcript");
    }
    keys.dedup();
    keys.truncate(3);
    keys.join(", ")
}

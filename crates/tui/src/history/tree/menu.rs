//! The menu of an entry: everything that the keys of the tree do, for who knows none of them.

use crate::actions::{Action, Command};
use crate::drawing::{MenuItem, Overlays, Picker};
use osier_term::Keymap;

const ID: &str = "tree-menu";

/// The commands of the menu, in its order.
const COMMANDS: &[Command] = &[
    Command::Accept,
    Command::TreeWithFiles,
    Command::TreeFiles,
    Command::TreeSummarize,
    Command::TreeFork,
    Command::TreeCompare,
    Command::TreeLabel,
    Command::TreeDelete,
    Command::TreeRestore,
    Command::Fold,
    Command::Unfold,
    Command::TreeFilter,
    Command::Search,
    Command::PreviousSibling,
    Command::NextSibling,
    Command::GoBack,
    Command::GoForward,
];

/// Opens the menu over the tree.
pub(crate) fn open_menu(keymap: &Keymap<Command>, overlays: &mut Overlays) {
    let items = COMMANDS.iter().map(|command| {
        let name = match command {
            Command::Accept => "Continue here",
            Command::Search => "Search all branches",
            command => command.description(),
        };
        let key = keymap.keys_for("tree", *command).into_iter().next();
        MenuItem::new(name, key.unwrap_or_default(), Action::InView(*command))
    });
    overlays.push(ID, Picker::menu("This entry", "no such action", items));
}

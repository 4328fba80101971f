//! The menu of an entry: everything that the keys of the tree do, for users who do not know them.

use crate::actions::{Action, Command};
use crate::drawing::{MenuItem, Overlays, Picker};
use osier_base::text;
use osier_protocol::TreeOp;
use osier_term::Keymap;

const ID: &str = "tree-menu";
/// The layer of the question before a branch is deleted.
const DELETION: &str = "tree-deletion";

/// The commands of the menu, in its order.
const COMMANDS: &[Command] = &[
    Command::Accept,
    Command::TreeWithFiles,
    Command::TreeFiles,
    Command::TreeSummarize,
    Command::TreeSummarizeBefore,
    Command::TreeFork,
    Command::TreeForkWorktree,
    Command::TreeCompare,
    Command::TreeLabel,
    Command::TreeDelete,
    Command::TreeRestore,
    Command::TreeErase,
    Command::Fold,
    Command::Unfold,
    Command::TreeFilter,
    Command::Search,
    Command::TreeEnd,
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
    // Modal: letters are a filter, not keys of the tree.
    overlays.push_modal(ID, Picker::menu("This entry", "no such action", items));
}

/// Asks before the entry and all below it are deleted permanently.
pub(super) fn ask_to_delete(
    entry_id: &str,
    (messages, bytes): (usize, u64),
    overlays: &mut Overlays,
) {
    let messages = text::counted(messages, "message", "messages");
    let title = format!(
        "Delete {messages} permanently, {} kB?",
        bytes.div_ceil(1000)
    );
    let delete = TreeOp::DeleteBranch {
        entry_id: entry_id.to_owned(),
        preview: false,
    };
    let items = [
        MenuItem::without_action("Cancel", "keep the branch"),
        MenuItem::new(
            "Delete the branch",
            "cannot be undone; files and costs stay",
            delete,
        ),
    ];
    let question = Picker::menu(title, "no choice matches", items).with_answers();
    overlays.push_modal(DELETION, question);
}

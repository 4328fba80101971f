//! The keys of the moment: of the prompt while nothing runs, of the prompt while the model works, or of the view in front.

use crate::actions::Command;
use osier_term::Keymap;

/// Where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Idle,
    Working,
    /// A view in front of the prompt, or the conversation while it is browsed.
    View,
}

/// A row of the page of the prompt: a command with a key or a slash command, or what to type.
#[derive(Clone, Copy)]
enum Row {
    Bound(Command),
    Typed(&'static str, &'static str),
}

use Row::{Bound, Typed};

/// While nothing runs.
const IDLE: &[Row] = &[
    Bound(Command::Submit),
    Bound(Command::Newline),
    Typed("/", "Commands"),
    Typed("@", "Attach a file"),
    Typed("!", "Run a command yourself"),
    Bound(Command::HistorySearch),
    Bound(Command::ExternalEditor),
    Bound(Command::Stash),
    Typed("esc esc", "Go back to an earlier prompt"),
    Bound(Command::Tree),
    Bound(Command::Changes),
    Bound(Command::SessionPicker),
    Bound(Command::ModelPicker),
    Bound(Command::CycleThinking),
    Bound(Command::CyclePermissions),
    Bound(Command::Search),
    Bound(Command::Browse),
    Bound(Command::ToggleTools),
    Bound(Command::Palette),
    Bound(Command::Exit),
];

/// While the model works.
const WORKING: &[Row] = &[
    Bound(Command::Interrupt),
    Bound(Command::Submit),
    Bound(Command::FollowUp),
    Bound(Command::RecallQueue),
    Bound(Command::Answer),
    Bound(Command::CyclePermissions),
    Bound(Command::ToggleTools),
    Bound(Command::ToggleThinking),
    Bound(Command::ToggleTodo),
    Bound(Command::Search),
    Bound(Command::Browse),
    Bound(Command::Jobs),
    Bound(Command::NewTab),
    Bound(Command::Palette),
];

/// Ways to move, which are last: most people try them without help.
const MOVES: &[Command] = &[
    Command::Up,
    Command::Down,
    Command::LineUp,
    Command::LineDown,
    Command::PageUp,
    Command::PageDown,
    Command::First,
    Command::Last,
    Command::Top,
    Command::Bottom,
];

/// Keys shown for one command.
const MOST_KEYS: usize = 2;

/// Keys and what they do, for the contexts that hold now, the innermost first. `uses` tells the commands that a view has a
/// use for.
pub(crate) fn keys(
    keymap: &Keymap<Command>,
    contexts: &[&str],
    moment: Moment,
    uses: impl Fn(Command) -> bool,
) -> Vec<(String, String)> {
    let of_prompt = |rows: &[Row]| {
        let shown = rows.iter().filter_map(|row| row.shown(keymap, contexts));
        shown.collect()
    };
    let mut rows: Vec<_> = match moment {
        Moment::Idle => of_prompt(IDLE),
        Moment::Working => of_prompt(WORKING),
        Moment::View => {
            let mut parts = contexts.split(|context| matches!(*context, "editor" | "global"));
            of_view(keymap, parts.next().unwrap_or_default(), uses)
        }
    };
    if let Some(keys) = bound(keymap, contexts, Command::Help) {
        rows.push((keys, "All keys, with a filter".to_owned()));
    }
    rows
}

impl Row {
    fn shown(self, keymap: &Keymap<Command>, contexts: &[&str]) -> Option<(String, String)> {
        let command = match self {
            Typed(text, meaning) => return Some((text.to_owned(), meaning.to_owned())),
            Bound(command) => command,
        };
        let info = command.info()?;
        let slash = || info.slash.map(|slash| format!("/{}", slash.name));
        let keys = bound(keymap, contexts, command).or_else(slash)?;
        Some((keys, info.description.to_owned()))
    }
}

/// The keys of a command in the first context that has any.
fn bound(keymap: &Keymap<Command>, contexts: &[&str], command: Command) -> Option<String> {
    let mut found = contexts
        .iter()
        .map(|context| keymap.keys_for(context, command));
    let mut keys = found.find(|keys| !keys.is_empty())?;
    keys.sort_by_key(String::len);
    keys.truncate(MOST_KEYS);
    Some(keys.join(", "))
}

fn of_view(
    keymap: &Keymap<Command>,
    contexts: &[&str],
    uses: impl Fn(Command) -> bool,
) -> Vec<(String, String)> {
    let mut commands: Vec<Command> = Vec::new();
    for context in contexts {
        let found = keymap.all().filter(|(of, ..)| of == context);
        for (_, _, command) in found {
            if command != Command::Help && uses(command) && !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands.sort_by_key(|command| MOVES.contains(command));
    let row = |command: Command| {
        let keys = bound(keymap, contexts, command)?;
        Some((keys, command.info()?.description.to_owned()))
    };
    commands.into_iter().filter_map(row).collect()
}

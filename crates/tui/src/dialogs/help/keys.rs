//! The keys of the moment: of the prompt while nothing runs, of the prompt while the model works, or of the view in front.

use crate::actions::Command;
use crate::drawing::frame;
use osier_term::input::KeyCode;
use osier_term::keymap::Lookup;
use osier_term::{KeyPress, Keymap};

/// Where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Idle,
    Working,
    /// A question waits for an answer.
    Asked,
    /// A view in front of the prompt, or the conversation while it is browsed.
    View,
}

/// A row of the page of the prompt: a command with a key or a slash command, or what to type, and its meaning.
#[derive(Clone, Copy)]
enum Row {
    Bound(Command, &'static str),
    Typed(&'static str, &'static str),
}

use Row::{Bound, Typed};

/// While nothing runs.
const IDLE: &[Row] = &[
    Bound(Command::Submit, "send"),
    Bound(Command::Newline, "new line"),
    Typed("/", "commands"),
    Typed("@", "attach a file"),
    Bound(Command::AttachPicture, "attach an image"),
    Typed("!", "run a command"),
    Bound(Command::HistorySearch, "earlier prompts"),
    Bound(Command::ExternalEditor, "use your editor"),
    Bound(Command::Stash, "stash the prompt"),
    Typed("esc esc", "back to a prompt"),
    Bound(Command::Tree, "session tree"),
    Bound(Command::Changes, "review changes"),
    Bound(Command::SessionPicker, "sessions"),
    Bound(Command::ModelPicker, "model"),
    Bound(Command::CycleThinking, "thinking level"),
    Bound(Command::CyclePermissions, "permission mode"),
    Bound(Command::Search, "search the text"),
    Bound(Command::Browse, "browse and copy"),
    Bound(Command::ToggleTools, "output of tools"),
    Bound(Command::Palette, "all commands"),
    Bound(Command::Exit, "quit"),
];

/// While the model works.
const WORKING: &[Row] = &[
    Bound(Command::Interrupt, "stop"),
    Bound(Command::Submit, "add to this run"),
    Bound(Command::FollowUp, "queue for later"),
    Bound(Command::RecallQueue, "edit the queue"),
    Bound(Command::Answer, "answer the question"),
    Bound(Command::CyclePermissions, "permission mode"),
    Bound(Command::ToggleTools, "output of tools"),
    Bound(Command::ToggleThinking, "thinking"),
    Bound(Command::ToggleTodo, "to-dos"),
    Bound(Command::Search, "search the text"),
    Bound(Command::Browse, "browse and copy"),
    Bound(Command::Jobs, "background jobs"),
    Bound(Command::NewTab, "session in a tab"),
    Bound(Command::Palette, "all commands"),
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

/// Commands of several views with their meaning in one view.
const IN_VIEW: &[(&str, Command, &str)] = &[
    ("question", Command::Accept, "Give the selected answer"),
    ("question", Command::Up, "Select the answer before"),
    ("question", Command::Down, "Select the next answer"),
    ("question", Command::Cancel, "Answer later"),
    ("question", Command::Dismiss, "Deny, or skip the question"),
    ("tree", Command::Accept, "Go here"),
    ("tree", Command::TreeMenu, "Menu of the entry"),
    ("tree", Command::TreeParent, "Entry before it"),
    ("tree", Command::TreeChild, "Entry after it"),
    ("tree", Command::TreeEnd, "End of the branch"),
    ("tree", Command::PreviousSibling, "Previous branch"),
    ("tree", Command::NextSibling, "Next branch"),
    ("tree", Command::PreviousPrompt, "Previous prompt"),
    ("tree", Command::NextPrompt, "Next prompt"),
    ("tree", Command::Fold, "Collapse or go out"),
    ("tree", Command::PanLeft, "Outer levels"),
    ("tree", Command::PanRight, "Inner levels"),
    ("tree", Command::Search, "Search all branches"),
    ("tree", Command::TreeSummarize, "Go with a summary"),
    ("tree", Command::TreeSummarizeBefore, "Summarize before it"),
    ("tree", Command::TreeWithFiles, "Go here with files"),
    ("tree", Command::TreeForkWorktree, "Fork to a worktree"),
    ("tree", Command::TreeCompare, "Mark and compare"),
    ("tree", Command::TreeRestore, "Show hidden branch"),
    ("tree", Command::TreeErase, "Delete permanently"),
    ("tree", Command::GoBack, "Previous position"),
    ("tree", Command::GoForward, "Next position"),
    ("tree", Command::First, "First entry"),
    ("tree", Command::Last, "Last entry"),
    ("sessions", Command::Accept, "Open the session"),
    ("summary", Command::Accept, "Store the summary"),
    ("summary", Command::Cancel, "Do not compact"),
    ("search", Command::Accept, "Go to the older match"),
    ("search", Command::Up, "Go to the older match"),
    ("search", Command::Down, "Go to the newer match"),
    ("transcript", Command::Cancel, "Go back to the prompt"),
];

/// The commands of the page of the prompt: those that are wanted first.
pub(super) fn wanted_first(is_idle: bool) -> Vec<Command> {
    let rows = if is_idle { IDLE } else { WORKING };
    let bound = rows.iter().filter_map(|row| match row {
        Bound(command, _) => Some(*command),
        Typed(..) => None,
    });
    bound.collect()
}

/// Keys and their meanings in the active contexts, the innermost first. `uses` says whether the view uses a command, `meaning` names
/// what a command does there if that differs.
pub(crate) fn keys(
    keymap: &Keymap<Command>,
    contexts: &[&str],
    moment: Moment,
    (uses, meaning): (
        impl Fn(Command) -> bool,
        impl Fn(Command) -> Option<&'static str>,
    ),
) -> Vec<(String, String)> {
    let of_prompt = |rows: &[Row]| {
        let rows = rows
            .iter()
            .filter(|row| moment == Moment::Asked || !matches!(row, Bound(Command::Answer, _)));
        rows.filter_map(|row| row.shown(keymap, contexts)).collect()
    };
    let mut rows: Vec<_> = match moment {
        Moment::Idle => of_prompt(IDLE),
        Moment::Working | Moment::Asked => of_prompt(WORKING),
        Moment::View => {
            let mut parts = contexts.split(|context| matches!(*context, "editor" | "global"));
            of_view(keymap, parts.next().unwrap_or_default(), uses, meaning)
        }
    };
    if let Some(keys) = key_in_view(keymap, contexts, Command::Help) {
        rows.push((keys, "all keys, with a filter".to_owned()));
    }
    rows
}

/// The effect of a key that ends the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterPage {
    AllKeys,
    Nothing,
    TheKey,
    /// Another page of keys if there is one, else what the key does.
    Turn {
        forward: bool,
    },
}

/// Help lists the keys of all views, esc does nothing, and any other key does what it does without
/// the page.
pub(crate) fn after_page(keymap: &Keymap<Command>, contexts: &[&str], key: KeyPress) -> AfterPage {
    match keymap.lookup(contexts, &[], key) {
        Lookup::Actions(commands) if commands.contains(&Command::Help) => AfterPage::AllKeys,
        _ if key == KeyPress::plain(KeyCode::Esc) => AfterPage::Nothing,
        _ if key == KeyPress::plain(KeyCode::PageDown) => AfterPage::Turn { forward: true },
        _ if key == KeyPress::plain(KeyCode::PageUp) => AfterPage::Turn { forward: false },
        _ => AfterPage::TheKey,
    }
}

impl Row {
    fn shown(self, keymap: &Keymap<Command>, contexts: &[&str]) -> Option<(String, String)> {
        let (keys, meaning) = match self {
            Typed(text, meaning) => (text.to_owned(), meaning),
            Bound(command, meaning) => {
                let slash = || {
                    command
                        .info()?
                        .slash
                        .map(|slash| format!("/{}", slash.name))
                };
                let key = first_key(keymap, contexts, command).or_else(slash)?;
                (key, meaning)
            }
        };
        Some((keys, meaning.to_owned()))
    }
}

/// The keys of a command in the first context that has any.
fn keys_of(keymap: &Keymap<Command>, contexts: &[&str], command: Command) -> Vec<String> {
    let found = contexts
        .iter()
        .map(|context| keymap.keys_for(context, command));
    let mut found = found.filter(|keys| !keys.is_empty());
    found.next().unwrap_or_default()
}

/// The key that the screen names for a command.
fn first_key(keymap: &Keymap<Command>, contexts: &[&str], command: Command) -> Option<String> {
    keys_of(keymap, contexts, command).into_iter().next()
}

/// The key that a view shows for a command in its line of keys.
fn key_in_view(keymap: &Keymap<Command>, contexts: &[&str], command: Command) -> Option<String> {
    let mut contexts = contexts.iter();
    contexts.find_map(|context| frame::shown_key(keymap, context, command))
}

fn of_view(
    keymap: &Keymap<Command>,
    contexts: &[&str],
    uses: impl Fn(Command) -> bool,
    meaning: impl Fn(Command) -> Option<&'static str>,
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
        let keys = key_in_view(keymap, contexts, command)?;
        let mut known = IN_VIEW.iter();
        let known = known.find(|(of, known, _)| contexts.contains(of) && *known == command);
        let known = known.map(|&(_, _, meaning)| meaning);
        let meaning = match (meaning(command).or(known), command) {
            (Some(meaning), _) => meaning,
            (None, Command::Up) => "Move up",
            (None, Command::Down) => "Move down",
            (None, command) => command.info()?.description,
        };
        Some((keys, meaning.to_owned()))
    };
    commands.into_iter().filter_map(row).collect()
}

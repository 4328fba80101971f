//! The confirmation before running sessions are stopped.

use super::{TabState, TabSummary};
use crate::actions::{Action, Effect, TabRequest};
use crate::drawing::{MenuItem, Picker};

/// The layer of the question.
pub(super) const ID: &str = "leaving";

fn menu(title: String, items: impl Iterator<Item = MenuItem>) -> Picker<MenuItem> {
    let cancel = MenuItem::without_action("Cancel", "keep running");
    Picker::menu(
        title,
        "no choice matches",
        [cancel].into_iter().chain(items),
    )
    .with_answers()
}

/// Asks before the program is left while something is `running` in the shown session or these others are busy.
pub(super) fn quitting(running: Option<&str>, busy: &[&TabSummary]) -> Picker<MenuItem> {
    let (title, quit) = match (running, busy) {
        (Some(running), []) => (running.to_owned(), "Quit and stop it"),
        (None, [one]) => (title(one), "Quit and stop it"),
        (here, others) => {
            let count = others.len() + usize::from(here.is_some());
            let title = format!("{count} sessions are still running");
            (title, "Quit and stop them")
        }
    };
    let quit = MenuItem::new(quit, "the conversations are stored", Effect::Quit);
    let others = busy.iter().map(|entry| {
        let label = format!("Go to {}", entry.label());
        let show = Action::ShowSessionNumber(entry.number);
        MenuItem::new(label, entry.state.word(), show)
    });
    menu(title, [quit].into_iter().chain(others))
}

/// Asks before this session is closed.
pub(super) fn closing(entry: &TabSummary) -> Picker<MenuItem> {
    let close = TabRequest::Close(entry.number);
    let close = MenuItem::new("Close and stop it", "the conversation is stored", close);
    menu(title(entry), [close].into_iter())
}

fn title(entry: &TabSummary) -> String {
    let state = match entry.state {
        TabState::Working => "still running",
        state => state.word(),
    };
    format!("Session {} is {state}", entry.number)
}

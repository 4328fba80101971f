//! The confirmation before running sessions are stopped.

use super::{TabState, TabSummary};
use crate::actions::{Action, Effect, TabRequest};
use crate::drawing::Picker;
use osier_term::widgets::columns::Columns;
use osier_term::widgets::select::Item;

/// The layer of the question.
pub(super) const ID: &str = "leaving";

const STAY: &str = "stay";
const GO: &str = "go";

/// Asks before the program is left while something is `running` in the shown session or these others are busy.
pub(super) fn quitting(running: Option<&str>, busy: &[&TabSummary]) -> Picker {
    let (title, quit) = match (running, busy) {
        (Some(running), []) => (running.to_owned(), "Quit and stop it"),
        (None, [one]) => (title(one), "Quit and stop it"),
        (here, others) => {
            let count = others.len() + usize::from(here.is_some());
            let title = format!("{count} sessions are still running");
            (title, "Quit and stop them")
        }
    };
    let mut items = vec![
        item(STAY, "Cancel", "keep running"),
        item(GO, quit, "the conversations are stored"),
    ];
    items.extend(busy.iter().map(|entry| {
        let label = format!("Go to {}", entry.label());
        item(&entry.number.to_string(), &label, entry.state.word())
    }));
    let take = |key: &str| match key {
        STAY => Vec::new(),
        GO => vec![Action::Effect(Effect::Quit)],
        number => {
            let number = number.parse().ok();
            number.map(Action::ShowSessionNumber).into_iter().collect()
        }
    };
    Picker::new(title, "no choice matches", items, Box::new(take)).with_columns(Columns::SENTENCE)
}

/// Asks before this session is closed.
pub(super) fn closing(entry: &TabSummary) -> Picker {
    let title = title(entry);
    let items = vec![
        item(STAY, "Cancel", "keep running"),
        item(GO, "Close and stop it", "the conversation is stored"),
    ];
    let number = entry.number;
    let take = move |key: &str| match key {
        GO => vec![Action::Effect(Effect::Tabs(TabRequest::Close(number)))],
        _ => Vec::new(),
    };
    Picker::new(title, "no choice matches", items, Box::new(take)).with_columns(Columns::SENTENCE)
}

fn title(entry: &TabSummary) -> String {
    let state = match entry.state {
        TabState::Working => "still running",
        state => state.word(),
    };
    format!("Session {} is {state}", entry.number)
}

fn item(key: &str, label: &str, detail: &str) -> Item {
    Item {
        key: key.to_owned(),
        label: label.to_owned(),
        details: vec![detail.into()],
        ..Item::default()
    }
}

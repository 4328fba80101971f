//! What is asked before sessions are left that still do something.

use super::TabSummary;
use crate::action::Action;
use crate::overlays::picker::Picker;
use osier_term::widgets::columns::Columns;
use osier_term::widgets::select::Item;

/// The layer of the question.
pub(super) const ID: &str = "leaving";

const STAY: &str = "stay";
const GO: &str = "go";

/// Asks before the program is left while these sessions are busy.
pub(super) fn quitting(busy: &[&TabSummary]) -> Picker {
    let title = match busy {
        [one] => format!("Session {} {}", one.number, one.state.word()),
        several => format!("{} sessions are not done", several.len()),
    };
    let mut items = vec![
        item(STAY, "Stay", "nothing is stopped"),
        item(GO, "Leave", "they are stopped; what was said is stored"),
    ];
    items.extend(busy.iter().map(|entry| {
        let label = format!("Go to {}", entry.label());
        item(&entry.number.to_string(), &label, entry.state.word())
    }));
    let take = |key: &str| match key {
        STAY => Vec::new(),
        GO => vec![Action::QuitAnyway],
        number => {
            let number = number.parse().ok();
            number.map(Action::ShowSessionNumber).into_iter().collect()
        }
    };
    Picker::new(title, "nothing of that name", items, Box::new(take))
        .with_columns(Columns::SENTENCE)
}

/// Asks before this session is closed.
pub(super) fn closing(entry: &TabSummary) -> Picker {
    let title = format!("Session {} {}", entry.number, entry.state.word());
    let items = vec![
        item(STAY, "Keep it open", "nothing is stopped"),
        item(GO, "Close it", "it is stopped; what was said is stored"),
    ];
    let number = entry.number;
    let take = move |key: &str| match key {
        GO => vec![Action::CloseSessionAnyway(number)],
        _ => Vec::new(),
    };
    Picker::new(title, "nothing of that name", items, Box::new(take))
        .with_columns(Columns::SENTENCE)
}

fn item(key: &str, label: &str, detail: &str) -> Item {
    Item {
        key: key.to_owned(),
        label: label.to_owned(),
        details: vec![detail.into()],
        ..Item::default()
    }
}

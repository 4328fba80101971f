//! A session that another osier has: what can be done with it here.

use crate::actions::{Action, StoredSession};
use crate::drawing::Picker;
use osier_protocol::Opening;
use osier_term::widgets::columns::Columns;
use osier_term::widgets::select::Item;

/// The layer of the list.
pub(super) const ID: &str = "in-use";

const CHOICES: &[(&str, Opening, &str)] = &[
    (
        "Continue in a copy",
        Opening::Copy,
        "new session starting from the same point",
    ),
    (
        "Open read-only",
        Opening::ReadOnly,
        "current state; nothing is stored",
    ),
];

pub(super) fn picker(target: &str) -> Picker {
    let items = CHOICES.iter().map(|(label, _, detail)| Item {
        key: (*label).to_owned(),
        label: (*label).to_owned(),
        details: vec![(*detail).into()],
        keywords: String::new(),
        dimmed: false,
    });
    let target = target.to_owned();
    let take = move |key: &str| {
        let chosen = CHOICES.iter().find(|(label, ..)| *label == key);
        let action = chosen.map(|(_, opening, _)| Action::OpenSession {
            stored: StoredSession {
                target: target.clone(),
                cwd: None,
                opening: *opening,
            },
            new_tab: false,
        });
        action.into_iter().collect()
    };
    let title = "Session open elsewhere";
    Picker::new(title, "no choice matches", items.collect(), Box::new(take))
        .with_columns(Columns::SENTENCE)
}

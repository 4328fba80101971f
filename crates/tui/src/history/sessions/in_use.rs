//! The dialog for a session that is open in another osier.

use crate::actions::{Action, StoredSession};
use crate::drawing::{MenuItem, Picker};
use osier_protocol::Opening;

/// The layer of the list.
pub(super) const ID: &str = "in-use";

const CHOICES: [(&str, &str, Opening); 2] = [
    (
        "Continue in a copy",
        "new session starting from the same point",
        Opening::Copy,
    ),
    (
        "Open read-only",
        "current state; nothing is stored",
        Opening::ReadOnly,
    ),
];

pub(super) fn picker(target: &str) -> Picker<MenuItem> {
    let items = CHOICES.map(|(label, meaning, opening)| {
        let stored = StoredSession {
            target: target.to_owned(),
            cwd: None,
            opening,
        };
        let new_tab = false;
        MenuItem::new(label, meaning, Action::OpenSession { stored, new_tab })
    });
    Picker::menu("Session open elsewhere", "no choice matches", items).with_answers()
}

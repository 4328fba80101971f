//! The dialog for a session that ran in another directory.

use crate::actions::{Action, StoredSession};
use crate::drawing::{MenuItem, Picker};
use osier_base::text;
use osier_protocol::{Op, Opening, SessionElsewhere};

/// The layer of the list.
pub(super) const ID: &str = "elsewhere";

/// The choices for a session that is open here, or that could be.
pub(super) fn picker(elsewhere: &SessionElsewhere) -> Picker<MenuItem> {
    let target = Some(elsewhere.path.clone()).filter(|_| !elsewhere.open);
    let here = Op::ContinueHere { target };
    let stored = StoredSession {
        target: elsewhere.path.clone(),
        cwd: None,
        opening: Opening::Copy,
    };
    let new_tab = false;
    let copy = Action::OpenSession { stored, new_tab };
    let leave = if elsewhere.open {
        MenuItem::new("Leave", "start a new session", Op::NewSession)
    } else {
        MenuItem::without_action("Leave", "stay in the new session")
    };
    let items = [
        MenuItem::new(
            "Continue here",
            "it belongs to this directory from now on",
            here,
        ),
        MenuItem::new(
            "Fork here",
            "continue in a copy; the session stays as it is",
            copy,
        ),
        leave,
    ];
    Picker::menu(title(elsewhere), "no choice matches", items).with_answers()
}

fn title(elsewhere: &SessionElsewhere) -> String {
    let directory = text::single_line(&text::sanitize(&elsewhere.directory));
    let missing = if elsewhere.exists { "" } else { " (missing)" };
    format!("Session of {directory}{missing}")
}

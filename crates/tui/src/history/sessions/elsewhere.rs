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
    let leave = MenuItem::new(
        "Leave",
        "start a new session; nothing is sent",
        Op::NewSession,
    );
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
    Picker::menu(title(elsewhere), "no choice matches", items)
        .with_answers()
        .closing("leave")
        .on_leave(Op::NewSession)
}

fn title(elsewhere: &SessionElsewhere) -> String {
    let directory = text::single_line(&text::sanitize(&elsewhere.directory));
    let missing = if elsewhere.exists { "" } else { " (missing)" };
    format!("Session of {directory}{missing}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use super::*;
    use crate::actions::{Command, Outbox, Toast};
    use crate::drawing::Overlays;

    #[test]
    fn question_stays_until_it_is_answered_and_esc_leaves_the_session() {
        let directories = ("/gone/work", "/work");
        let elsewhere = SessionElsewhere::new("1", Path::new("/s/1.jsonl"), directories, true);
        let (mut overlays, mut outbox) = (Overlays::default(), Outbox::default());
        overlays.push(ID, picker(&elsewhere));
        let mut press = |command| {
            let _ = overlays.on_command(command, &mut outbox.cx(Instant::now()));
            outbox.take()
        };
        let waits = Toast::info("answer the question first").into();
        assert_eq!(press(Command::Tree), [waits]);
        let leaves = [Action::CloseLayer, Op::NewSession.into()];
        assert_eq!(press(Command::Cancel), leaves);
    }
}

//! The dialog for a session that is open in another osier.

use crate::actions::{Action, StoredSession};
use crate::drawing::{MenuItem, Picker};
use osier_protocol::{HolderState, Opening, SessionHolder};

/// The layer of the list.
pub(super) const ID: &str = "in-use";

/// The choices that are always there.
const OTHERS: [(&str, &str, Opening); 2] = [
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

/// The choices for the session `target`; `holder` is the process that has it, if it is known.
pub(super) fn picker(target: &str, holder: Option<&SessionHolder>) -> Picker<MenuItem> {
    let others = OTHERS.map(|(label, meaning, opening)| (label.into(), meaning, opening));
    let items = take_over(holder).into_iter().chain(others);
    let items = items.map(|(label, meaning, opening): (String, &str, Opening)| {
        let stored = StoredSession {
            target: target.to_owned(),
            cwd: None,
            opening,
        };
        let new_tab = false;
        MenuItem::new(label, meaning, Action::OpenSession { stored, new_tab })
    });
    Picker::menu(title(holder), "no choice matches", items).with_answers()
}

fn title(holder: Option<&SessionHolder>) -> String {
    let process = holder.and_then(|holder| holder.process);
    let process = process.map(|process| format!(" (process {process})"));
    format!("Session open elsewhere{}", process.unwrap_or_default())
}

/// How this osier can get the session from the other one, if it can.
fn take_over(holder: Option<&SessionHolder>) -> Option<(String, &'static str, Opening)> {
    let Some(holder) = holder else {
        let meaning = "the other osier stores its work and ends";
        return Some(("Take over here".to_owned(), meaning, Opening::TakeOver));
    };
    let meaning = match holder.state {
        HolderState::Ready if holder.working => "its run continues here; the other osier ends",
        HolderState::Ready => "the other osier stores its work and ends",
        HolderState::Stopped => "it is stopped (ctrl+z?); all its tabs end",
        HolderState::Silent => "it does not answer; all its tabs end",
        HolderState::Older => "it is another version of osier; all its tabs end",
        HolderState::Hidden | HolderState::Own => return None,
    };
    Some(match (holder.state, holder.process) {
        (HolderState::Ready, _) | (_, None) => {
            ("Take over here".to_owned(), meaning, Opening::TakeOver)
        }
        (_, Some(_)) => (
            "End it and take over".to_owned(),
            meaning,
            Opening::EndOther,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_take_over_depends_on_the_other_process() {
        let offer = |state, process| {
            let holder = SessionHolder {
                process,
                state,
                working: false,
            };
            take_over(Some(&holder)).map(|(label, _, opening)| (label, opening))
        };
        let asks = Some(("Take over here".to_owned(), Opening::TakeOver));
        let ends = Some(("End it and take over".to_owned(), Opening::EndOther));
        let expected = [
            (HolderState::Ready, &asks),
            (HolderState::Stopped, &ends),
            (HolderState::Silent, &ends),
            (HolderState::Older, &ends),
            (HolderState::Hidden, &None),
            (HolderState::Own, &None),
        ];
        assert_eq!(expected.map(|(state, _)| state), HolderState::ALL);
        for (state, expected) in expected {
            assert_eq!(&offer(state, Some(7)), expected, "{}", state.name());
        }
        let unknown = take_over(None).map(|(label, _, opening)| (label, opening));
        assert_eq!(unknown, asks);
        let named = SessionHolder {
            process: Some(7),
            state: HolderState::Ready,
            working: true,
        };
        assert_eq!(title(Some(&named)), "Session open elsewhere (process 7)");
    }
}

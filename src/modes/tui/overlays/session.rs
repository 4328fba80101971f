//! Choosing a stored session to go on with.

use super::picker::Picker;
use crate::base::{clock, text};
use crate::coding::host::{Op, SessionSummary};
use crate::modes::tui::action::Action;
use crate::term::widgets::select::Item;

pub const ID: &str = "session";

/// The picker over `sessions`, newest first; `now_ms` is the time ages are counted from.
pub fn picker(sessions: &[SessionSummary], now_ms: i64) -> Picker {
    let items = sessions
        .iter()
        .map(|session| item(session, now_ms))
        .collect();
    let take = |path: &str| {
        vec![Action::Tell(Op::ResumeSession {
            target: path.to_owned(),
        })]
    };
    let empty = "no session is stored here yet";
    Picker::new("Sessions of this directory", empty, items, Box::new(take))
}

fn item(session: &SessionSummary, now_ms: i64) -> Item {
    let title = session
        .name
        .as_deref()
        .or(session.first_prompt.as_deref())
        .unwrap_or("(empty)");
    let age = u64::try_from(now_ms - session.modified).unwrap_or(0);
    Item {
        key: session.path.clone(),
        label: text::single_line(title),
        detail: format!("{}  {} ago", size(session.size), age_text(age)),
        keywords: session.first_prompt.clone().unwrap_or_default(),
        dimmed: false,
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

fn age_text(milliseconds: u64) -> String {
    match milliseconds / 86_400_000 {
        0 => clock::human_duration(milliseconds),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_told_by_its_name_or_first_prompt() {
        let session = SessionSummary {
            first_prompt: Some("fix\nit".into()),
            size: 20_480,
            modified: 0,
            ..SessionSummary::default()
        };
        let shown = item(&session, 90_000);
        let shown = (shown.label.as_str(), shown.detail.as_str());
        assert_eq!(shown, ("fix⏎it", "20 kB  1m 30s ago"));
        let named = SessionSummary {
            name: Some("mine".into()),
            ..session
        };
        assert_eq!(item(&named, 3 * 86_400_000).detail, "20 kB  3 days ago");
        assert_eq!(item(&named, 0).label, "mine");
    }
}

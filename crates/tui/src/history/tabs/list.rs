//! The list of tabs: the state of each, with a preview of the selected one.

use super::summary::{TabSummaries, TabSummary};
use crate::actions::Action;
use crate::drawing::Picker;
use osier_term::face::{Emphasis, Face, Token};
use osier_term::row::{Row, Span};
use osier_term::widgets::columns::{Cell, Column, Columns};
use osier_term::widgets::select::Item;
use osier_term::wrap::Wrap;

pub(super) const ID: &str = "open_sessions";

/// Columns of the preview.
const PREVIEW_COLUMNS: usize = 46;

const COLUMNS: Columns = Columns {
    label: "",
    details: &[
        Column::words("", 0).first(),
        Column::words("", 2),
        Column::words("", 1),
    ],
};

/// The picker over the tabs. It is rebuilt whenever the state of one changes.
pub(super) fn picker(summaries: &TabSummaries) -> Picker {
    let shown = summaries.shown;
    let items = summaries.entries.iter().map(|entry| item(entry, shown));
    let take = |key: &str| wanted(key, Action::ShowSessionNumber);
    let remove = |key: &str| wanted(key, Action::CloseSession);
    let (title, empty) = ("Tabs", "no tab matches");
    let picker = Picker::new(title, empty, items.collect(), Box::new(take));
    let entries = summaries.entries.clone();
    let preview = move |key: &str| {
        let entry = entries.iter().find(|entry| entry.number.to_string() == key);
        entry.map(preview).unwrap_or_default()
    };
    picker
        .with_preview(Box::new(preview))
        .with_columns(COLUMNS)
        .taking("go to tab")
        .on_remove("close tab", Box::new(remove))
        .with_selected(&shown.to_string())
}

fn wanted(key: &str, action: impl Fn(usize) -> Action) -> Vec<Action> {
    key.parse()
        .map(|number| vec![action(number)])
        .unwrap_or_default()
}

fn item(entry: &TabSummary, shown: usize) -> Item {
    let draft = if entry.has_draft { "draft" } else { "" };
    let state = if entry.number == shown {
        "current".into()
    } else {
        Cell::new(entry.state.word(), entry.state.token())
    };
    Item {
        key: entry.number.to_string(),
        label: entry.title.clone(),
        details: vec![
            format!("{} {}", entry.number, entry.state.sign()).into(),
            draft.into(),
            state,
        ],
        keywords: format!("{} {} {}", entry.cwd, entry.model, entry.prompt),
        dimmed: false,
    }
}

fn preview(entry: &TabSummary) -> Vec<Row> {
    let bold = Face::from(Token::Title).emphasised(Emphasis::BOLD);
    let mut title = Row::plain(entry.state.word(), entry.state.token());
    title.push(format!(" · {}", entry.title), bold);
    let place = format!("{} · {}", entry.model, entry.cwd);
    let mut rows = vec![title, Row::plain(place, Token::Muted)];
    for (mark, said, token) in [
        ("▌ ", &entry.prompt, Token::Accent),
        ("", &entry.said, Token::Text),
    ] {
        if !said.is_empty() {
            let mark = [Span::new(mark, Token::Accent)];
            Wrap::new(PREVIEW_COLUMNS)
                .prefixed(&mark)
                .text(said, token, &mut rows);
        }
    }
    rows
}

//! The list of tabs: the state of each, with a preview of the selected one.

use super::summary::{TabSummaries, TabSummary};
use crate::actions::{Action, Command};
use crate::drawing::{Choice, Picker};
use osier_term::{Cell, Column, Columns, Face, Item, Row, Span, Token, Wrap};

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

/// A tab of the list.
pub(super) struct Entry {
    summary: TabSummary,
    is_shown: bool,
}

/// The picker over the tabs. It is rebuilt whenever the state of one changes.
pub(super) fn picker(summaries: &TabSummaries) -> Picker<Entry> {
    let entries = summaries.entries.iter().map(|summary| Entry {
        summary: summary.clone(),
        is_shown: summary.number == summaries.shown,
    });
    Picker::new("Tabs", "no tab matches", entries, |entry| {
        [Action::ShowSessionNumber(entry.summary.number)]
    })
    .with_preview(|entry| preview(&entry.summary))
    .with_columns(COLUMNS)
    .taking("go to tab")
    .on(Command::Remove, "close tab", |entry| {
        [Action::CloseSession(entry.summary.number)]
    })
    .with_selected(|entry| entry.is_shown)
}

impl Choice for Entry {
    fn row(&self) -> Item {
        let summary = &self.summary;
        let draft = if summary.has_draft { "draft" } else { "" };
        let state = if self.is_shown {
            "current".into()
        } else {
            Cell::new(summary.state.word(), summary.state.token())
        };
        Item {
            label: summary.title.clone(),
            details: vec![
                format!("{} {}", summary.number, summary.state.sign()).into(),
                draft.into(),
                state,
            ],
            keywords: format!("{} {} {}", summary.cwd, summary.model, summary.prompt),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.summary.number == other.summary.number
    }
}

fn preview(entry: &TabSummary) -> Vec<Row> {
    let mut title = Row::plain(entry.state.word(), entry.state.token());
    title.push(format!(" · {}", entry.title), Face::bold(Token::Title));
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

//! The list of stashed prompts: restore one, preview it, delete it.

use crate::actions::Action;
use crate::drawing::Picker;
use osier_base::{clock, text};
use osier_protocol::{Op, Stashed};
use osier_term::face::Token;
use osier_term::row::Row;
use osier_term::widgets::columns::{Column, Columns};
use osier_term::widgets::select::Item;

pub(super) const ID: &str = "stash";

/// Bytes of a prompt that are matched and shown in the list.
const LABEL_LIMIT: usize = 500;
/// Lines of a prompt that the preview shows.
const PREVIEW_LINES: usize = 100;

const COLUMNS: Columns = Columns {
    label: "prompt",
    details: &[
        Column::words("folder", 1).at_least(8),
        Column::numbers("stashed", 0),
    ],
};

/// The picker over `prompts`, the newest first.
pub(super) fn picker(prompts: &[Stashed]) -> Picker {
    let now = clock::now_ms();
    let items = prompts.iter().map(|prompt| item(prompt, now)).collect();
    let take = |id: &str| vec![Action::RestoreStashed(id.to_owned())];
    let forget = |id: &str| {
        let stashed = id.to_owned();
        vec![Action::Tell(Op::DropStashed { stashed })]
    };
    let texts = prompts.to_vec();
    let preview = move |id: &str| {
        let found = texts.iter().find(|prompt| prompt.id == id);
        found.map(preview).unwrap_or_default()
    };
    let (title, empty) = ("Stashed prompts", "no stashed prompts");
    Picker::new(title, empty, items, Box::new(take))
        .with_columns(COLUMNS)
        .taking("restore")
        .on_remove("delete", Box::new(forget))
        .with_preview(Box::new(preview))
}

fn item(prompt: &Stashed, now: i64) -> Item {
    let head = text::head_bytes(prompt.text.trim_start(), LABEL_LIMIT);
    let folder = prompt.cwd.rsplit('/').next().unwrap_or_default();
    Item {
        key: prompt.id.clone(),
        label: text::single_line(&text::sanitize(head)),
        details: vec![folder.into(), clock::age(prompt.created, now).into()],
        keywords: prompt.cwd.clone(),
        dimmed: false,
    }
}

fn preview(prompt: &Stashed) -> Vec<Row> {
    let lines = prompt.text.lines().take(PREVIEW_LINES);
    let rows = lines.map(|line| {
        let clean = text::sanitize(line);
        Row::plain(text::expand_tabs(&clean).into_owned(), Token::Text)
    });
    rows.collect()
}

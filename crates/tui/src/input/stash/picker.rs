//! The list of stashed prompts: restore one, preview it, delete it.

use crate::actions::{Action, Command};
use crate::drawing::{Choice, Picker};
use osier_base::{clock, text};
use osier_protocol::{Op, Stashed};
use osier_term::{Column, Columns, Item, Row, Token};

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
pub(super) fn picker(prompts: &[Stashed]) -> Picker<Stashed> {
    let (title, empty) = ("Stashed prompts", "no stashed prompts");
    Picker::new(title, empty, prompts.iter().cloned(), |prompt| {
        [Action::RestoreStashed(prompt.id.clone())]
    })
    .with_columns(COLUMNS)
    .taking("restore")
    .on(Command::Remove, "delete", |prompt| {
        let stashed = prompt.id.clone();
        [Op::DropStashed { stashed }]
    })
    .with_preview(preview)
}

impl Choice for Stashed {
    fn row(&self) -> Item {
        let head = text::head_bytes(self.text.trim_start(), LABEL_LIMIT);
        let folder = self.cwd.rsplit('/').next().unwrap_or_default();
        let age = clock::age(self.created, clock::now_ms());
        Item {
            label: text::single_line(&text::sanitize(head)),
            details: vec![folder.into(), age.into()],
            keywords: self.cwd.clone(),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
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

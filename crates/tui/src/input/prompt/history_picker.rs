//! Earlier prompts, searched.

use std::collections::HashSet;

use super::history::History;
use crate::actions::Action;
use crate::drawing::Picker;
use osier_base::text;
use osier_term::widgets::select::Item;

pub(super) const ID: &str = "history";

/// Bytes of a prompt that are matched and shown.
const LABEL_LIMIT: usize = 2000;

/// The picker over earlier prompts, newest first. The chosen one goes into the editor.
pub(super) fn picker(history: &History) -> Picker {
    let mut seen = HashSet::new();
    let prompts = history.newest().filter(|prompt| seen.insert(*prompt));
    let items = prompts.map(|prompt| Item {
        key: prompt.to_owned(),
        label: text::single_line(text::head_bytes(prompt, LABEL_LIMIT)),
        ..Item::default()
    });
    let take = |prompt: &str| {
        vec![Action::SetEditor {
            text: prompt.to_owned(),
        }]
    };
    Picker::new(
        "Prompt history",
        "no prompt matches",
        items.collect(),
        Box::new(take),
    )
    .taking("insert")
}

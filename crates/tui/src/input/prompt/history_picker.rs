//! Earlier prompts, searched.

use std::collections::HashSet;

use super::history::History;
use crate::actions::Action;
use crate::drawing::{Choice, Picker};
use osier_base::text;
use osier_term::Item;

pub(super) const ID: &str = "history";

/// Bytes of a prompt that are matched and shown.
const LABEL_LIMIT: usize = 2000;

/// An earlier prompt.
pub(super) struct Earlier(String);

impl Choice for Earlier {
    fn row(&self) -> Item {
        Item {
            label: text::single_line(text::head_bytes(&self.0, LABEL_LIMIT)),
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// The picker over earlier prompts, newest first. The chosen one goes into the editor.
pub(super) fn picker(history: &History) -> Picker<Earlier> {
    let mut seen = HashSet::new();
    let prompts = history.newest().filter(|prompt| seen.insert(*prompt));
    let prompts = prompts.map(|prompt| Earlier(prompt.to_owned()));
    Picker::new("Prompt history", "no prompt matches", prompts, |prompt| {
        let text = prompt.0.clone();
        [Action::SetEditor { text }]
    })
    .taking("insert")
}

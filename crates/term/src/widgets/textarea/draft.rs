//! The content of the editor as plain values, for draft files, the stash and the history.

use std::sync::Arc;

use super::TextArea;
use super::buffer::{Chip, Fragment, Line, MARK, Position};
use super::undo::EditKind;

/// A part of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftPart {
    Text(String),
    Chip(Chip),
}

/// The content and cursor of an editor, without its undo history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub parts: Vec<DraftPart>,
    pub cursor: Position,
}

impl Draft {
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl TextArea {
    /// Ids of the attachments in the text, in order.
    pub fn attachments(&self) -> Vec<u64> {
        let chips = self.buffer.lines().iter().flat_map(Line::chips);
        chips.filter_map(|chip| chip.attachment).collect()
    }

    pub fn snapshot(&self) -> Draft {
        let all = self.buffer.all();
        let mut chips = all.chips.iter();
        let mut parts = Vec::new();
        for (index, text) in all.text.split(MARK).enumerate() {
            if index > 0
                && let Some(chip) = chips.next()
            {
                parts.push(DraftPart::Chip(Chip::clone(chip)));
            }
            if !text.is_empty() {
                parts.push(DraftPart::Text(text.to_owned()));
            }
        }
        Draft {
            parts,
            cursor: self.cursor,
        }
    }

    /// Replaces the content with a draft in one undo step.
    pub fn restore(&mut self, draft: &Draft) {
        let mut fragment = Fragment::default();
        for part in &draft.parts {
            fragment.append(&match part {
                DraftPart::Text(text) => Fragment::plain(text),
                DraftPart::Chip(chip) => Fragment::chip(Arc::new(chip.clone())),
            });
        }
        self.pastes = self.pastes.max(fragment.chips.len());
        let all = Position::default()..self.buffer.end();
        self.edit(all, fragment, EditKind::Other);
        self.cursor = self.buffer.clamp(draft.cursor);
    }
}

//! The editor's content as plain values: what a draft file, a stash or a history entry keeps.

use std::sync::Arc;

use super::buffer::{Chip, Fragment, Line, MARK, Position};
use super::undo::Kind;
use super::{Last, TextArea};

/// A part of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Chip(Chip),
}

/// Everything needed to put an editor back as it was, except for its undo steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    pub pieces: Vec<Piece>,
    pub cursor: Position,
}

impl Draft {
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The text to send.
    pub fn text(&self) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Chip(chip) => &chip.text,
        });
        pieces.collect()
    }
}

impl TextArea {
    /// Numbers of the attachments in the text, in their order.
    pub fn attachments(&self) -> Vec<u64> {
        let chips = self.buffer.lines().iter().flat_map(Line::chips);
        chips.filter_map(|chip| chip.attachment).collect()
    }

    pub fn snapshot(&self) -> Draft {
        let all = self.buffer.all();
        let mut chips = all.chips.iter();
        let mut pieces = Vec::new();
        for (index, text) in all.text.split(MARK).enumerate() {
            if index > 0
                && let Some(chip) = chips.next()
            {
                pieces.push(Piece::Chip(Chip::clone(chip)));
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(text.to_owned()));
            }
        }
        Draft {
            pieces,
            cursor: self.cursor,
        }
    }

    /// Replaces the content by a draft; one step of undo.
    pub fn restore(&mut self, draft: &Draft) {
        let mut fragment = Fragment::default();
        for piece in &draft.pieces {
            fragment.append(&match piece {
                Piece::Text(text) => Fragment::plain(text),
                Piece::Chip(chip) => Fragment::chip(Arc::new(chip.clone())),
            });
        }
        self.pastes = self.pastes.max(fragment.chips.len());
        let all = Position::default()..self.buffer.end();
        self.edit(all, fragment, Kind::Other);
        self.cursor = self.buffer.clamp(draft.cursor);
    }

    /// Empties the editor for the next prompt and forgets its undo steps; gives what it held.
    pub fn take(&mut self) -> Draft {
        let draft = self.snapshot();
        let all = Position::default()..self.buffer.end();
        self.apply(all, Fragment::default());
        self.undo.clear();
        self.last = Last::Other;
        self.top = 0;
        self.pastes = 0;
        draft
    }
}

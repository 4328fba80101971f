//! Prompts that are put aside, to be taken back in any session.

use std::time::Instant;

use super::app::App;
use super::command::Command;
use super::overlays::stash;
use osier_session::host::Op;
use osier_session::stash::{PromptPart, Stashed};
use osier_term::widgets::textarea::{Chip, Piece};

impl App {
    /// Puts what is typed aside; with nothing typed, lists what was put aside.
    pub(super) fn stash_prompt(&mut self, now: Instant) {
        if self.editor.is_empty() {
            return self.open_stash();
        }
        if !self.layers.is_empty() {
            return;
        }
        self.stash_typed();
        self.editor.clear();
        let keys = self.keymap.keys_for("global", Command::Stash);
        let key = keys.first().map_or("/stash", String::as_str);
        let text = format!("put aside; {key} in an empty prompt brings it back");
        self.toast(&text, false, now);
    }

    /// What is typed goes aside, with its pictures and pastes as they stand there.
    fn stash_typed(&mut self) {
        let text = self.editor.text();
        let pieces = self.editor.pieces();
        let mut parts = Vec::new();
        if pieces.iter().any(|piece| matches!(piece, Piece::Chip(_))) {
            parts.extend(pieces.into_iter().map(|piece| self.part(piece)));
        }
        self.ops.push(Op::StashPrompt { text, parts });
    }

    fn part(&self, piece: Piece) -> PromptPart {
        let chip = match piece {
            Piece::Text(text) => return PromptPart::Text { text },
            Piece::Chip(chip) => chip,
        };
        match chip.attachment {
            None => PromptPart::Paste {
                label: chip.label,
                text: chip.text.to_string(),
            },
            Some(number) => match self.attached.find(number) {
                Some(file) => PromptPart::File { file: file.clone() },
                // Its file has given way to others: its mark says that there was one.
                None => PromptPart::Text {
                    text: chip.text.to_string(),
                },
            },
        }
    }

    fn piece(&mut self, part: &PromptPart) -> Piece {
        match part {
            PromptPart::Text { text } => Piece::Text(text.clone()),
            PromptPart::Paste { label, text } => Piece::Chip(Chip {
                label: label.clone(),
                text: text.as_str().into(),
                attachment: None,
            }),
            PromptPart::File { file } => Piece::Chip(self.keep_file(file.clone())),
        }
    }

    /// Lists what was put aside.
    pub(super) fn open_stash(&mut self) {
        self.layers.push(stash::ID, stash::picker(&self.stash));
        self.ops.push(Op::ListStash);
    }

    pub(super) fn stash_told(&mut self, prompts: &[Stashed]) {
        self.stash = prompts.to_vec();
        self.renew(stash::ID, stash::picker(&self.stash));
    }

    /// Puts a prompt back into the editor. What is typed there takes its place.
    pub(super) fn take_stashed(&mut self, id: &str) {
        let Some(place) = self.stash.iter().position(|prompt| prompt.id == id) else {
            return;
        };
        let taken = self.stash.remove(place);
        if !self.editor.text().trim().is_empty() {
            self.stash_typed();
        }
        if taken.parts.is_empty() {
            self.editor.set_text(&taken.text);
        } else {
            let pieces = taken.parts.iter().map(|part| self.piece(part)).collect();
            self.editor.clear();
            self.editor.put_draft_before(pieces);
        }
        self.ops.push(Op::DropStashed { stashed: taken.id });
    }
}

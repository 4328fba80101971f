//! Images of the prompt: attached, put back with a draft, and sent.

use super::Prompt;
use super::attachments::{Attachments, cut_at_mark};
use crate::actions::{Outbox, Toast};
use osier_agent::{Attachment, UserMessage};
use osier_llm::Modality;
use osier_protocol::{ModelInfo, Op, PromptPart};
use osier_term::widgets::textarea::DraftPart;

impl Prompt {
    /// Puts a file that was read into the prompt.
    pub(crate) fn attach(
        &mut self,
        file: Attachment,
        model: Option<&ModelInfo>,
        outbox: &mut Outbox,
    ) {
        let chip = self.attachments.add(file);
        self.editor.insert_chip(chip);
        if !accepts_images(model) {
            outbox.push(Toast::error(rejection(model)));
        }
    }

    /// Puts queued prompts back into the editor, with their images as chips.
    pub(super) fn put_back(&mut self, messages: &[UserMessage]) {
        let pieces = self.attachments.pieces(messages);
        if !pieces.is_empty() {
            self.editor.put_draft_before(pieces);
        }
    }

    /// Stashes the text of the editor with its attachments and pastes.
    pub(crate) fn stash(&self) -> Op {
        let text = self.editor.text();
        let pieces = self.editor.pieces();
        let mut parts = Vec::new();
        if pieces
            .iter()
            .any(|piece| matches!(piece, DraftPart::Chip(_)))
        {
            let pieces = pieces.into_iter();
            parts.extend(pieces.map(|piece| part(piece, &self.attachments)));
        }
        Op::StashPrompt { text, parts }
    }

    /// The files of the chips in the editor, for the stored draft.
    pub(crate) fn attached(&self, numbers: &[u64]) -> Vec<Attachment> {
        let files = numbers
            .iter()
            .filter_map(|number| self.attachments.find(*number));
        files.cloned().collect()
    }

    /// Makes chips of the texts that stand for these files in a restored draft.
    pub(super) fn restore_attachments(&mut self, files: &[Attachment]) {
        if files.is_empty() {
            return;
        }
        let mut files = files.iter().peekable();
        let mut pieces = Vec::new();
        for piece in self.editor.pieces() {
            let DraftPart::Text(text) = &piece else {
                pieces.push(piece);
                continue;
            };
            let mut rest = text.as_str();
            while let Some(file) = files.peek()
                && let Some((before, after)) = cut_at_mark(rest, &file.file_name)
            {
                pieces.push(DraftPart::Text(before.to_owned()));
                pieces.push(DraftPart::Chip(self.attachments.add((*file).clone())));
                rest = after;
                files.next();
            }
            pieces.push(DraftPart::Text(rest.to_owned()));
        }
        self.editor.clear();
        self.editor.put_draft_before(pieces);
    }

    /// The files of the chips in the editor; `None` when the user has to confirm that the model ignores images.
    pub(super) fn attachments_to_send(
        &mut self,
        model: Option<&ModelInfo>,
        outbox: &mut Outbox,
    ) -> Option<Vec<Attachment>> {
        let numbers = self.editor.attachments();
        if !numbers.is_empty() && !accepts_images(model) && self.attachments.warned != numbers {
            let text = format!("{}; press enter again to send", rejection(model));
            outbox.push(Toast::error(text));
            self.attachments.warned = numbers;
            return None;
        }
        self.attachments.warned.clear();
        let files = numbers
            .iter()
            .filter_map(|number| self.attachments.find(*number));
        Some(files.cloned().collect())
    }
}

fn part(piece: DraftPart, attachments: &Attachments) -> PromptPart {
    let chip = match piece {
        DraftPart::Text(text) => return PromptPart::Text { text },
        DraftPart::Chip(chip) => chip,
    };
    match chip.attachment {
        None => PromptPart::Paste {
            label: chip.label,
            text: chip.text.to_string(),
        },
        Some(number) => match attachments.find(number) {
            Some(file) => PromptPart::File { file: file.clone() },
            // Newer attachments have replaced the file; the text of its chip stays.
            None => PromptPart::Text {
                text: chip.text.to_string(),
            },
        },
    }
}

fn accepts_images(model: Option<&ModelInfo>) -> bool {
    model.is_none_or(|model| model.input.contains(&Modality::Image))
}

/// The warning that the model does not accept images.
fn rejection(model: Option<&ModelInfo>) -> String {
    let name = model.map_or("the model", |model| &model.name);
    format!("{name} does not accept images; it gets a placeholder")
}

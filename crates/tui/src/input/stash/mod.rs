//! Stashed prompts: they can be restored in any session.

mod picker;

use crate::actions::{Command, Outbox, Toast};
use crate::drawing::{Overlays, overlays};
use crate::input::{Prompt, prompt::attachments::Attachments};
use osier_protocol::{Op, PromptPart, Stashed};
use osier_term::Keymap;
use osier_term::widgets::textarea::{Chip, DraftPart};

/// The stashed prompts that the host reported last.
#[derive(Debug, Default)]
pub(crate) struct Stash {
    prompts: Vec<Stashed>,
}

impl Stash {
    /// Lists the stashed prompts.
    pub(crate) fn open(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(picker::ID, picker::picker(&self.prompts));
        outbox.push(Op::ListStash);
    }

    pub(crate) fn set_prompts(&mut self, prompts: &[Stashed], overlays: &mut Overlays) {
        self.prompts = prompts.to_vec();
        overlays::refresh(overlays, picker::ID, picker::picker(&self.prompts));
    }

    /// Stashes what is typed; in an empty prompt, lists the stashed prompts.
    pub(crate) fn stash_or_list(
        &self,
        prompt: &mut Prompt,
        keymap: &Keymap<Command>,
        overlays: &mut Overlays,
        outbox: &mut Outbox,
    ) {
        if prompt.editor.is_empty() {
            return self.open(overlays, outbox);
        }
        if !overlays.is_empty() {
            return;
        }
        outbox.push(stash(prompt));
        prompt.editor.clear();
        let keys = keymap.keys_for("global", Command::Stash);
        let key = keys.first().map_or("/stash", String::as_str);
        let text = format!("stashed; press {key} in an empty prompt to restore");
        outbox.push(Toast::info(text));
    }

    /// Restores a prompt in the editor; what was typed there is stashed.
    pub(crate) fn restore(&mut self, id: &str, prompt: &mut Prompt, outbox: &mut Outbox) {
        let Some(place) = self.prompts.iter().position(|prompt| prompt.id == id) else {
            return;
        };
        let stashed = self.prompts.remove(place);
        if !prompt.editor.text().trim().is_empty() {
            outbox.push(stash(prompt));
        }
        if stashed.parts.is_empty() {
            prompt.editor.set_text(&stashed.text);
        } else {
            let parts = stashed.parts.iter();
            let pieces = parts.map(|part| piece(part, &mut prompt.attachments));
            let pieces = pieces.collect();
            prompt.editor.clear();
            prompt.editor.put_draft_before(pieces);
        }
        outbox.push(Op::DropStashed {
            stashed: stashed.id,
        });
    }
}

/// Stashes the text of the editor with its attachments and pastes.
fn stash(prompt: &Prompt) -> Op {
    let text = prompt.editor.text();
    let pieces = prompt.editor.pieces();
    let mut parts = Vec::new();
    if pieces
        .iter()
        .any(|piece| matches!(piece, DraftPart::Chip(_)))
    {
        let pieces = pieces.into_iter();
        parts.extend(pieces.map(|piece| part(piece, &prompt.attachments)));
    }
    Op::StashPrompt { text, parts }
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

fn piece(part: &PromptPart, attachments: &mut Attachments) -> DraftPart {
    match part {
        PromptPart::Text { text } => DraftPart::Text(text.clone()),
        PromptPart::Paste { label, text } => DraftPart::Chip(Chip {
            label: label.clone(),
            text: text.as_str().into(),
            attachment: None,
        }),
        PromptPart::File { file } => DraftPart::Chip(attachments.add(file.clone())),
    }
}

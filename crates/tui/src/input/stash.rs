//! Stashed prompts: they can be restored in any session.

use crate::actions::{Action, Command, Outbox, Toast};
use crate::drawing::{Choice, Overlays, Picker, overlays};
use crate::input::{Prompt, prompt::attachments::Attachments};
use osier_base::{clock, text};
use osier_protocol::{Op, PromptPart, Stashed};
use osier_term::widgets::textarea::{Chip, DraftPart};
use osier_term::{Column, Columns, Item, Keymap, Row, Token};

const ID: &str = "stash";

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
fn picker(prompts: &[Stashed]) -> Picker<Stashed> {
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

/// The stashed prompts that the session reported last.
#[derive(Debug, Default)]
pub(crate) struct Stash {
    prompts: Vec<Stashed>,
}

impl Stash {
    /// Lists the stashed prompts.
    pub(crate) fn open(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(ID, picker(&self.prompts));
        outbox.push(Op::ListStash);
    }

    pub(crate) fn set_prompts(&mut self, prompts: &[Stashed], overlays: &mut Overlays) {
        self.prompts = prompts.to_vec();
        overlays::refresh(overlays, ID, picker(&self.prompts));
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
        outbox.push(prompt.stash());
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
            outbox.push(prompt.stash());
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

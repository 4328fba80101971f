//! Deletes a branch permanently: the session file is written again without the content of the branch.
//!
//! Each entry leaves a line with its id and its parent, and with what its answer cost. So numbers, parents and positions of
//! the other entries stay, and clients continue where they were. All other lines are copied as they are. Checkpoints
//! stay, because a state of the files belongs to the directory.

use std::fs::File;
use std::io::{self, Write as _};

use super::entry_reader::{EntryReader, Location};
use super::error::SessionError;
use super::tree::SessionTree;
use osier_agent::AgentMessage;
use osier_base::jsonl;
use osier_protocol::{EntryKind, Tag};

/// The size of a deletion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deleted {
    pub messages: usize,
    pub bytes: u64,
}

/// The lines that a deletion changes, in the order of the file.
#[derive(Debug)]
pub(super) struct Deletion {
    lines: Vec<ChangedLine>,
    pub(super) deleted: Deleted,
    reader: EntryReader,
}

#[derive(Debug)]
struct ChangedLine {
    offset: u64,
    length: u32,
    /// The new line, with its newline.
    text: Vec<u8>,
}

impl Deletion {
    /// Plans to delete the entry `id` and all entries below it.
    pub(super) fn plan(tree: &SessionTree, id: &str) -> Result<Self, SessionError> {
        let found = tree.number(id).filter(|number| !tree.is_deleted(*number));
        let Some(top) = found else {
            return Err(SessionError::UnknownEntry { id: id.to_owned() });
        };
        if tree.walk(tree.leaf_number()).any(|number| number == top) {
            return Err(SessionError::CurrentBranch);
        }
        let mut deletion = Self {
            lines: Vec::new(),
            deleted: Deleted::default(),
            reader: tree.entry_reader().clone(),
        };
        let mut below = vec![false; (tree.records() - top) as usize];
        below[0] = true;
        for number in top..tree.records() {
            let parent = tree
                .parent(number)
                .and_then(|number| number.checked_sub(top));
            below[(number - top) as usize] |= parent.is_some_and(|place| below[place as usize]);
            let tag = tree.tag(number);
            let goes = below[(number - top) as usize]
                && (tag.is_shown() || matches!(tag, Tag::Other | Tag::DroppedResults));
            let is_below = |id: &str| {
                let place = tree.number(id).and_then(|number| number.checked_sub(top));
                place.is_some_and(|place| below[place as usize])
            };
            if goes || tag == Tag::Label {
                deletion.change(tree, number, goes, &is_below)?;
            }
        }
        Ok(deletion)
    }

    /// Changes the line of a deleted entry, or the line of a label of one.
    fn change(
        &mut self,
        tree: &SessionTree,
        number: u32,
        goes: bool,
        is_below: &dyn Fn(&str) -> bool,
    ) -> Result<(), SessionError> {
        let Location::Stored { offset, length } = tree.record(number).location else {
            return Ok(());
        };
        let mut entry = tree.read(number);
        entry.kind = match entry.kind {
            EntryKind::Label {
                target_id,
                label: Some(_),
            } if is_below(&target_id) => EntryKind::Label {
                target_id,
                label: None,
            },
            EntryKind::Label { .. } => return Ok(()),
            EntryKind::Message {
                message: AgentMessage::Assistant(answer),
            } => EntryKind::Deleted {
                provider: answer.provider,
                model: answer.model,
                usage: Some(answer.usage),
            },
            _ => EntryKind::Deleted {
                provider: String::new(),
                model: String::new(),
                usage: None,
            },
        };
        let mut text = Vec::new();
        jsonl::encode(&entry, &mut text)?;
        let saved = (u64::from(length) + 1).saturating_sub(text.len() as u64);
        self.deleted.bytes += saved;
        self.deleted.messages += usize::from(goes && tree.tag(number).is_message());
        self.lines.push(ChangedLine {
            offset,
            length,
            text,
        });
        Ok(())
    }

    /// Writes the first `length` bytes of the session with the changed lines to `copy`.
    pub(super) fn write(&self, length: u64, mut copy: &File) -> io::Result<()> {
        let mut at = 0;
        for line in &self.lines {
            self.reader.copy(at..line.offset, copy)?;
            copy.write_all(&line.text)?;
            // With the newline, which the last line of a file may lack.
            at = (line.offset + u64::from(line.length) + 1).min(length);
        }
        self.reader.copy(at..length, copy)
    }
}

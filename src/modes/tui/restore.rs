//! Bringing files back, as the screen tells of it.

use std::time::Instant;

use super::app::App;
use super::overlays::restore::{self, files};
use crate::agent::Severity;
use crate::coding::checkpoint::Unrestored;
use crate::coding::host::CheckpointEvent;

/// Files that stayed as they are, named one by one.
const NAMED: usize = 10;

impl App {
    pub(super) fn follow_checkpoints(&mut self, event: &CheckpointEvent, now: Instant) {
        match event {
            CheckpointEvent::FilesPreview { known: false, .. } => {
                let text = "no earlier state of the files is known here";
                self.activity.toast(text, true, now);
            }
            CheckpointEvent::FilesPreview { changes, .. } if changes.is_empty() => {
                let text = "the files are as they were";
                self.activity.toast(text, false, now);
            }
            CheckpointEvent::FilesPreview { at, changes, .. } => {
                let picker = restore::picker(at, changes);
                self.layers.push(restore::ID, picker);
            }
            CheckpointEvent::FilesRestored { changes, left } => {
                let text = format!(
                    "{} brought back; `/restore undo` takes that back",
                    files(changes.len())
                );
                self.transcript.notice(Severity::Info, &text);
                self.tell_left(left);
            }
            CheckpointEvent::FileDiffs {
                range,
                known,
                files,
                ..
            } => self.show_changes(range, *known, files, now),
        }
    }

    fn tell_left(&mut self, left: &[Unrestored]) {
        for file in left.iter().take(NAMED) {
            let text = format!("`{}` stays as it is: {}", file.path, file.reason);
            self.transcript.notice(Severity::Warning, &text);
        }
        if let Some(more) = left.len().checked_sub(NAMED).filter(|more| *more > 0) {
            let text = format!("{} more stay as they are", files(more));
            self.transcript.notice(Severity::Warning, &text);
        }
    }
}

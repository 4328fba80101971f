//! Restoring files: the previews and results on screen.

mod picker;

use std::time::Instant;

use crate::app::App;
use osier_agent::Severity;
use osier_protocol::{ChangeKind, CheckpointEvent, FilesAt, Unrestored};
use picker::compare;
pub(crate) use picker::{files, preview};

/// Unrestored files that have a notice each.
const NAMED: usize = 10;

impl App {
    pub(crate) fn on_checkpoint(&mut self, event: &CheckpointEvent, now: Instant) {
        match event {
            CheckpointEvent::FilesPreview {
                request: picker::COMPARISON,
                changes,
                ..
            } => self.tell_differing(changes.len()),
            CheckpointEvent::FilesPreview { known: false, .. } => {
                let text = "no checkpoint of the files at this point";
                self.activity.toast(text, true, now);
            }
            CheckpointEvent::FilesPreview { changes, .. } if changes.is_empty() => {
                let text = "no files to restore: none differ from this point";
                self.activity.toast(text, false, now);
            }
            CheckpointEvent::FilesPreview { at, changes, .. } => {
                let picker = picker::picker(at, changes);
                self.layers.push(picker::ID, picker);
            }
            CheckpointEvent::FilesRestored { changes, left } => {
                let deleted = changes
                    .iter()
                    .filter(|change| change.kind == ChangeKind::Remove)
                    .count();
                let counts = match (changes.len() - deleted, deleted) {
                    (restored, 0) => format!("{} restored", files(restored)),
                    (0, deleted) => format!("{} deleted", files(deleted)),
                    (restored, deleted) => format!("{restored} restored, {deleted} deleted"),
                };
                let text = format!("{counts}; `/restore undo` reverts this");
                self.transcript.notice(Severity::Info, &text);
                self.tell_left(left);
                if let Some(first) = left.first() {
                    let text = format!("{}: {}", first.path, first.reason);
                    self.activity.toast(text, true, now);
                }
                self.reload_changes();
            }
            CheckpointEvent::FileDiffs {
                request,
                range,
                known,
                files,
            } => self.show_changes(*request, range, *known, files, now),
        }
    }

    /// After a move: requests the file changes for review, or whether files differ.
    pub(crate) fn check_files_after_move(&mut self) {
        match self.move_files.take() {
            Some(true) => self.ops.push(preview(FilesAt::Here)),
            Some(false) => self.ops.push(compare()),
            None => {}
        }
    }

    fn tell_differing(&mut self, count: usize) {
        let text = match count {
            0 => return,
            1 => "1 file differs from this point: `/restore` to review".to_owned(),
            count => format!("{count} files differ from this point: `/restore` to review"),
        };
        self.transcript.notice(Severity::Info, &text);
    }

    fn tell_left(&mut self, left: &[Unrestored]) {
        for file in left.iter().take(NAMED) {
            let text = format!("`{}` was not restored: {}", file.path, file.reason);
            self.transcript.notice(Severity::Warning, &text);
        }
        if let Some(more) = left.len().checked_sub(NAMED).filter(|more| *more > 0) {
            let text = format!("{} more were not restored", files(more));
            self.transcript.notice(Severity::Warning, &text);
        }
    }
}

//! Bringing files back, as the screen tells of it.

mod picker;

use std::time::Instant;

use crate::app::App;
use osier_agent::Severity;
use osier_checkpoint::Unrestored;
use osier_session::host::{CheckpointEvent, FilesAt};
use picker::compare;
pub(crate) use picker::{files, preview};

/// Files that stayed as they are, named one by one.
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
                let text = "no earlier state of the files is known here";
                self.activity.toast(text, true, now);
            }
            CheckpointEvent::FilesPreview { changes, .. } if changes.is_empty() => {
                let text = "the files are as they were";
                self.activity.toast(text, false, now);
            }
            CheckpointEvent::FilesPreview { at, changes, .. } => {
                let picker = picker::picker(at, changes);
                self.layers.push(picker::ID, picker);
            }
            CheckpointEvent::FilesRestored { changes, left } => {
                let text = format!(
                    "{} brought back; `/restore undo` takes that back",
                    files(changes.len())
                );
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

    /// What follows a move: the list of files when it was wanted, else a word when they differ.
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
            1 => {
                "1 file is not as it was here: `/restore` looks at it and brings it back".to_owned()
            }
            count => format!(
                "{count} files are not as they were here: `/restore` looks at them and brings them back"
            ),
        };
        self.transcript.notice(Severity::Info, &text);
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

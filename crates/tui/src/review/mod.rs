//! Review of file changes: requests and display.

mod verdicts;
mod view;

use std::time::Instant;

use crate::app::App;
use crate::overlays::Overlays;
use osier_protocol::{CheckpointOp, DiffRange, FileDiff, Op, Reviewed};
pub(crate) use view::ID;
use view::{DiffView, title};

/// The request for changes that was sent last: only its answer is shown.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    request: u64,
    range: Option<DiffRange>,
}

impl Changes {
    /// Requests the changes of a range.
    pub(crate) fn read(&mut self, range: DiffRange) -> Op {
        self.request += 1;
        self.range = Some(range.clone());
        Op::Checkpoint(CheckpointOp::ReadFileDiffs {
            request: self.request,
            range,
        })
    }

    /// Requests the changes again when they are shown: the files have changed.
    pub(crate) fn reload(&mut self, overlays: &mut Overlays) -> Option<Op> {
        diff_view(overlays)?;
        let range = self.range.clone()?;
        Some(self.read(range))
    }
}

fn diff_view(overlays: &mut Overlays) -> Option<&mut DiffView> {
    overlays.get_mut(ID)?.as_any()?.downcast_mut()
}

impl App {
    /// Requests the shown changes again.
    pub(crate) fn reload_changes(&mut self) {
        self.ops.extend(self.changes.reload(&mut self.layers));
    }

    /// Sends a review; rejected changes wait while a run may edit the same files.
    pub(crate) fn send_review(&mut self, pieces: Vec<Reviewed>, now: Instant) {
        if pieces.is_empty() {
            let text = "nothing to send: reject or comment a change first";
            return self.activity.toast(text, false, now);
        }
        if pieces.iter().any(|piece| piece.rejected) && !self.activity.is_idle() {
            let text = "the model is running: wait, or stop it with esc, then send the review";
            return self.activity.toast(text, true, now);
        }
        self.layers.remove(ID);
        let op = CheckpointOp::Review { pieces, tell: true };
        self.ops.push(Op::Checkpoint(op));
    }

    /// Opens the overlay, or gives the open one what it asked for.
    pub(crate) fn show_changes(
        &mut self,
        request: u64,
        range: &DiffRange,
        known: bool,
        files: &[FileDiff],
        now: Instant,
    ) {
        if request != self.changes.request {
            // A newer request replaces this one.
            return;
        }
        // When switching ranges, an empty range is shown, so that the user can switch further.
        let before = diff_view(&mut self.layers);
        let continues = before.is_some();
        let had_git = before.is_some_and(|view| view.has_git());
        if continues || known && !files.is_empty() {
            let compares_with_git = known && *range == DiffRange::Head;
            let has_git = had_git || compares_with_git || self.footer.branch.is_some();
            let mut view = DiffView::new(range.clone(), has_git, files.to_vec());
            if let Some(before) = diff_view(&mut self.layers) {
                view = view.continuing(before);
            }
            self.layers.remove(ID);
            return self.layers.push_modal(ID, view);
        }
        self.layers.remove(ID);
        let text = if known {
            format!("no files changed {}", title(range))
        } else {
            format!("no file changes were recorded {}", title(range))
        };
        self.activity.toast(&text, !known, now);
    }
}

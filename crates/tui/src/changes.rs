//! Changes of files, as the screen asks for them and shows them.

use std::time::Instant;

use super::app::App;
use super::overlays::diff::{DiffView, ID, title};
use osier_session::host::{CheckpointOp, DiffRange, FileDiff, Op, Reviewed};

impl App {
    pub(super) fn ask_changes(&mut self, range: DiffRange) {
        let request = self.changes_asked.0 + 1;
        self.changes_asked = (request, Some(range.clone()));
        let op = CheckpointOp::ReadFileDiffs { request, range };
        self.ops.push(Op::Checkpoint(op));
    }

    fn diff_view(&mut self) -> Option<&mut DiffView> {
        self.layers.get_mut(ID)?.as_any()?.downcast_mut()
    }

    /// The files are others: what is looked at is asked for anew.
    pub(super) fn look_at_changes_again(&mut self) {
        if self.diff_view().is_some()
            && let Some(range) = self.changes_asked.1.clone()
        {
            self.ask_changes(range);
        }
    }

    /// Sends a review, unless it has to wait: files are not changed under the model's hands.
    pub(super) fn send_review(&mut self, pieces: Vec<Reviewed>, now: Instant) {
        if pieces.is_empty() {
            let text = "nothing to send: reject or comment a change first";
            return self.activity.toast(text, false, now);
        }
        if pieces.iter().any(|piece| piece.rejected) && !self.activity.is_idle() {
            let text = "the model works: send the review when it is done, or stop it with esc";
            return self.activity.toast(text, true, now);
        }
        self.layers.remove(ID);
        let op = CheckpointOp::Review { pieces, tell: true };
        self.ops.push(Op::Checkpoint(op));
    }

    /// Opens the overlay, or gives the open one what it asked for.
    pub(super) fn show_changes(
        &mut self,
        request: u64,
        range: &DiffRange,
        known: bool,
        files: &[FileDiff],
        now: Instant,
    ) {
        if request != self.changes_asked.0 {
            // Something else is wanted by now.
            return;
        }
        // Whoever goes from one range to the next can go on from one in which nothing changed.
        let before = self.diff_view();
        let goes_on = before.is_some();
        let had_git = before.is_some_and(|view| view.has_git());
        if goes_on || known && !files.is_empty() {
            let compares_with_git = known && *range == DiffRange::Head;
            let has_git = had_git || compares_with_git || self.footer.branch.is_some();
            let mut view = DiffView::new(range.clone(), has_git, files.to_vec());
            if let Some(before) = self.diff_view() {
                view = view.going_on(before);
            }
            self.layers.remove(ID);
            return self.layers.push_modal(ID, view);
        }
        self.layers.remove(ID);
        let text = if known {
            format!("no file changed {}", title(range))
        } else {
            format!("no changes of files were recorded {}", title(range))
        };
        self.activity.toast(&text, !known, now);
    }
}

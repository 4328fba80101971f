//! Changes of files, as the screen asks for them and shows them.

use std::time::Instant;

use super::app::App;
use super::overlays::diff::{DiffView, ID, title};
use crate::coding::host::{CheckpointOp, DiffRange, FileDiff, Op};

impl App {
    pub(super) fn ask_changes(&mut self, range: DiffRange) {
        let request = 0;
        let op = CheckpointOp::ReadFileDiffs { request, range };
        self.ops.push(Op::Checkpoint(op));
    }

    /// Opens the overlay, or gives the open one what it asked for.
    pub(super) fn show_changes(
        &mut self,
        range: &DiffRange,
        known: bool,
        files: &[FileDiff],
        now: Instant,
    ) {
        if known && !files.is_empty() {
            let view = DiffView::new(range.clone(), files.to_vec());
            self.layers.remove(ID);
            return self.layers.push_modal(ID, view);
        }
        let text = if known {
            format!("no file changed {}", title(range))
        } else {
            format!("no changes of files were recorded {}", title(range))
        };
        self.activity.toast(&text, !known, now);
    }
}

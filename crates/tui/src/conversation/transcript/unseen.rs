//! The number of rows that arrived below the screen since the reader left the end. Finished cells are measured once;
//! only growing cells are measured again.

use super::state::{Below, Transcript};

/// Maximum number of cells that are measured again. If more cells grow, only the first ones are.
const MEASURED: usize = 32;

impl Transcript {
    /// Rows that arrived below the viewport since it left the end, as of the last frame.
    pub fn unseen(&self) -> usize {
        self.below.as_ref().map_or(0, |below| below.rows)
    }

    /// Prepares for new rows: existing rows are no news.
    pub(super) fn begin_below(&mut self) {
        if self.follows() || self.below.is_some() {
            return;
        }
        let last = self.near.cells.len().saturating_sub(1);
        self.below = Some(Below {
            cell: last,
            seen: self.near_height(last),
            ..Below::default()
        });
    }

    /// Counts the rows that arrived.
    pub(super) fn count_below(&mut self) {
        let Some(mut below) = self.below.take() else {
            return;
        };
        let end = self.near.cells.len();
        let finished = self.first_live().min(end.saturating_sub(1));
        while below.cell < finished {
            let height = self.near_height(below.cell);
            below.finished += height.saturating_sub(below.seen);
            below.seen = 0;
            below.cell += 1;
        }
        let open = below.cell..end.min(below.cell + MEASURED);
        let open: usize = open.map(|cell| self.near_height(cell)).sum();
        below.rows = below.finished + open.saturating_sub(below.seen);
        self.below = Some(below);
    }

    /// Cells were inserted in front of the newest cells, or removed before them.
    pub(super) fn shift_below(&mut self, by: isize) {
        if let Some(below) = &mut self.below {
            below.cell = below.cell.saturating_add_signed(by);
        }
    }

    fn near_height(&mut self, cell: usize) -> usize {
        let (width, style) = (self.viewport.0, self.style);
        if cell >= self.near.cells.len() {
            return 0;
        }
        self.near.gap(cell, style) + self.near.height(cell, width, style)
    }
}

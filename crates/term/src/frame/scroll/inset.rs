//! Finds moves inside a box narrower than the screen: the list of an overlay, a page of help. The
//! columns that differ in several rows are the box. The search for complete rows then runs on the
//! hashes of these columns.

use std::ops::Range;

use ratatui::buffer::Buffer;

use super::detector::{MIN_GAIN, RowPairs, Scratch, Screen, Scroll, ScrollDetector, row};
use crate::frame::glyph;

/// Minimum number of changed cells for a search.
const MIN_CHANGES: u32 = 48;
/// Minimum number of rows that must differ in a column for it to be an edge of the box.
const MIN_EDGE_ROWS: u32 = 2;
/// Maximum number of unchanged columns inside a box.
const MAX_GAP: usize = 4;
/// Maximum number of columns that an edge moves to avoid cutting wide glyphs.
const MAX_EDGE_SHIFT: usize = 2;

impl ScrollDetector {
    /// The scrolls that may save bytes on the way to `next`: one between side margins, if the
    /// terminal has `side_margins`, and one of complete rows whose sides are redrawn.
    pub(crate) fn detect_inside(
        &mut self,
        previous: Screen,
        next: Screen,
        side_margins: bool,
    ) -> [Option<Scroll>; 2] {
        let mut scratch = std::mem::take(&mut self.inset);
        let found = scratch
            .find_box(previous, next)
            .map(|columns| self.scrolls(&mut scratch, previous, next, columns, side_margins));
        self.inset = scratch;
        found.unwrap_or_default()
    }

    fn scrolls(
        &mut self,
        scratch: &mut Scratch,
        previous: Screen,
        next: Screen,
        columns: Range<usize>,
        side_margins: bool,
    ) -> [Option<Scroll>; 2] {
        let width = usize::from(next.buffer.area.width);
        for (kind, columns) in [columns.clone(), 0..width].into_iter().enumerate() {
            hash_rows(
                previous.buffer,
                columns.clone(),
                &mut scratch.previous[kind],
            );
            hash_rows(next.buffer, columns, &mut scratch.next[kind]);
        }
        let distances = self.candidates(&scratch.previous[0], &scratch.next[0]);
        let mut best = |kind: usize, columns: Range<usize>| {
            let (hashes, wanted) = (&scratch.previous[kind], &scratch.next[kind]);
            let previous = Screen { hashes, ..previous };
            let next = Screen {
                hashes: wanted,
                ..next
            };
            let rows = RowPairs::new(previous, next, columns);
            self.count_unmoved(&rows, &distances);
            distances
                .iter()
                .flatten()
                .filter_map(|distance| self.best_block(&rows, *distance))
                .filter(|(gain, _)| *gain >= MIN_GAIN)
                .max_by_key(|(gain, _)| *gain)
                .map(|(_, scroll)| scroll)
        };
        let inside = if side_margins { best(0, columns) } else { None };
        [inside, best(1, 0..width)]
    }
}

impl Scratch {
    /// The columns that seem to have moved, unless they are the full width.
    fn find_box(&mut self, previous: Screen, next: Screen) -> Option<Range<usize>> {
        let width = usize::from(next.buffer.area.width);
        self.counts.clear();
        self.counts.resize(width, 0);
        let hashes = previous.hashes.iter().zip(next.hashes);
        for (index, _) in hashes.enumerate().filter(|(_, (old, new))| old != new) {
            let (shown, wanted) = (row(previous.buffer, index), row(next.buffer, index));
            for ((old, new), count) in shown.iter().zip(wanted).zip(&mut self.counts) {
                *count += u32::from(!glyph::same_cell(old, new));
            }
        }
        let previous = previous.buffer;
        let is_edge = |count: &u32| *count >= MIN_EDGE_ROWS;
        let first = self.counts.iter().position(is_edge)?;
        let last = self.counts.iter().rposition(is_edge)?;
        let mut columns = self.extended(first, last);
        for _ in 0..MAX_EDGE_SHIFT {
            columns.start -= usize::from(cuts_glyphs(previous, columns.start));
            columns.end += usize::from(cuts_glyphs(previous, columns.end));
        }
        let changes: u32 = self.counts[columns.clone()].iter().sum();
        (changes >= MIN_CHANGES && columns.len() < width).then_some(columns)
    }

    /// The box including rows that extend beyond it.
    fn extended(&self, first: usize, last: usize) -> Range<usize> {
        let (mut start, mut end) = (first, last + 1);
        let differs = |column: &usize| self.counts[*column] > 0;
        while let Some(column) = (start.saturating_sub(MAX_GAP + 1)..start).find(differs) {
            start = column;
        }
        let width = self.counts.len();
        while let Some(column) = (end..(end + MAX_GAP + 1).min(width)).rfind(differs) {
            end = column + 1;
        }
        start..end
    }
}

/// Whether the edge left of `column` cuts a wide glyph in any row.
fn cuts_glyphs(shown: &Buffer, column: usize) -> bool {
    let width = usize::from(shown.area.width);
    shown
        .content
        .chunks(width)
        .any(|row| glyph::is_cut_at(row, column))
}

fn hash_rows(buffer: &Buffer, columns: Range<usize>, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.extend(
        (0..usize::from(buffer.area.height))
            .map(|index| glyph::row_hash(&row(buffer, index)[columns.clone()])),
    );
}

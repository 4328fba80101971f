//! Finds what moved inside a box narrower than the screen: the list of an overlay, a page of help. The
//! columns in which several rows differ are the box; then it is the search of whole rows over again, with
//! the hashes of those columns.

use std::ops::Range;

use ratatui::buffer::Buffer;

use super::{Detector, Rows, Screen, WORTH, row};
use crate::frame::glyph;

/// Fewest changed cells among which a move is looked for.
const CHANGES: u32 = 48;
/// Fewest rows that must differ in a column for it to be an edge of the box.
const ROWS: u32 = 2;
/// Most columns without a change inside a box.
const GAP: usize = 4;
/// Most columns by which an edge gives way to wide glyphs.
const WAY: usize = 2;

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// In how many rows each column differs.
    counts: Vec<u32>,
    previous: [Vec<u64>; 2],
    next: [Vec<u64>; 2],
}

impl Detector {
    /// The scrolls that might save bytes on the way to `next`: one between margins at the sides of the box,
    /// if the terminal has `side_margins`, and one of whole rows, whose sides are then drawn anew.
    pub fn detect_inside(
        &mut self,
        previous: Screen,
        next: Screen,
        side_margins: bool,
    ) -> [Option<super::Scroll>; 2] {
        let mut scratch = std::mem::take(&mut self.inset);
        let found = scratch
            .find_box(previous, next)
            .map(|columns| self.scrolls(&mut scratch, (previous, next), columns, side_margins));
        self.inset = scratch;
        found.unwrap_or_default()
    }

    fn scrolls(
        &mut self,
        scratch: &mut Scratch,
        (previous, next): (Screen, Screen),
        columns: Range<usize>,
        side_margins: bool,
    ) -> [Option<super::Scroll>; 2] {
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
            let rows = Rows::new(previous, next, columns);
            self.count_unmoved(&rows, &distances);
            distances
                .iter()
                .flatten()
                .filter_map(|distance| self.best_block(&rows, *distance))
                .filter(|(gain, _)| *gain >= WORTH)
                .max_by_key(|(gain, _)| *gain)
                .map(|(_, scroll)| scroll)
        };
        let inside = if side_margins { best(0, columns) } else { None };
        [inside, best(1, 0..width)]
    }
}

impl Scratch {
    /// The columns in which something seems to have moved, if they are not the whole width.
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
        let is_edge = |count: &u32| *count >= ROWS;
        let first = self.counts.iter().position(is_edge)?;
        let last = self.counts.iter().rposition(is_edge)?;
        let mut columns = self.grown(first, last);
        for _ in 0..WAY {
            columns.start -= usize::from(cuts_glyphs(previous, columns.start));
            columns.end += usize::from(cuts_glyphs(previous, columns.end));
        }
        let changes: u32 = self.counts[columns.clone()].iter().sum();
        (changes >= CHANGES && columns.len() < width).then_some(columns)
    }

    /// The box with what stands out of it: a row that is longer than the others.
    fn grown(&self, first: usize, last: usize) -> Range<usize> {
        let (mut start, mut end) = (first, last + 1);
        let differs = |column: &usize| self.counts[*column] > 0;
        while let Some(column) = (start.saturating_sub(GAP + 1)..start).find(differs) {
            start = column;
        }
        let width = self.counts.len();
        while let Some(column) = (end..(end + GAP + 1).min(width)).rfind(differs) {
            end = column + 1;
        }
        start..end
    }
}

/// Whether the edge left of `column` goes through a wide glyph in any row.
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

//! Finds moves of complete rows: row hashes propose distances, real cells decide.

use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};

use crate::frame::glyph;

/// Minimum number of cells that a scroll must save: its control sequences take about twenty bytes.
pub(super) const MIN_GAIN: i64 = 24;
/// Number of distances to evaluate on the cells.
const CANDIDATES: usize = 2;
/// Rows that occur more often say nothing about a distance.
const MAX_DUPLICATES: u16 = 8;
/// The cost of a row that must not move: more than any screen has cells.
const FORBIDDEN_COST: i64 = 1 << 40;

/// Moves rows `top..bottom` in the columns `left..right` by `rows`: up if positive, down if
/// negative. Uncovered cells become blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scroll {
    pub(crate) top: u16,
    pub(crate) bottom: u16,
    pub(crate) left: u16,
    pub(crate) right: u16,
    pub(crate) rows: i16,
}

/// Reused memory of the search inside a box.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Per column, the number of rows that differ.
    pub(super) counts: Vec<u32>,
    pub(super) previous: [Vec<u64>; 2],
    pub(super) next: [Vec<u64>; 2],
}

/// A screen and the hashes of its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) hashes: &'a [u64],
}

/// Detects scrolls in time linear in the rows. Reuses its memory across frames.
#[derive(Debug, Default)]
pub(crate) struct ScrollDetector {
    origins: Origins,
    votes: Vec<u32>,
    /// Per row, the number of cells that differ if nothing moves.
    unmoved: Vec<i64>,
    /// Per row, the number of cells that show more than a background.
    visible: Vec<i64>,
    gains: Vec<i64>,
    /// Prefix sums of the cost of uncovering each row.
    losses: Vec<i64>,
    pub(super) inset: Scratch,
}

impl ScrollDetector {
    /// The scroll that saves the most cells from `previous` to `next`, if one is worth its bytes.
    pub(crate) fn detect(&mut self, previous: Screen, next: Screen) -> Option<Scroll> {
        let rows = RowPairs::new(previous, next, 0..usize::from(next.buffer.area.width));
        let candidates = self.candidates(previous.hashes, next.hashes);
        self.count_unmoved(&rows, &candidates);
        candidates
            .into_iter()
            .flatten()
            .filter_map(|distance| self.best_block(&rows, distance))
            .filter(|(gain, _)| *gain >= MIN_GAIN)
            .max_by_key(|(gain, _)| *gain)
            .map(|(_, scroll)| scroll)
    }

    /// The most likely distances.
    pub(super) fn candidates(
        &mut self,
        previous: &[u64],
        next: &[u64],
    ) -> [Option<i16>; CANDIDATES] {
        let height = previous.len().min(next.len());
        self.origins.fill(&previous[..height]);
        self.votes.clear();
        self.votes.resize(height * 2, 0);
        let mut changed = 0;
        for (row, hash) in next.iter().enumerate().take(height) {
            if previous[row] != *hash {
                changed += 1;
                for origin in self.origins.rows_with(*hash) {
                    self.votes[origin + height - row] += 1;
                }
            }
        }
        let mut found = [None; CANDIDATES];
        for slot in &mut found {
            let best = (0..self.votes.len()).max_by_key(|&index| self.votes[index]);
            let Some(index) = best.filter(|&index| self.votes[index] > 0) else {
                break;
            };
            let signed = |number| i16::try_from(number).ok();
            *slot = signed(index)
                .zip(signed(height))
                .map(|(index, height)| index - height);
            // Most rows agree, so no other distance can save more.
            if std::mem::take(&mut self.votes[index]) * 2 > changed {
                break;
            }
        }
        found
    }

    /// Computes the counts for `best_block`, which are the same for every distance.
    pub(super) fn count_unmoved(&mut self, rows: &RowPairs, candidates: &[Option<i16>]) {
        let height = rows.next.hashes.len().min(rows.previous.hashes.len());
        self.unmoved.clear();
        self.visible.clear();
        if candidates.iter().any(Option::is_some) {
            self.unmoved
                .extend((0..height).map(|row| rows.difference(row, row)));
            let cells = |row| rows.cells(rows.next.buffer, row);
            self.visible
                .extend((0..height).map(|row| glyph::visible_cells(cells(row))));
        }
    }

    /// The block that saves the most cells when moved by `distance`, and how many. Requires
    /// `count_unmoved`.
    ///
    /// For a move up, the block `start..end` of `next` comes from `distance` rows below, and the
    /// `distance` rows after it are uncovered. A move down is the mirror image.
    pub(super) fn best_block(&mut self, rows: &RowPairs, distance: i16) -> Option<(i64, Scroll)> {
        let height = rows.next.hashes.len().min(rows.previous.hashes.len());
        let steps = usize::from(distance.unsigned_abs());
        if steps == 0 || steps >= height {
            return None;
        }
        let at = |index: usize| {
            if distance > 0 {
                index
            } else {
                height - 1 - index
            }
        };
        self.gains.clear();
        self.losses.clear();
        self.losses.push(0);
        let mut sum = 0;
        for index in 0..height {
            let place = at(index);
            let unmoved = self.unmoved[place];
            let fixed = rows.is_fixed(place);
            if index + steps < height {
                let from = at(index + steps);
                let gain = if fixed || rows.is_fixed(from) {
                    -FORBIDDEN_COST
                } else {
                    unmoved - rows.difference(from, place)
                };
                self.gains.push(gain);
            }
            sum += if fixed {
                FORBIDDEN_COST
            } else {
                self.visible[place] - unmoved
            };
            self.losses.push(sum);
        }
        let (gain, start, end) = best_range(&self.gains, &self.losses, steps)?;
        let (first, last) = (at(start), at(end + steps - 1));
        Some((
            gain,
            Scroll {
                top: first.min(last) as u16,
                bottom: (first.max(last) + 1) as u16,
                left: rows.columns.start as u16,
                right: rows.columns.end as u16,
                rows: distance,
            },
        ))
    }
}

/// Maps hashes to rows: an open-addressing table of the newest row of each hash, and for each row
/// the next one with the same hash.
#[derive(Debug, Default)]
struct Origins {
    slots: Vec<Slot>,
    next: Vec<u16>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u64,
    /// The newest row with this hash, from 1; 0 in a free slot.
    newest: u16,
    count: u16,
}

impl Origins {
    fn fill(&mut self, hashes: &[u64]) {
        let room = (hashes.len() * 2).next_power_of_two();
        self.slots.clear();
        self.slots.resize(room, Slot::default());
        self.next.clear();
        for (row, hash) in (1..).zip(hashes) {
            let slot = self.slot(*hash);
            let slot = &mut self.slots[slot];
            self.next.push(slot.newest);
            *slot = Slot {
                hash: *hash,
                newest: row,
                count: slot.count + 1,
            };
        }
    }

    /// The rows with a hash; none if too many rows share it.
    fn rows_with(&self, hash: u64) -> impl Iterator<Item = usize> {
        let slot = self.slots[self.slot(hash)];
        let first = if slot.count > MAX_DUPLICATES {
            0
        } else {
            slot.newest
        };
        std::iter::successors((first > 0).then_some(first), |row| {
            let next = self.next[usize::from(*row) - 1];
            (next > 0).then_some(next)
        })
        .map(|row| usize::from(row) - 1)
    }

    /// The slot that holds a hash, or the free one for it.
    fn slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 32) as usize & mask;
        while self.slots[slot].newest > 0 && self.slots[slot].hash != hash {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Moves the cells of a buffer as the terminal does.
pub(crate) fn apply(scroll: Scroll, buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width);
    let columns = usize::from(scroll.left)..usize::from(scroll.right);
    let cells = usize::from(scroll.top) * width..usize::from(scroll.bottom) * width;
    let cells = &mut buffer.content[cells];
    let distance = usize::from(scroll.rows.unsigned_abs()) * width;
    let is_up = scroll.rows > 0;
    if columns.len() == width {
        if is_up {
            cells.rotate_left(distance);
        } else {
            cells.rotate_right(distance);
        }
    } else {
        move_columns(cells, width, columns.clone(), distance, is_up);
    }
    let free = if is_up {
        cells.len() - distance..cells.len()
    } else {
        0..distance
    };
    for row in cells[free].chunks_mut(width) {
        row[columns.clone()].iter_mut().for_each(Cell::reset);
    }
}

/// Moves some columns of the rows by `distance` cells.
fn move_columns(
    cells: &mut [Cell],
    width: usize,
    columns: Range<usize>,
    distance: usize,
    is_up: bool,
) {
    let count = cells.len() / width;
    for step in 0..count - distance / width {
        let row = if is_up { step } else { count - 1 - step };
        for column in columns.clone() {
            let to = row * width + column;
            let from = if is_up { to + distance } else { to - distance };
            cells.swap(to, from);
        }
    }
}

/// Moves the row hashes the way `apply` moved the cells. Call it after `apply`.
pub(crate) fn apply_to_hashes(scroll: Scroll, moved: &Buffer, hashes: &mut [u64]) {
    let hashes = &mut hashes[usize::from(scroll.top)..usize::from(scroll.bottom)];
    let distance = usize::from(scroll.rows.unsigned_abs());
    let (free, first) = if scroll.rows > 0 {
        hashes.rotate_left(distance);
        let free = hashes.len() - distance..hashes.len();
        (free.clone(), free.start)
    } else {
        hashes.rotate_right(distance);
        (0..distance, 0)
    };
    let blank = row(moved, usize::from(scroll.top) + first);
    hashes[free].fill(glyph::row_hash(blank));
}

/// The same columns of two screens, with the row hashes of these columns.
pub(super) struct RowPairs<'a> {
    previous: Screen<'a>,
    next: Screen<'a>,
    columns: Range<usize>,
}

impl<'a> RowPairs<'a> {
    pub(super) fn new(previous: Screen<'a>, next: Screen<'a>, columns: Range<usize>) -> Self {
        Self {
            previous,
            next,
            columns,
        }
    }

    pub(super) fn cells(&self, buffer: &'a Buffer, index: usize) -> &'a [Cell] {
        &row(buffer, index)[self.columns.clone()]
    }

    /// Number of cells where row `to` of `next` differs from row `from` of `previous`.
    pub(super) fn difference(&self, from: usize, to: usize) -> i64 {
        if self.previous.hashes[from] == self.next.hashes[to] {
            return 0;
        }
        let from = self.cells(self.previous.buffer, from);
        let to = self.cells(self.next.buffer, to);
        from.iter()
            .zip(to)
            .map(|(a, b)| i64::from(!glyph::same_cell(a, b)))
            .sum()
    }

    /// Whether a row cannot move because an edge of the columns cuts one of its wide glyphs.
    pub(super) fn is_fixed(&self, index: usize) -> bool {
        let shown = row(self.previous.buffer, index);
        let is_cut = |column| glyph::is_cut_at(shown, column);
        is_cut(self.columns.start) || is_cut(self.columns.end)
    }
}

/// The range with the largest sum of gains minus the losses of the `steps` rows after it.
fn best_range(gains: &[i64], losses: &[i64], steps: usize) -> Option<(i64, usize, usize)> {
    let mut best: Option<(i64, usize, usize)> = None;
    let mut start = 0;
    let mut sum = 0;
    for (index, gain) in gains.iter().enumerate() {
        if sum <= 0 {
            start = index;
            sum = 0;
        }
        sum += gain;
        let end = index + 1;
        let total = sum - (losses[end + steps] - losses[end]);
        if best.is_none_or(|(most, ..)| total > most) {
            best = Some((total, start, end));
        }
    }
    best
}

pub(super) fn row(buffer: &Buffer, row: usize) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    &buffer.content[row * width..(row + 1) * width]
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn screen(rows: &[String]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, rows.len() as u16));
        for (index, text) in rows.iter().enumerate() {
            buffer.set_string(0, index as u16, text, Style::new());
        }
        buffer
    }

    fn lines(range: std::ops::Range<usize>) -> Vec<String> {
        let words = [
            "willow", "branch", "basket", "weave", "river", "stake", "rod",
        ];
        let word = |line: usize| words[line * 5 % words.len()];
        range
            .map(|line| format!("{} {line:03} {}", word(line), word(line / 3)))
            .collect()
    }

    fn hashes(buffer: &Buffer) -> Vec<u64> {
        (0..usize::from(buffer.area.height))
            .map(|index| glyph::row_hash(row(buffer, index)))
            .collect()
    }

    fn full_screen<'a>(buffer: &'a Buffer, hashes: &'a [u64]) -> Screen<'a> {
        Screen { buffer, hashes }
    }

    fn detect(previous: &Buffer, next: &Buffer) -> Option<Scroll> {
        let (before, after) = (hashes(previous), hashes(next));
        ScrollDetector::default().detect(full_screen(previous, &before), full_screen(next, &after))
    }

    fn with_footer(mut rows: Vec<String>) -> Buffer {
        rows.extend(["> prompt".to_owned(), "footer of the screen".to_owned()]);
        screen(&rows)
    }

    #[test]
    fn moved_pane_is_found_above_a_fixed_footer() {
        let previous = with_footer(lines(0..10));
        for (next, rows) in [(lines(1..11), 1), (lines(4..14), 4)] {
            let scroll = Scroll {
                top: 0,
                bottom: 10,
                left: 0,
                right: 30,
                rows,
            };
            assert_eq!(detect(&previous, &with_footer(next.clone())), Some(scroll));
            let back = Scroll {
                rows: -rows,
                ..scroll
            };
            assert_eq!(detect(&with_footer(next), &previous), Some(back));
        }
    }

    #[test]
    fn row_that_grew_while_moving_is_scrolled() {
        let mut previous = lines(0..10);
        let mut next = lines(1..11);
        previous[9].truncate(12);
        next[8] = format!("{} and more", previous[9]);
        let scroll = Scroll {
            top: 0,
            bottom: 10,
            left: 0,
            right: 30,
            rows: 1,
        };
        assert_eq!(
            detect(&with_footer(previous), &with_footer(next)),
            Some(scroll)
        );
    }

    #[test]
    fn small_changes_do_not_scroll() {
        let previous = with_footer(lines(0..10));
        assert_eq!(detect(&previous, &previous), None);
        let mut edited = lines(0..10);
        edited[4] = "something else".to_owned();
        assert_eq!(detect(&previous, &with_footer(edited)), None);
    }

    #[test]
    fn duplicate_rows_do_not_hide_a_move() {
        let spaced = |range| -> Vec<String> {
            let texts = lines(range).into_iter();
            texts.flat_map(|line| [line, String::new()]).collect()
        };
        let scroll = Scroll {
            top: 0,
            bottom: 39,
            left: 0,
            right: 30,
            rows: 6,
        };
        assert_eq!(
            detect(&with_footer(spaced(0..20)), &with_footer(spaced(3..23))),
            Some(scroll)
        );
    }

    #[test]
    fn apply_moves_cells_and_hashes_alike() {
        let mut buffer = screen(&lines(0..6));
        let mut moved = hashes(&buffer);
        let scroll = Scroll {
            top: 1,
            bottom: 5,
            left: 0,
            right: 30,
            rows: -2,
        };
        apply(scroll, &mut buffer);
        apply_to_hashes(scroll, &buffer, &mut moved);
        let old = lines(0..6);
        let blank = String::new();
        let expected =
            screen(&[&old[0], &blank, &blank, &old[1], &old[2], &old[5]].map(Clone::clone));
        assert_eq!(buffer, expected);
        assert_eq!(moved, hashes(&expected));
    }
}

//! Finds the block of rows that moved between two frames, so that the terminal can move it itself
//! instead of being sent every cell again.
//!
//! Row hashes only propose a distance; gain and loss are counted on the real cells, and the previous
//! buffer is then moved exactly as the terminal moves its rows. A wrong proposal costs bytes, never a
//! wrong screen. What moves inside a box, such as the list of an overlay, is found by `inset`.

mod inset;

use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};

use super::frame::glyph;

/// Fewest cells that a scroll must save: its control sequences take about twenty bytes.
const WORTH: i64 = 24;
/// Distances that are counted on the cells.
const CANDIDATES: usize = 2;
/// Rows that look alike more often than this say nothing about a distance.
const LIKENESSES: u16 = 8;
/// What it costs to let go of a row that cannot move: more than any screen has cells.
const NEVER: i64 = 1 << 40;

/// Rows `top..bottom` move by `rows` in the columns `left..right`: up when positive, down when negative.
/// What comes free is blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scroll {
    pub top: u16,
    pub bottom: u16,
    pub left: u16,
    pub right: u16,
    pub rows: i16,
}

/// A screen and the hashes of its rows.
#[derive(Debug, Clone, Copy)]
pub struct Screen<'a> {
    pub buffer: &'a Buffer,
    pub hashes: &'a [u64],
}

/// What a row looks like, as one number.
pub fn row_hash(row: &[Cell]) -> u64 {
    glyph::row_hash(row)
}

/// Looks for scrolls. Its memory is used again from frame to frame; a search takes time linear in the rows.
#[derive(Debug, Default)]
pub struct Detector {
    origins: Origins,
    votes: Vec<u32>,
    /// How many cells of each row differ where it is.
    unmoved: Vec<i64>,
    /// How many cells of each row show something.
    inked: Vec<i64>,
    gains: Vec<i64>,
    /// What the rows before each one cost when they come free, summed up.
    losses: Vec<i64>,
    inset: inset::Scratch,
}

impl Detector {
    /// The scroll that saves most cells on the way from `previous` to `next`, if any is worth its bytes.
    pub fn detect(&mut self, previous: Screen, next: Screen) -> Option<Scroll> {
        let rows = Rows::new(previous, next, 0..usize::from(next.buffer.area.width));
        let candidates = self.candidates(previous.hashes, next.hashes);
        self.count_unmoved(&rows, &candidates);
        candidates
            .into_iter()
            .flatten()
            .filter_map(|distance| self.best_block(&rows, distance))
            .filter(|(gain, _)| *gain >= WORTH)
            .max_by_key(|(gain, _)| *gain)
            .map(|(_, scroll)| scroll)
    }

    /// The distances by which most rows seem to have moved.
    fn candidates(&mut self, previous: &[u64], next: &[u64]) -> [Option<i16>; CANDIDATES] {
        let height = previous.len().min(next.len());
        self.origins.fill(&previous[..height]);
        self.votes.clear();
        self.votes.resize(height * 2, 0);
        let mut changed = 0;
        for (row, hash) in next.iter().enumerate().take(height) {
            if previous[row] != *hash {
                changed += 1;
                for origin in self.origins.of(*hash) {
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
            // Most rows agree: no other distance can save more.
            if std::mem::take(&mut self.votes[index]) * 2 > changed {
                break;
            }
        }
        found
    }

    /// Counts for `best_block`, the same for every distance.
    fn count_unmoved(&mut self, rows: &Rows, candidates: &[Option<i16>]) {
        let height = rows.next.hashes.len().min(rows.previous.hashes.len());
        self.unmoved.clear();
        self.inked.clear();
        if candidates.iter().any(Option::is_some) {
            self.unmoved
                .extend((0..height).map(|row| rows.different(row, row)));
            let cells = |row| rows.cells(rows.next.buffer, row);
            self.inked
                .extend((0..height).map(|row| glyph::inked(cells(row))));
        }
    }

    /// The block whose move by `distance` saves most cells, and how many. `count_unmoved` goes before.
    ///
    /// For a move up the block `start..end` of `next` comes from `distance` rows below, and the `distance`
    /// rows after it come free. A move down is the same picture upside down.
    fn best_block(&mut self, rows: &Rows, distance: i16) -> Option<(i64, Scroll)> {
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
                    -NEVER
                } else {
                    unmoved - rows.different(from, place)
                };
                self.gains.push(gain);
            }
            sum += if fixed {
                NEVER
            } else {
                self.inked[place] - unmoved
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

/// Which rows have a hash: an open table of the first of them, and for each the next that looks the same.
#[derive(Debug, Default)]
struct Origins {
    slots: Vec<Slot>,
    next: Vec<u16>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u64,
    /// The newest row of this hash, counted from 1; 0 in a free slot.
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

    /// The rows of a hash; none of one that too many rows have.
    fn of(&self, hash: u64) -> impl Iterator<Item = usize> {
        let slot = self.slots[self.slot(hash)];
        let first = if slot.count > LIKENESSES {
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

    /// Where a hash is, or would be put.
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
pub fn apply(scroll: Scroll, buffer: &mut Buffer) {
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
        move_columns(cells, width, columns.clone(), (distance, is_up));
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

/// Moves some columns of rows by `distance` cells.
fn move_columns(
    cells: &mut [Cell],
    width: usize,
    columns: Range<usize>,
    (distance, is_up): (usize, bool),
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

/// Moves the hashes of whole rows as `apply` moves their cells, which it has done.
pub fn apply_to_hashes(scroll: Scroll, moved: &Buffer, hashes: &mut [u64]) {
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

/// What is compared: the same columns of two screens, whose hashes are those of these columns.
struct Rows<'a> {
    previous: Screen<'a>,
    next: Screen<'a>,
    columns: Range<usize>,
}

impl<'a> Rows<'a> {
    fn new(previous: Screen<'a>, next: Screen<'a>, columns: Range<usize>) -> Self {
        Self {
            previous,
            next,
            columns,
        }
    }

    fn cells(&self, buffer: &'a Buffer, index: usize) -> &'a [Cell] {
        &row(buffer, index)[self.columns.clone()]
    }

    /// How many cells of the row `to` differ from those of the shown row `from`.
    fn different(&self, from: usize, to: usize) -> i64 {
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

    /// Whether a row cannot move: it holds a wide glyph that an edge of the columns would cut.
    fn is_fixed(&self, index: usize) -> bool {
        let shown = row(self.previous.buffer, index);
        let is_cut = |column| glyph::is_cut_at(shown, column);
        is_cut(self.columns.start) || is_cut(self.columns.end)
    }
}

/// The range with the largest sum of gains less the losses of the `steps` rows after it.
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

fn row(buffer: &Buffer, row: usize) -> &[Cell] {
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
            .map(|index| row_hash(row(buffer, index)))
            .collect()
    }

    fn whole<'a>(buffer: &'a Buffer, hashes: &'a [u64]) -> Screen<'a> {
        Screen { buffer, hashes }
    }

    fn found(previous: &Buffer, next: &Buffer) -> Option<Scroll> {
        let (before, after) = (hashes(previous), hashes(next));
        Detector::default().detect(whole(previous, &before), whole(next, &after))
    }

    fn with_footer(mut rows: Vec<String>) -> Buffer {
        rows.extend(["> prompt".to_owned(), "footer of the screen".to_owned()]);
        screen(&rows)
    }

    #[test]
    fn a_moved_pane_is_found_above_a_footer_that_stays() {
        let previous = with_footer(lines(0..10));
        for (next, rows) in [(lines(1..11), 1), (lines(4..14), 4)] {
            let scroll = Scroll {
                top: 0,
                bottom: 10,
                left: 0,
                right: 30,
                rows,
            };
            assert_eq!(found(&previous, &with_footer(next.clone())), Some(scroll));
            let back = Scroll {
                rows: -rows,
                ..scroll
            };
            assert_eq!(found(&with_footer(next), &previous), Some(back));
        }
    }

    #[test]
    fn the_row_that_grew_while_moving_moves_too() {
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
            found(&with_footer(previous), &with_footer(next)),
            Some(scroll)
        );
    }

    #[test]
    fn nothing_is_scrolled_for_little() {
        let previous = with_footer(lines(0..10));
        assert_eq!(found(&previous, &previous), None);
        let mut edited = lines(0..10);
        edited[4] = "something else".to_owned();
        assert_eq!(found(&previous, &with_footer(edited)), None);
    }

    #[test]
    fn rows_that_look_alike_do_not_hide_a_move() {
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
            found(&with_footer(spaced(0..20)), &with_footer(spaced(3..23))),
            Some(scroll)
        );
    }

    #[test]
    fn rows_and_hashes_move_together() {
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

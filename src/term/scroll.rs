//! Finds the block of rows that moved between two frames, so that the terminal can move it itself
//! instead of being sent every cell again.
//!
//! Row hashes only propose a distance; gain and loss are counted on the real cells, and the previous
//! buffer is then moved exactly as the terminal moves its rows. A wrong proposal costs bytes, never a
//! wrong screen.

use ratatui::buffer::{Buffer, Cell};

use super::frame::glyph;

/// Fewest cells that a scroll must save: its control sequences take about twenty bytes.
const WORTH: i64 = 24;
/// Distances that are tried in full.
const CANDIDATES: usize = 2;

/// Rows `top..bottom` move by `rows`: up when positive, down when negative. The rows that come free are
/// blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scroll {
    pub top: u16,
    pub bottom: u16,
    pub rows: i16,
}

/// What a row looks like, as one number.
pub fn row_hash(row: &[Cell]) -> u64 {
    glyph::row_hash(row)
}

/// The scroll that saves most cells on the way from `previous` to `next`, if any is worth its bytes. The
/// hashes are those of the rows of either buffer.
pub fn detect(
    previous: &Buffer,
    next: &Buffer,
    previous_hashes: &[u64],
    next_hashes: &[u64],
) -> Option<Scroll> {
    let rows = Rows { previous, next };
    candidates(previous_hashes, next_hashes)
        .into_iter()
        .flatten()
        .filter_map(|distance| rows.best_block(distance))
        .filter(|(gain, _)| *gain >= WORTH)
        .max_by_key(|(gain, _)| *gain)
        .map(|(_, scroll)| scroll)
}

/// Moves the rows of a buffer and their hashes as the terminal does.
pub fn apply(scroll: Scroll, buffer: &mut Buffer, hashes: &mut [u64]) {
    let width = usize::from(buffer.area.width);
    let (top, bottom) = (usize::from(scroll.top), usize::from(scroll.bottom));
    let distance = usize::from(scroll.rows.unsigned_abs());
    let cells = &mut buffer.content[top * width..bottom * width];
    let hashes = &mut hashes[top..bottom];
    let free = if scroll.rows > 0 {
        cells.rotate_left(distance * width);
        hashes.rotate_left(distance);
        hashes.len() - distance..hashes.len()
    } else {
        cells.rotate_right(distance * width);
        hashes.rotate_right(distance);
        0..distance
    };
    for cell in &mut cells[free.start * width..free.end * width] {
        cell.reset();
    }
    let blank = glyph::row_hash(&cells[free.start * width..(free.start + 1) * width]);
    hashes[free].fill(blank);
}

/// The distances by which most rows seem to have moved.
fn candidates(previous: &[u64], next: &[u64]) -> [Option<i16>; CANDIDATES] {
    let height = previous.len().min(next.len());
    let mut votes = vec![0_u32; height * 2];
    for (row, hash) in next.iter().enumerate().take(height) {
        if previous[row] == *hash {
            continue;
        }
        for (origin, other) in previous.iter().enumerate().take(height) {
            if other == hash {
                votes[origin + height - row] += 1;
            }
        }
    }
    let mut found = [None; CANDIDATES];
    for slot in &mut found {
        let best = (0..votes.len()).max_by_key(|&index| votes[index]);
        if let Some(index) = best.filter(|&index| votes[index] > 0) {
            let signed = |number| i16::try_from(number).ok();
            *slot = signed(index)
                .zip(signed(height))
                .map(|(index, height)| index - height);
            votes[index] = 0;
        }
    }
    found
}

struct Rows<'a> {
    previous: &'a Buffer,
    next: &'a Buffer,
}

impl Rows<'_> {
    /// The block whose move by `distance` saves most cells, and how many.
    ///
    /// For a move up the block `start..end` of `next` comes from `distance` rows below, and the `distance`
    /// rows after it come free. A move down is the same picture upside down.
    fn best_block(&self, distance: i16) -> Option<(i64, Scroll)> {
        let height = usize::from(self.next.area.height);
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
        let mut gains = Vec::with_capacity(height);
        let mut losses = Vec::with_capacity(height);
        for index in 0..height {
            let next = row(self.next, at(index));
            let previous = row(self.previous, at(index));
            let unmoved = different(previous, next);
            let image = glyph::holds_image(next) || glyph::holds_image(previous);
            let from = (index + steps < height).then(|| row(self.previous, at(index + steps)));
            gains.push(match from {
                Some(from) if !image && !glyph::holds_image(from) => {
                    Some(unmoved - different(from, next))
                }
                _ => None,
            });
            losses.push((!image).then(|| glyph::inked(next) - unmoved));
        }
        let (gain, start, end) = best_range(&gains, &losses, steps)?;
        let (first, last) = (at(start), at(end + steps - 1));
        Some((
            gain,
            Scroll {
                top: first.min(last) as u16,
                bottom: (first.max(last) + 1) as u16,
                rows: distance,
            },
        ))
    }
}

/// The range with the largest sum of gains less the losses of the `steps` rows after it. A row without a
/// number cannot be part of it.
fn best_range(
    gains: &[Option<i64>],
    losses: &[Option<i64>],
    steps: usize,
) -> Option<(i64, usize, usize)> {
    let mut best: Option<(i64, usize, usize)> = None;
    let mut start = 0;
    let mut sum = 0;
    for (index, gain) in gains.iter().enumerate() {
        let Some(gain) = gain else {
            start = index + 1;
            sum = 0;
            continue;
        };
        if sum <= 0 {
            start = index;
            sum = 0;
        }
        sum += gain;
        let end = index + 1;
        let loss: Option<i64> = losses
            .get(end..end + steps)
            .and_then(|freed| freed.iter().copied().sum());
        if let Some(loss) = loss
            && best.is_none_or(|(most, ..)| sum - loss > most)
        {
            best = Some((sum - loss, start, end));
        }
    }
    best
}

fn different(previous: &[Cell], next: &[Cell]) -> i64 {
    previous
        .iter()
        .zip(next)
        .map(|(a, b)| i64::from(a != b))
        .sum()
}

fn row(buffer: &Buffer, row: usize) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    &buffer.content[row * width..(row + 1) * width]
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::CellDiffOption;
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

    fn found(previous: &Buffer, next: &Buffer) -> Option<Scroll> {
        detect(previous, next, &hashes(previous), &hashes(next))
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
            rows: 1,
        };
        assert_eq!(
            found(&with_footer(previous), &with_footer(next)),
            Some(scroll)
        );
    }

    #[test]
    fn nothing_is_scrolled_for_little_or_for_an_image() {
        let previous = with_footer(lines(0..10));
        assert_eq!(found(&previous, &previous), None);
        let mut edited = lines(0..10);
        edited[4] = "something else".to_owned();
        assert_eq!(found(&previous, &with_footer(edited)), None);
        let mut next = with_footer(lines(1..11));
        for index in 0..10 {
            next.content[index * 30 + 29].set_diff_option(CellDiffOption::Skip);
        }
        assert_eq!(found(&previous, &next), None);
    }

    #[test]
    fn rows_and_hashes_move_together() {
        let mut buffer = screen(&lines(0..6));
        let mut moved = hashes(&buffer);
        let scroll = Scroll {
            top: 1,
            bottom: 5,
            rows: -2,
        };
        apply(scroll, &mut buffer, &mut moved);
        let old = lines(0..6);
        let blank = String::new();
        let expected =
            screen(&[&old[0], &blank, &blank, &old[1], &old[2], &old[5]].map(Clone::clone));
        assert_eq!(buffer, expected);
        assert_eq!(moved, hashes(&expected));
    }
}

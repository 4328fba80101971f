//! Frames without a screen of their own: a region of rows at the end of the terminal's text. Rows that do not change any
//! more are printed above the region and belong to the terminal from then on: its scrollback, selection and search.
//!
//! The row of the region on the screen is unknown and never asked for. The cursor only moves by steps, and line feeds make
//! room below, so that the terminal scrolls as it does for every program that prints.

use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Rect, Size};

use super::motion::CursorPosition;
use super::{Cursor, FrameWriter, bidi, glyph};

/// The region, and the changes of the next frame.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// Rows from the start of the region that certainly exist on the screen.
    extent: u16,
    /// Rows to print above the region.
    printed: Option<Buffer>,
    /// Rows of the canvas that are left out.
    slack: Range<u16>,
    /// Whether the terminal breaks long rows when it becomes narrower.
    reflows: bool,
}

/// The region while the alternate screen covers it.
#[derive(Debug)]
pub(super) struct Parked {
    region: Region,
    shown: Buffer,
    hashes: Vec<u64>,
    position: Option<CursorPosition>,
    size: Size,
    repaint: bool,
}

impl FrameWriter {
    /// Draws frames at the end of the terminal's text, or on the complete screen. The region stays where it is while the
    /// alternate screen covers it.
    pub fn set_inline(&mut self, is_inline: bool, reflows: bool) {
        if self.is_inline() == is_inline {
            return;
        }
        if let Some(region) = self.region.take() {
            self.parked = Some(Parked {
                region,
                shown: std::mem::take(&mut self.shown),
                hashes: std::mem::take(&mut self.shown_hashes),
                position: self.encoder.position(),
                size: self.size,
                repaint: self.repaint,
            });
            self.encoder.set_inline(false);
            return self.resize(self.size);
        }
        self.encoder.set_inline(true);
        self.repaint();
        let mut region = Region::default();
        if let Some(parked) = self.parked.take() {
            region = parked.region;
            self.shown = parked.shown;
            self.shown_hashes = parked.hashes;
            self.encoder.set_position(parked.position);
            self.repaint = parked.repaint || parked.size != self.size;
        } else {
            self.forget_region();
        }
        region.reflows = reflows;
        self.region = Some(region);
    }

    pub fn is_inline(&self) -> bool {
        self.region.is_some()
    }

    /// Whether rows of osier are at the end of the terminal's text, on the screen or below the alternate one.
    pub fn has_region(&self) -> bool {
        self.region.is_some() || self.parked.is_some()
    }

    /// The terminal was released and has other text now: the region begins at its cursor.
    pub fn forget_region(&mut self) {
        self.parked = None;
        if let Some(region) = &mut self.region {
            region.extent = 0;
        }
        self.shown = Buffer::empty(Rect::ZERO);
        self.shown_hashes.clear();
        self.encoder.set_position(None);
        self.repaint = true;
    }

    /// Prints rows above the region with the next frame.
    pub fn print(&mut self, rows: Buffer) {
        if let Some(region) = &mut self.region {
            region.printed = Some(rows).filter(|rows| rows.area.height > 0);
        }
    }

    /// Leaves rows of the canvas out of the next frame.
    pub fn leave_out(&mut self, rows: Range<u16>) {
        if let Some(region) = &mut self.region {
            region.slack = rows;
        }
    }

    /// Rows between the start of the region and the cursor, wherever the alternate screen is shown or not.
    pub fn rows_above_cursor(&self) -> u16 {
        let position = match &self.parked {
            Some(parked) => parked.position,
            None => self.encoder.position(),
        };
        position.map_or(0, |position| position.row)
    }

    /// Writes the printed rows and the region; returns the cursor in the region.
    pub(super) fn write_region(
        &mut self,
        cursor: Option<Cursor>,
        out: &mut Vec<u8>,
    ) -> Option<Cursor> {
        let Some(region) = &mut self.region else {
            return cursor;
        };
        let (slack, printed) = (std::mem::take(&mut region.slack), region.printed.take());
        if self.repaint {
            self.begin_region(out);
        } else if self.encoder.is_untouched() {
            self.encoder.reset(out);
        }
        let left_out = remove_rows(&mut self.next, &slack);
        let screen = usize::from(self.size.height.max(2));
        if let Some(mut printed) = printed {
            if self.encoder.features().reorder {
                bidi::reorder(&mut printed, None);
            }
            let live = self.next.content.len();
            let width = usize::from(self.size.width).max(1);
            let mut rows = printed.content;
            // The terminal scrolls by as many rows as a screen has, at most.
            while !rows.is_empty() && (rows.len() + live) / width > screen {
                let rest = rows.split_off(rows.len().min((screen - 1) * width));
                let count = rows.len() / width;
                let blank = blank_row(self.size.width);
                let frame = std::mem::replace(&mut self.next, blank);
                self.write_above(rows, count, out);
                self.next = frame;
                rows = rest;
            }
            let count = rows.len() / width;
            self.write_above(rows, count, out);
        } else {
            self.write_above(Vec::new(), 0, out);
        }
        cursor.map(|mut cursor| {
            if cursor.position.y >= slack.end {
                cursor.position.y -= left_out;
            }
            cursor
        })
    }

    /// Clears the region as the terminal shows it now.
    fn begin_region(&mut self, out: &mut Vec<u8>) {
        self.repaint = false;
        let above = self.rows_above();
        self.encoder.clear_region(above, out);
        self.shown = Buffer::empty(Rect::new(0, 0, self.size.width, 0));
        self.shown_hashes.clear();
        if let Some(region) = &mut self.region {
            region.extent = 1;
        }
    }

    /// Rows of the terminal above the cursor that show the region. A terminal that became narrower has broken the rows that
    /// are now too long, if it does so.
    fn rows_above(&self) -> u16 {
        let Some(at) = self.encoder.position() else {
            return 0;
        };
        let (width, now) = (usize::from(self.shown.area.width), self.size.width);
        let reflows = self.region.as_ref().is_some_and(|region| region.reflows);
        if !reflows || usize::from(now) >= width || now == 0 {
            return at.row;
        }
        let now = usize::from(now);
        let rows = self.shown.content.chunks(width.max(1));
        let broken = rows.take(usize::from(at.row)).map(|row| {
            // Most terminals do not count a background that was erased into the row.
            let end = row.iter().rposition(|cell| !glyph::is_plain_blank(cell));
            end.map_or(0, |last| last / now) + 1
        });
        let before = usize::from(at.column.unwrap_or_default()) / now;
        u16::try_from(broken.sum::<usize>() + before).unwrap_or(at.row)
    }

    /// Writes `count` rows and the canvas below them. The rows then belong to the terminal.
    fn write_above(&mut self, rows: Vec<Cell>, count: usize, out: &mut Vec<u8>) {
        let width = self.size.width;
        let live = self.next.area.height;
        self.next.content.splice(..0, rows);
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        let height = (count + live).max(self.shown.area.height);
        let extent = self.region.as_ref().map_or(0, |region| region.extent);
        if height > extent {
            let last = extent.max(1) - 1;
            self.encoder
                .add_rows(last, height - last - 1, &self.links, out);
        }
        let area = Rect::new(0, 0, width, height);
        self.next.resize(area);
        self.shown.resize(area);
        let blank = blank_row(width);
        self.shown_hashes
            .resize(usize::from(height), glyph::row_hash(&blank.content));
        self.write_cells(out);
        std::mem::swap(&mut self.shown, &mut self.next);
        self.drop_rows(count, live, out);
        if let Some(region) = &mut self.region {
            region.extent = height.max(extent) - count;
        }
    }

    /// The first `count` rows leave the region, which then has `live` rows.
    fn drop_rows(&mut self, count: u16, live: u16, out: &mut Vec<u8>) {
        if count > 0 {
            let at = self.encoder.position();
            if at.is_none_or(|at| at.row < count) {
                self.encoder.move_to(0, count, out);
            }
            let at = self.encoder.position().map(|mut at| {
                at.row -= count;
                at
            });
            self.encoder.set_position(at);
        }
        let width = self.size.width;
        let cells = usize::from(width) * usize::from(count);
        self.shown.content.drain(..cells);
        self.shown_hashes.drain(..usize::from(count));
        self.shown.resize(Rect::new(0, 0, width, live));
        self.shown_hashes.truncate(usize::from(live));
    }
}

/// A buffer of one blank row.
fn blank_row(width: u16) -> Buffer {
    Buffer::empty(Rect::new(0, 0, width, 1))
}

/// Removes rows of a buffer; returns how many.
fn remove_rows(buffer: &mut Buffer, rows: &Range<u16>) -> u16 {
    let Rect { width, height, .. } = buffer.area;
    let end = rows.end.min(height);
    let start = rows.start.min(end);
    if start == end || end - start == height {
        return 0;
    }
    let width_of = |rows: u16| usize::from(width) * usize::from(rows);
    buffer.content.drain(width_of(start)..width_of(end));
    buffer.area.height = height - (end - start);
    end - start
}

//! Turns the cells of one frame into bytes.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};

use super::bidi::{self, Reordered};
use super::inline::{Parked, Region};
use super::{Cursor, Encoder, Features, Links, glyph};
use crate::frame::scroll;
use crate::frame::scroll::ScrollDetector;

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// Terminals show a frame of at most this many bytes at once, so it needs no synchronized output.
const SMALL_FRAME: usize = 96;
/// Minimum number of changed rows for scroll detection.
const MIN_SCROLL_ROWS: usize = 3;
/// Maximum number of blocks that move independently in one frame.
const MAX_SCROLLS: usize = 4;
/// How many bytes the final cursor move may differ between two encodings.
const CURSOR_MARGIN: usize = 8;

/// Holds the shown screen and the next one, and writes the difference.
#[derive(Debug)]
pub struct FrameWriter {
    pub(super) encoder: Encoder,
    pub(super) links: Links,
    pub(super) shown: Buffer,
    pub(super) next: Buffer,
    pub(super) shown_hashes: Vec<u64>,
    pub(super) next_hashes: Vec<u64>,
    /// Whether there are images on the shown screen and on the next one.
    images: (bool, bool),
    /// Rows whose shown content equals the next frame.
    unchanged: Vec<bool>,
    detector: ScrollDetector,
    queued: Vec<(Option<Position>, Vec<u8>)>,
    pub(super) repaint: bool,
    /// The reordered rows of the shown screen.
    reordered: Reordered,
    pub(super) size: Size,
    /// The rows at the end of the terminal's text that are drawn, instead of a complete screen.
    pub(super) region: Option<Region>,
    /// The region while the alternate screen is shown.
    pub(super) parked: Option<Parked>,
}

impl FrameWriter {
    pub fn new(size: Size, features: Features) -> Self {
        let mut writer = Self {
            encoder: Encoder::new(features),
            links: Links::default(),
            shown: Buffer::empty(Rect::ZERO),
            next: Buffer::empty(Rect::ZERO),
            shown_hashes: Vec::new(),
            next_hashes: Vec::new(),
            images: (false, false),
            unchanged: Vec::new(),
            detector: ScrollDetector::default(),
            queued: Vec::new(),
            repaint: true,
            reordered: Reordered::new(),
            size,
            region: None,
            parked: None,
        };
        writer.resize(size);
        writer
    }

    /// The cleared buffer for the next frame, and its hyperlink table.
    pub fn canvas(&mut self) -> (&mut Buffer, &Links) {
        if self.region.is_some() {
            // The frame before had fewer rows.
            let area = Rect::new(0, 0, self.size.width, self.size.height);
            self.next.resize(area);
        }
        self.next.reset();
        (&mut self.next, &self.links)
    }

    /// Sets the terminal size. The next frame is drawn in full.
    pub fn resize(&mut self, size: Size) {
        let area = Rect::new(0, 0, size.width, size.height);
        self.next.resize(area);
        self.size = size;
        self.repaint();
    }

    /// Marks the screen content as unknown: the next frame clears the screen and draws it in full.
    pub fn repaint(&mut self) {
        self.repaint = true;
    }

    pub fn features(&self) -> Features {
        self.encoder.features()
    }

    pub fn set_features(&mut self, features: Features) {
        self.encoder.set_features(features);
    }

    /// Queues bytes to send after the cells of the next frame: title, bell, clipboard. They must
    /// not move the cursor or change colours.
    pub fn queue(&mut self, bytes: Vec<u8>) {
        self.queued.push((None, bytes));
    }

    /// Queues bytes to send at a cell after the next frame: images.
    pub fn queue_at(&mut self, position: Position, bytes: Vec<u8>) {
        self.queued.push((Some(position), bytes));
    }

    /// The cells drawn into the canvas so far.
    pub fn drawn(&self) -> &Buffer {
        &self.next
    }

    /// The cells that the terminal shows after the last frame.
    pub fn shown(&self) -> &Buffer {
        &self.shown
    }

    /// Ends the frame: appends its bytes to `out`, or nothing if nothing changed.
    pub fn finish(&mut self, cursor: Option<Cursor>, out: &mut Vec<u8>) {
        let cursor = self.reorder(cursor);
        let start = out.len();
        let bracketed = self.encoder.features().bracketed;
        out.extend_from_slice(if bracketed { BEGIN } else { b"" });
        let body = out.len();
        let cursor = if self.region.is_some() {
            self.write_region(cursor, out)
        } else {
            if self.repaint {
                self.clear(out);
            }
            self.write_cells(out);
            cursor
        };
        self.encoder.close_link(&self.links, out);
        for (position, bytes) in std::mem::take(&mut self.queued) {
            if let Some(position) = position {
                self.blank_under_image(position, out);
                self.encoder.move_to(position.x, position.y, out);
                self.encoder.forget_position();
            }
            out.extend_from_slice(&bytes);
        }
        let large = out.len() - body > SMALL_FRAME;
        if large && !self.encoder.features().synchronized {
            self.hide_while_drawing(body, out);
        }
        self.encoder.cursor(self.visible_cursor(cursor), out);
        if large && bracketed {
            out.extend_from_slice(END);
        } else {
            out.drain(start..body);
        }
        if self.region.is_none() {
            std::mem::swap(&mut self.shown, &mut self.next);
        }
    }

    /// Puts right-to-left text in visual order; the cursor follows its cell.
    fn reorder(&mut self, cursor: Option<Cursor>) -> Option<Cursor> {
        self.reordered.clear();
        if self.encoder.features().reorder {
            let at = cursor.map(|cursor| (cursor.position.x, cursor.position.y));
            self.reordered = bidi::reorder(&mut self.next, at);
        }
        cursor.map(|mut cursor| {
            let Position { x, y } = cursor.position;
            cursor.position.x = bidi::shown_column(&self.reordered, x, y);
            cursor
        })
    }

    /// The column of the canvas that the terminal shows at a column.
    pub fn logical_column(&self, column: u16, row: u16) -> u16 {
        bidi::logical_column(&self.reordered, column, row)
    }

    fn blank_under_image(&mut self, Position { x, y }: Position, out: &mut Vec<u8>) {
        if !self.next.area.contains(Position { x, y }) {
            return;
        }
        let cells = &row(&self.next, usize::from(y))[usize::from(x)..];
        let end = cells.iter().position(|cell| !glyph::is_skipped(cell));
        let cells = &cells[..end.unwrap_or(cells.len())];
        self.encoder.blank(y, x, cells, &self.links, out);
    }

    fn clear(&mut self, out: &mut Vec<u8>) {
        self.repaint = false;
        self.encoder.clear(out);
        self.shown.resize(self.next.area);
        self.shown.reset();
        let width = usize::from(self.next.area.width);
        let blank = glyph::row_hash(&self.shown.content[..width.min(self.shown.content.len())]);
        self.images.0 = false;
        self.shown_hashes.clear();
        self.shown_hashes
            .resize(usize::from(self.next.area.height), blank);
    }

    /// Without synchronized output the cursor would visibly jump across the screen.
    fn hide_while_drawing(&mut self, body: usize, out: &mut Vec<u8>) {
        let mut hidden = Vec::with_capacity(8);
        self.encoder.hide(&mut hidden);
        out.splice(body..body, hidden);
    }

    pub(super) fn write_cells(&mut self, out: &mut Vec<u8>) {
        let height = self.next.area.height;
        if self.next.area.is_empty() {
            return;
        }
        self.next_hashes.clone_from(&self.shown_hashes);
        self.unchanged.clear();
        for index in 0..usize::from(height) {
            let next = row(&self.next, index);
            let same = glyph::same_row(row(&self.shown, index), next);
            if !same {
                self.next_hashes[index] = glyph::row_hash(next);
            }
            self.unchanged.push(same);
        }
        let changed = self.unchanged.iter().filter(|same| !**same).count();
        if changed > 0 {
            self.images.1 = self.next.content.iter().any(glyph::is_skipped);
        }
        // Some terminals scroll images along with the rows, even images elsewhere on the screen: xterm stores images
        // apart from the text and moves all of them.
        let has_images = self.images.0 || self.images.1;
        if changed >= MIN_SCROLL_ROWS && self.encoder.features().margins && !has_images {
            self.write_scrolls(out);
            self.write_changes(out);
        } else if changed > 0 {
            self.write_rows(out);
        }
        std::mem::swap(&mut self.shown_hashes, &mut self.next_hashes);
        self.images.0 = self.images.1;
    }

    /// Scrolls the blocks of rows that moved.
    fn write_scrolls(&mut self, out: &mut Vec<u8>) {
        for _ in 0..MAX_SCROLLS {
            if !self.may_scroll() {
                return;
            }
            let found = self.detector.detect(
                screen(&self.shown, &self.shown_hashes),
                screen(&self.next, &self.next_hashes),
            );
            let Some(found) = found else { return };
            let size = self.next.area.as_size();
            let is_free = is_free(found, &self.shown);
            self.encoder
                .scroll(found, (size, is_free), &self.links, out);
            scroll::apply(found, &mut self.shown);
            scroll::apply_to_hashes(found, &self.shown, &mut self.shown_hashes);
            mark_changed(&mut self.unchanged, found);
        }
    }

    /// Whether enough rows differ for a scroll to save bytes.
    fn may_scroll(&self) -> bool {
        let rows = self.shown_hashes.iter().zip(&self.next_hashes);
        rows.filter(|(shown, next)| shown != next).count() >= MIN_SCROLL_ROWS
    }

    /// Writes the rows that differ. If content moved inside a box, tries a scroll with side margins
    /// and a scroll of the full width with the sides redrawn, and uses the shortest encoding.
    fn write_changes(&mut self, out: &mut Vec<u8>) {
        let side_margins = self.encoder.features().side_margins && self.region.is_none();
        let found = if self.may_scroll() {
            self.detector.detect_inside(
                screen(&self.shown, &self.shown_hashes),
                screen(&self.next, &self.next_hashes),
                side_margins,
            )
        } else {
            Default::default()
        };
        let before = found.iter().any(Option::is_some);
        let before = before.then(|| self.encoder.clone());
        let start = out.len();
        self.write_rows(out);
        let Some(before) = before else { return };
        for scroll in found.into_iter().flatten() {
            let mut encoder = before.clone();
            let mut shown = self.shown.clone();
            let mut bytes = Vec::new();
            let size = self.next.area.as_size();
            let is_free = is_free(scroll, &shown);
            encoder.scroll(scroll, (size, is_free), &self.links, &mut bytes);
            scroll::apply(scroll, &mut shown);
            let mut unchanged = self.unchanged.clone();
            mark_changed(&mut unchanged, scroll);
            let links = &self.links;
            write_rows(
                &mut encoder,
                &shown,
                &self.next,
                &unchanged,
                links,
                &mut bytes,
            );
            if bytes.len() + CURSOR_MARGIN < out.len() - start {
                out.truncate(start);
                out.append(&mut bytes);
                self.encoder = encoder;
            }
        }
    }

    /// Writes the rows that differ.
    fn write_rows(&mut self, out: &mut Vec<u8>) {
        write_rows(
            &mut self.encoder,
            &self.shown,
            &self.next,
            &self.unchanged,
            &self.links,
            out,
        );
    }

    /// Hides a cursor outside the screen.
    fn visible_cursor(&self, cursor: Option<Cursor>) -> Option<Cursor> {
        let area = match self.region {
            Some(_) => self.shown.area,
            None => self.next.area,
        };
        cursor.filter(|cursor| area.contains(cursor.position))
    }
}

/// Whether the rows that a scroll down covers are blank.
fn is_free(scroll: scroll::Scroll, shown: &Buffer) -> bool {
    let rows = scroll.rows.unsigned_abs();
    let covered = scroll.bottom.saturating_sub(rows)..scroll.bottom;
    covered.into_iter().all(|index| {
        let cells = row(shown, usize::from(index));
        cells.iter().all(glyph::is_default_blank)
    })
}

fn screen<'a>(buffer: &'a Buffer, hashes: &'a [u64]) -> scroll::Screen<'a> {
    scroll::Screen { buffer, hashes }
}

/// Marks scrolled rows for comparison.
fn mark_changed(unchanged: &mut [bool], scroll: scroll::Scroll) {
    unchanged[usize::from(scroll.top)..usize::from(scroll.bottom)].fill(false);
}

/// Writes the rows where `next` differs from `shown`. Rows in `unchanged` are known to be equal.
fn write_rows(
    encoder: &mut Encoder,
    shown: &Buffer,
    next: &Buffer,
    unchanged: &[bool],
    links: &Links,
    out: &mut Vec<u8>,
) {
    for index in (0..next.area.height).filter(|index| !unchanged[usize::from(*index)]) {
        let (shown, next) = (
            row(shown, usize::from(index)),
            row(next, usize::from(index)),
        );
        if !glyph::same_row(shown, next) {
            encoder.row(index, shown, next, links, out);
        }
    }
}

pub(super) fn row(buffer: &Buffer, row: usize) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    &buffer.content[row * width..(row + 1) * width]
}

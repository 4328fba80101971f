//! One frame: the cells the components drew become one run of bytes.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};

use super::{Cursor, Encoder, Features, Links, glyph};
use crate::scroll;
use crate::scroll::Detector;

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// A frame of at most this many bytes is shown at once by any terminal: it goes without the bracket.
const SMALL: usize = 96;
/// Fewest changed rows among which a scroll is looked for.
const SCROLL_ROWS: usize = 3;
/// Most blocks of rows that move in one frame, each in its own way.
const SCROLLS: usize = 4;
/// Bytes by which the way back of the cursor may differ between two ways to draw.
const CURSOR_WAY: usize = 8;

/// Keeps the shown screen and the one being drawn, and writes the difference.
#[derive(Debug)]
pub struct FrameWriter {
    encoder: Encoder,
    links: Links,
    shown: Buffer,
    next: Buffer,
    shown_hashes: Vec<u64>,
    next_hashes: Vec<u64>,
    /// Whether the terminal draws images in cells that are shown, and in those that are wanted.
    images: (bool, bool),
    /// Rows that are shown as they are wanted.
    settled: Vec<bool>,
    detector: Detector,
    queued: Vec<(Option<Position>, Vec<u8>)>,
    repaint: bool,
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
            settled: Vec::new(),
            detector: Detector::default(),
            queued: Vec::new(),
            repaint: true,
        };
        writer.resize(size);
        writer
    }

    /// The cleared buffer to draw the next frame into, and the table of its hyperlinks.
    pub fn canvas(&mut self) -> (&mut Buffer, &Links) {
        self.next.reset();
        (&mut self.next, &self.links)
    }

    pub fn area(&self) -> Rect {
        self.next.area
    }

    /// The terminal has a new size: the next frame is drawn in full.
    pub fn resize(&mut self, size: Size) {
        let area = Rect::new(0, 0, size.width, size.height);
        self.next.resize(area);
        self.repaint();
    }

    /// The screen holds something else: the next frame clears and draws it in full.
    pub fn repaint(&mut self) {
        self.repaint = true;
    }

    pub fn features(&self) -> Features {
        self.encoder.features()
    }

    pub fn set_features(&mut self, features: Features) {
        self.encoder.set_features(features);
    }

    /// Bytes that go out after the cells of the next frame: title, bell, clipboard. They must not move the
    /// cursor or change colours.
    pub fn queue(&mut self, bytes: Vec<u8>) {
        self.queued.push((None, bytes));
    }

    /// Bytes that go out at a cell after the next frame: images.
    pub fn queue_at(&mut self, position: Position, bytes: Vec<u8>) {
        self.queued.push((Some(position), bytes));
    }

    /// What was drawn into the canvas so far.
    pub fn drawn(&self) -> &Buffer {
        &self.next
    }

    /// What the terminal shows after the last frame.
    pub fn shown(&self) -> &Buffer {
        &self.shown
    }

    /// Ends the frame: appends the bytes that bring it to the screen to `out`; none when nothing changed.
    pub fn finish(&mut self, cursor: Option<Cursor>, out: &mut Vec<u8>) {
        let start = out.len();
        let bracketed = self.encoder.features().bracketed;
        out.extend_from_slice(if bracketed { BEGIN } else { b"" });
        let body = out.len();
        if self.repaint {
            self.clear(out);
        }
        self.write_cells(out);
        self.encoder.close_link(&self.links, out);
        for (position, bytes) in std::mem::take(&mut self.queued) {
            if let Some(position) = position {
                self.blank_under_image(position, out);
                self.encoder.move_to(position.x, position.y, out);
                self.encoder.lose_place();
            }
            out.extend_from_slice(&bytes);
        }
        let large = out.len() - body > SMALL;
        if large && !self.encoder.features().synchronized {
            self.hide_while_drawing(body, out);
        }
        self.encoder.cursor(self.within(cursor), out);
        if large && bracketed {
            out.extend_from_slice(END);
        } else {
            out.drain(start..body);
        }
        std::mem::swap(&mut self.shown, &mut self.next);
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
        let blank = scroll::row_hash(&self.shown.content[..width.min(self.shown.content.len())]);
        self.images.0 = false;
        self.shown_hashes.clear();
        self.shown_hashes
            .resize(usize::from(self.next.area.height), blank);
    }

    /// Without synchronized output the cursor would be seen running over the screen.
    fn hide_while_drawing(&mut self, body: usize, out: &mut Vec<u8>) {
        let mut hidden = Vec::with_capacity(8);
        self.encoder.hide(&mut hidden);
        out.splice(body..body, hidden);
    }

    fn write_cells(&mut self, out: &mut Vec<u8>) {
        let height = self.next.area.height;
        if self.next.area.is_empty() {
            return;
        }
        self.next_hashes.clone_from(&self.shown_hashes);
        self.settled.clear();
        for index in 0..usize::from(height) {
            let next = row(&self.next, index);
            let same = glyph::same_row(row(&self.shown, index), next);
            if !same {
                self.next_hashes[index] = scroll::row_hash(next);
            }
            self.settled.push(same);
        }
        let changed = self.settled.iter().filter(|same| !**same).count();
        if changed > 0 {
            self.images.1 = self.next.content.iter().any(glyph::is_skipped);
        }
        // What moves rows moves images too in some terminals, also those that stand elsewhere: xterm keeps them
        // apart from the text, and moves all of them.
        let has_images = self.images.0 || self.images.1;
        if changed >= SCROLL_ROWS && self.encoder.features().margins && !has_images {
            self.write_scrolls(out);
            self.write_with_boxes(out);
        } else if changed > 0 {
            let screens = (&self.shown, &self.next, self.settled.as_slice());
            write_rows(&mut self.encoder, screens, &self.links, out);
        }
        std::mem::swap(&mut self.shown_hashes, &mut self.next_hashes);
        self.images.0 = self.images.1;
    }

    /// Moves what has moved, block by block.
    fn write_scrolls(&mut self, out: &mut Vec<u8>) {
        for _ in 0..SCROLLS {
            if !self.may_have_moved() {
                return;
            }
            let found = self.detector.detect(
                screen(&self.shown, &self.shown_hashes),
                screen(&self.next, &self.next_hashes),
            );
            let Some(found) = found else { return };
            let size = self.next.area.as_size();
            self.encoder.scroll(found, size, &self.links, out);
            scroll::apply(found, &mut self.shown);
            scroll::apply_to_hashes(found, &self.shown, &mut self.shown_hashes);
            unsettle(&mut self.settled, found);
        }
    }

    /// Whether enough rows still differ that a scroll can be worth its bytes.
    fn may_have_moved(&self) -> bool {
        let rows = self.shown_hashes.iter().zip(&self.next_hashes);
        rows.filter(|(shown, next)| shown != next).count() >= SCROLL_ROWS
    }

    /// Writes the rows that differ. What moved inside a box is scrolled where that takes fewer bytes: with
    /// margins at its sides, or over the whole width, the sides drawn anew. All ways are tried.
    fn write_with_boxes(&mut self, out: &mut Vec<u8>) {
        let side_margins = self.encoder.features().side_margins;
        let found = if self.may_have_moved() {
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
        let screens = (&self.shown, &self.next, self.settled.as_slice());
        write_rows(&mut self.encoder, screens, &self.links, out);
        let Some(before) = before else { return };
        for scroll in found.into_iter().flatten() {
            let mut encoder = before.clone();
            let mut shown = self.shown.clone();
            let mut bytes = Vec::new();
            let size = self.next.area.as_size();
            encoder.scroll(scroll, size, &self.links, &mut bytes);
            scroll::apply(scroll, &mut shown);
            let mut settled = self.settled.clone();
            unsettle(&mut settled, scroll);
            let screens = (&shown, &self.next, settled.as_slice());
            write_rows(&mut encoder, screens, &self.links, &mut bytes);
            if bytes.len() + CURSOR_WAY < out.len() - start {
                out.truncate(start);
                out.append(&mut bytes);
                self.encoder = encoder;
            }
        }
    }

    /// A cursor outside the screen is hidden.
    fn within(&self, cursor: Option<Cursor>) -> Option<Cursor> {
        cursor.filter(|cursor| self.next.area.contains(cursor.position))
    }
}

fn screen<'a>(buffer: &'a Buffer, hashes: &'a [u64]) -> scroll::Screen<'a> {
    scroll::Screen { buffer, hashes }
}

/// Rows that were scrolled have to be looked at again.
fn unsettle(settled: &mut [bool], scroll: scroll::Scroll) {
    settled[usize::from(scroll.top)..usize::from(scroll.bottom)].fill(false);
}

/// Writes the rows of `next` that are not `shown`. Those that are `settled` are known to be.
fn write_rows(
    encoder: &mut Encoder,
    (shown, next, settled): (&Buffer, &Buffer, &[bool]),
    links: &Links,
    out: &mut Vec<u8>,
) {
    for index in (0..next.area.height).filter(|index| !settled[usize::from(*index)]) {
        let (shown, next) = (
            row(shown, usize::from(index)),
            row(next, usize::from(index)),
        );
        if !glyph::same_row(shown, next) {
            encoder.row(index, shown, next, links, out);
        }
    }
}

fn row(buffer: &Buffer, row: usize) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    &buffer.content[row * width..(row + 1) * width]
}

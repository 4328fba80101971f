//! Encodes the difference between two rows of cells as terminal bytes. Its fields track the state
//! of the terminal (cursor position, rendition, visibility) across frames.
//!
//! Autowrap is off while drawing. The cursor is positioned explicitly after the last column, so the
//! output is also correct on terminals that ignore the autowrap mode.

use ratatui::buffer::Cell;
use ratatui::layout::Size;
use ratatui::style::Color;

use super::glyph::{self, glyph};
use super::link::Links;
use super::motion::{self, CLEAR_BELOW, CursorPosition, push_number, push_step};
use super::rendition::Rendition;
use super::{Cursor, CursorShape, Features, console};
use crate::frame::scroll::Scroll;

/// Minimum run of blanks inside a row that is erased instead of printed.
const MIN_ERASE: usize = 10;
/// Maximum number of unchanged columns that are printed again instead of skipped by a cursor move.
const MAX_REPRINT: usize = 8;

/// The encoder for one terminal.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    features: Features,
    position: Option<CursorPosition>,
    rendition: Rendition,
    visible: Option<bool>,
    shape: CursorShape,
    changed: Vec<u16>,
    /// Rows are counted from the start of an inline region, whose row on the screen is unknown.
    is_inline: bool,
}

impl Encoder {
    /// Creates an encoder for a terminal with the default rendition and an otherwise unknown state.
    pub(crate) fn new(features: Features) -> Self {
        Self {
            features,
            position: None,
            rendition: Rendition::default(),
            visible: None,
            shape: CursorShape::Terminal,
            changed: Vec::new(),
            is_inline: false,
        }
    }

    pub(crate) fn features(&self) -> Features {
        self.features
    }

    pub(crate) fn set_features(&mut self, features: Features) {
        self.features = features;
    }

    /// Resets the terminal to a known state and clears it.
    pub(crate) fn clear(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[m\x1b[?7l\x1b[H\x1b[2J");
        self.position = Some(CursorPosition {
            column: Some(0),
            row: 0,
        });
        self.rendition = Rendition::default();
        self.visible = None;
    }

    /// Switches between the complete screen and an inline region. The position is unknown afterwards.
    pub(super) fn set_inline(&mut self, is_inline: bool) {
        self.is_inline = is_inline;
        self.position = None;
        self.visible = None;
    }

    /// Where the cursor is, as far as that is known.
    pub(super) fn position(&self) -> Option<CursorPosition> {
        self.position
    }

    pub(super) fn set_position(&mut self, position: Option<CursorPosition>) {
        self.position = position;
    }

    /// Whether nothing was drawn since the terminal switched its screen.
    pub(super) fn is_untouched(&self) -> bool {
        self.visible.is_none()
    }

    /// Resets colours and autowrap, which the terminal may have restored together with its other screen.
    pub(super) fn reset(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[m\x1b[?7l");
        self.rendition = Rendition::default();
        self.visible = None;
    }

    /// Clears the inline region, which begins `above` rows above the cursor, and everything below it.
    pub(super) fn clear_region(&mut self, above: u16, out: &mut Vec<u8>) {
        self.reset(out);
        out.push(b'\r');
        if above > 0 {
            push_step(out, above, b'A');
        }
        out.extend_from_slice(CLEAR_BELOW.as_bytes());
        self.position = Some(CursorPosition {
            column: Some(0),
            row: 0,
        });
    }

    /// Adds rows below the last row of the inline region; the terminal scrolls when it has no more.
    pub(super) fn add_rows(&mut self, last: u16, count: u16, links: &Links, out: &mut Vec<u8>) {
        // Rows that scroll in get the current background.
        self.set_rendition(self.rendition.for_erase(Color::Reset), links, out);
        // A line feed leaves the column as it is.
        let column = self.position.and_then(|at| at.column).unwrap_or_default();
        self.move_to(column, last, out);
        out.extend(std::iter::repeat_n(b'\n', usize::from(count)));
        self.position = Some(CursorPosition {
            column: Some(column),
            row: last + count,
        });
    }

    /// Moves a block of rows without a scroll region: deletes rows at one end of it and inserts rows at the other.
    /// `is_free`: the rows that the block covers are blank, and nothing is below it.
    fn scroll_inline(&mut self, scroll: Scroll, is_last: bool, is_free: bool, out: &mut Vec<u8>) {
        let rows = scroll.rows.unsigned_abs();
        let far = scroll.bottom - rows;
        let (delete, insert) = if scroll.rows > 0 {
            (scroll.top, (!is_last).then_some(far))
        } else {
            (far, Some(scroll.top))
        };
        if scroll.rows > 0 || !is_free {
            self.move_to(0, delete, out);
            push_step(out, rows, b'M');
        }
        if let Some(row) = insert {
            self.move_to(0, row, out);
            push_step(out, rows, b'L');
        }
    }

    /// Moves a block of rows with a scroll region. Uses insert and delete line, because the Linux
    /// console and old multiplexers support no other scroll.
    pub(crate) fn scroll(
        &mut self,
        scroll: Scroll,
        (screen, is_free): (Size, bool),
        links: &Links,
        out: &mut Vec<u8>,
    ) {
        // Uncovered rows get the current background.
        self.set_rendition(self.rendition.for_erase(Color::Reset), links, out);
        if self.is_inline {
            let is_last = scroll.bottom >= screen.height;
            return self.scroll_inline(scroll, is_last, is_free && is_last, out);
        }
        if scroll.right - scroll.left < screen.width {
            self.scroll_box(scroll, screen.height, out);
            return;
        }
        let reaches_bottom = scroll.bottom >= screen.height;
        if !reaches_bottom {
            out.extend_from_slice(b"\x1b[");
            if scroll.top > 0 {
                push_number(out, scroll.top + 1);
            }
            out.push(b';');
            push_number(out, scroll.bottom);
            out.push(b'r');
            // Some terminals move the cursor to the top of the margins, not of the screen.
            self.position = (scroll.top == 0).then_some(CursorPosition {
                column: Some(0),
                row: 0,
            });
        }
        motion::write_move(out, self.position, 0, scroll.top);
        let end = if scroll.rows > 0 { b'M' } else { b'L' };
        push_step(out, scroll.rows.unsigned_abs(), end);
        self.position = Some(CursorPosition {
            column: Some(0),
            row: scroll.top,
        });
        if !reaches_bottom {
            out.extend_from_slice(b"\x1b[r");
            self.position = Some(CursorPosition {
                column: Some(0),
                row: 0,
            });
        }
    }

    /// Moves a box with margins on all sides, then resets the margins. Terminals with side margins
    /// support SU and SD, which do not depend on the cursor position.
    fn scroll_box(&mut self, scroll: Scroll, height: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[?69h\x1b[");
        push_number(out, scroll.left + 1);
        out.push(b';');
        push_number(out, scroll.right);
        out.push(b's');
        let full_height = scroll.top == 0 && scroll.bottom >= height;
        if !full_height {
            out.extend_from_slice(b"\x1b[");
            push_number(out, scroll.top + 1);
            out.push(b';');
            push_number(out, scroll.bottom);
            out.push(b'r');
        }
        let end = if scroll.rows > 0 { b'S' } else { b'T' };
        push_step(out, scroll.rows.unsigned_abs(), end);
        out.extend_from_slice(b"\x1b[?69l");
        // Terminals differ in whether switching the mode moves the cursor. Resetting the margins
        // moves it everywhere.
        self.position = (!full_height).then_some(CursorPosition {
            column: Some(0),
            row: 0,
        });
        if !full_height {
            out.extend_from_slice(b"\x1b[r");
        }
    }

    /// Writes the change from the shown row `previous` to `next`.
    pub(crate) fn row(
        &mut self,
        row: u16,
        previous: &[Cell],
        next: &[Cell],
        links: &Links,
        out: &mut Vec<u8>,
    ) {
        let mut changed = std::mem::take(&mut self.changed);
        glyph::changed_columns(previous, next, &mut changed);
        // Printing over an image replaces it everywhere; erasing it does not in xterm.
        let may_erase = !previous.iter().any(glyph::is_skipped);
        let tail = if may_erase {
            self.blank_tail(next)
        } else {
            next.len()
        };
        let mut index = 0;
        while let Some(&column) = changed.get(index) {
            let start = usize::from(column);
            let last = usize::from(changed[changed.len() - 1]);
            let written = if start >= tail && last - start >= 3 {
                self.erase_tail(row, column, &next[start], links, out);
                next.len()
            } else if may_erase && let Some(end) = self.blank_run(next, start, last) {
                self.erase_run(row, column, &next[start..end], links, out);
                end
            } else {
                self.reprint(row, next, start, links, out);
                let (symbol, width) = glyph(next, start);
                self.print(row, column, &next[start], (symbol, width), links, out);
                let end = self.repeat(next, start + width, start, symbol, last, out);
                self.advance(row, end, next.len(), (symbol, width));
                end
            };
            while changed
                .get(index)
                .is_some_and(|&next| usize::from(next) < written)
            {
                index += 1;
            }
        }
        self.changed = changed;
    }

    /// Prints blanks where an image will be placed, so that old text does not show through its
    /// transparent parts.
    pub(crate) fn blank(
        &mut self,
        row: u16,
        column: u16,
        cells: &[Cell],
        links: &Links,
        out: &mut Vec<u8>,
    ) {
        let Some(first) = cells.first() else { return };
        self.move_to(column, row, out);
        self.set_rendition(self.rendition.for_cell(first, " "), links, out);
        out.extend(std::iter::repeat_n(b' ', cells.len()));
        self.forget_position();
    }

    /// Updates the position, shape and visibility of the cursor.
    pub(crate) fn cursor(&mut self, cursor: Option<Cursor>, out: &mut Vec<u8>) {
        let Some(cursor) = cursor else {
            if self.visible != Some(false) {
                self.hide(out);
            }
            return;
        };
        self.move_to(cursor.position.x, cursor.position.y, out);
        if self.shape != cursor.shape {
            out.extend_from_slice(b"\x1b[");
            push_number(out, cursor.shape.parameter());
            out.extend_from_slice(b" q");
            self.shape = cursor.shape;
        }
        if self.visible != Some(true) {
            out.extend_from_slice(b"\x1b[?25h");
            self.visible = Some(true);
        }
    }

    pub(crate) fn hide(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x1b[?25l");
        self.visible = Some(false);
    }

    /// Closes an open hyperlink, which would otherwise extend to later output.
    pub(crate) fn close_link(&mut self, links: &Links, out: &mut Vec<u8>) {
        self.set_rendition(self.rendition.without_link(), links, out);
    }

    /// Marks the cursor position as unknown after bytes that the encoder did not write.
    pub(crate) fn forget_position(&mut self) {
        self.position = match self.position {
            Some(at) if self.is_inline => Some(CursorPosition {
                column: None,
                row: at.row,
            }),
            _ => None,
        };
    }

    pub(super) fn move_to(&mut self, column: u16, row: u16, out: &mut Vec<u8>) {
        match self.position {
            Some(from) if self.is_inline => motion::write_steps(out, from, column, row),
            from => motion::write_move(out, from, column, row),
        }
        self.position = Some(CursorPosition {
            column: Some(column),
            row,
        });
    }

    /// The first column of the blank end of the row that can be erased with one background.
    fn blank_tail(&self, row: &[Cell]) -> usize {
        let Some(last) = row.last() else {
            return 0;
        };
        let mut start = row
            .iter()
            .rposition(|cell| !self.is_erased(cell, last.bg))
            .map_or(0, |last| last + 1);
        // The blank after a wide glyph is its second half.
        if start > 0 && start < row.len() && glyph(row, start - 1).1 == 2 {
            start += 1;
        }
        start
    }

    /// Whether erasing with `background` produces this cell.
    fn is_erased(&self, cell: &Cell, background: Color) -> bool {
        cell.bg == background
            && (background == Color::Reset || self.features.erase_background)
            && glyph::is_plain_blank(cell)
            && !glyph::is_skipped(cell)
    }

    /// The end of a run of blanks from `start` that is worth erasing, at most up to the last
    /// changed column.
    fn blank_run(&self, row: &[Cell], start: usize, last: usize) -> Option<usize> {
        let background = row[start].bg;
        let length = row[start..=last]
            .iter()
            .take_while(|cell| self.is_erased(cell, background))
            .count();
        (self.features.erase_characters && length >= MIN_ERASE).then_some(start + length)
    }

    fn erase_tail(&mut self, row: u16, column: u16, cell: &Cell, links: &Links, out: &mut Vec<u8>) {
        self.move_to(column, row, out);
        self.set_rendition(self.rendition.for_erase(cell.bg), links, out);
        out.extend_from_slice(b"\x1b[K");
    }

    fn erase_run(
        &mut self,
        row: u16,
        column: u16,
        cells: &[Cell],
        links: &Links,
        out: &mut Vec<u8>,
    ) {
        self.move_to(column, row, out);
        self.set_rendition(self.rendition.for_erase(cells[0].bg), links, out);
        push_step(out, cells.len() as u16, b'X');
    }

    /// Prints the unchanged cells between the cursor and `column` again if that is shorter than a
    /// cursor move.
    fn reprint(
        &mut self,
        row: u16,
        next: &[Cell],
        column: usize,
        links: &Links,
        out: &mut Vec<u8>,
    ) {
        let Some(CursorPosition {
            column: Some(from),
            row: at,
        }) = self.position
        else {
            return;
        };
        let from = usize::from(from);
        if at != row || from >= column || column - from > MAX_REPRINT {
            return;
        }
        // The cursor is inside a wide glyph: a blank printed there would destroy its second half.
        if from > 0 && glyph(next, from - 1).1 > 1 {
            return;
        }
        let budget = motion::forward_cost((column - from) as u16);
        let mut bytes = 0;
        let mut at = from;
        while at < column {
            let (symbol, width) = glyph(next, at);
            let fits = !glyph::is_skipped(&next[at])
                && self.rendition.for_cell(&next[at], symbol) == self.rendition
                && glyph::uncertain_columns(symbol, width).is_none();
            bytes += symbol.len();
            at += width;
            if !fits || bytes > budget {
                return;
            }
        }
        if at != column {
            return;
        }
        let mut at = from;
        while at < column {
            let (symbol, width) = glyph(next, at);
            self.print(row, at as u16, &next[at], (symbol, width), links, out);
            at += width;
            self.advance(row, at, next.len(), (symbol, width));
        }
    }

    fn print(
        &mut self,
        row: u16,
        column: u16,
        cell: &Cell,
        (symbol, width): (&str, usize),
        links: &Links,
        out: &mut Vec<u8>,
    ) {
        self.move_to(column, row, out);
        self.set_rendition(self.rendition.for_cell(cell, symbol), links, out);
        if width == 2 && glyph::uncertain_columns(symbol, width).is_some() {
            // A terminal that draws it in one column must not show the old content of the second.
            out.extend_from_slice(b"  ");
            self.position = Some(CursorPosition { column: None, row });
            self.move_to(column, row, out);
        }
        let symbol = if self.features.console_font {
            console::drawn(symbol)
        } else {
            symbol
        };
        out.extend_from_slice(symbol.as_bytes());
    }

    /// Repeats the printed glyph as often as the row does; returns the column after the last. Only
    /// ASCII: tmux 3.3 does not repeat other characters.
    fn repeat(
        &self,
        next: &[Cell],
        from: usize,
        first: usize,
        symbol: &str,
        last: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        if !self.features.repeat || from != first + 1 || symbol.len() != 1 {
            return from;
        }
        let count = (from..=last)
            .take_while(|&column| {
                let (other, width) = glyph(next, column);
                width == 1
                    && !glyph::is_skipped(&next[column])
                    && glyph::looks_same((&next[column], other), (&next[first], symbol))
            })
            .count();
        if count * symbol.len() <= 3 + motion::digits(count as u16) {
            return from;
        }
        push_step(out, count as u16, b'b');
        from + count
    }

    fn advance(&mut self, row: u16, column: usize, width: usize, glyph: (&str, usize)) {
        let known = column < width && glyph::uncertain_columns(glyph.0, glyph.1).is_none();
        self.position = Some(CursorPosition {
            column: known.then_some(column as u16),
            row,
        });
    }

    fn set_rendition(&mut self, rendition: Rendition, links: &Links, out: &mut Vec<u8>) {
        let links = self.features.links.then_some(links);
        self.rendition.write_change(rendition, links, out);
        self.rendition = rendition;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn row(width: u16, spans: &[(u16, &str, Style)]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        for (column, text, style) in spans {
            buffer.set_string(*column, 0, text, *style);
        }
        buffer
    }

    fn encode(features: Features, previous: &Buffer, next: &Buffer) -> String {
        let mut encoder = Encoder::new(features);
        let mut out = Vec::new();
        encoder.move_to(0, 0, &mut out);
        out.clear();
        encoder.row(
            0,
            &previous.content,
            &next.content,
            &Links::default(),
            &mut out,
        );
        String::from_utf8(out).unwrap().replace('\x1b', "^")
    }

    #[test]
    fn row_update_writes_only_changes() {
        let plain = Style::new();
        let features = Features::default();
        let long = "a long line of text that fills the row";
        for (previous, next, expected) in [
            (
                row(40, &[(0, "abc", plain)]),
                row(40, &[(0, "abcd", plain)]),
                "abcd",
            ),
            (
                row(40, &[(0, "abcdef", plain)]),
                row(40, &[(0, "abcdeg", plain)]),
                "^[6Gg",
            ),
            (
                row(40, &[(0, long, plain)]),
                row(40, &[(0, "a1", plain)]),
                "a1^[K",
            ),
            (
                row(40, &[(0, "aXcYd", plain)]),
                row(40, &[(0, "a1c2d", plain)]),
                "a1c2",
            ),
            (
                row(40, &[(0, long, plain)]),
                row(40, &[(30, "the row!", plain)]),
                "^[30X^[31Gthe row!",
            ),
            (row(40, &[]), row(40, &[(38, "漢", plain)]), "^[39G漢"),
            (
                row(40, &[]),
                row(40, &[(4, "ok", plain.red())]),
                "    ^[31mok",
            ),
        ] {
            assert_eq!(encode(features, &previous, &next), expected);
        }
    }

    #[test]
    fn repeated_glyphs_use_rep_if_supported() {
        let rule = "-".repeat(40);
        let next = row(40, &[(0, &rule, Style::new())]);
        let features = Features {
            repeat: true,
            ..Features::default()
        };
        assert_eq!(encode(features, &row(40, &[]), &next), "-^[39b");
    }

    #[test]
    fn tinted_row_is_erased_only_with_background_erase() {
        let next = row(40, &[(0, &" ".repeat(40), Style::new().on_blue())]);
        let features = Features {
            erase_background: true,
            ..Features::default()
        };
        assert_eq!(encode(features, &row(40, &[]), &next), "^[44m^[K");
        let printed = encode(Features::default(), &row(40, &[]), &next);
        assert_eq!(printed, format!("^[44m{}", " ".repeat(40)));
    }

    #[test]
    fn link_is_opened_once_and_closed() {
        let links = Links::default();
        let id = links.intern(&Arc::from("https://example.com/")).unwrap();
        let next = row(
            40,
            &[(0, "see", id.style(Style::new())), (3, " it", Style::new())],
        );
        let mut encoder = Encoder::new(Features::default());
        let mut out = Vec::new();
        encoder.clear(&mut out);
        out.clear();
        encoder.row(0, &row(40, &[]).content, &next.content, &links, &mut out);
        let text = String::from_utf8(out).unwrap().replace('\x1b', "^");
        assert_eq!(text, "^]8;id=0;https://example.com/^\\see^[C^]8;;^\\it");
    }
}

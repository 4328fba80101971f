//! Paints laid-out rows into a buffer.

use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::frame::{Links, bidi};
use crate::text::face::Face;
use crate::text::row::{Row, Span};
use osier_base::text::{grapheme_width, graphemes};

/// Paints `rows` from the top of `area` and blanks the rest of it. Text that does not fit is cut at
/// a grapheme boundary. Links of spans become ids of `links`.
pub fn paint_rows(
    rows: &[Row],
    area: Rect,
    buffer: &mut Buffer,
    links: &Links,
    style: impl Fn(Face) -> Style,
) {
    let mut painter = Painter::new(area, buffer, links, style);
    for row in rows {
        painter.row(row);
    }
    painter.finish();
}

/// Paints rows one below another.
#[derive(Debug)]
pub struct Painter<'a, S> {
    area: Rect,
    /// Number of painted lines.
    painted: u16,
    /// Blank columns before each row.
    indent: u16,
    buffer: &'a mut Buffer,
    links: &'a Links,
    style: S,
}

impl<'a, S: Fn(Face) -> Style> Painter<'a, S> {
    pub fn new(area: Rect, buffer: &'a mut Buffer, links: &'a Links, style: S) -> Self {
        Self {
            area: area.intersection(buffer.area),
            painted: 0,
            indent: 0,
            buffer,
            links,
            style,
        }
    }

    /// Number of rows that still fit.
    pub fn room(&self) -> usize {
        usize::from(self.area.height - self.painted)
    }

    /// Paints the rows that follow behind this many blank columns.
    pub fn indent(&mut self, columns: u16) {
        self.indent = columns.min(self.area.width);
    }

    pub fn row(&mut self, row: &Row) {
        self.joined(row, &[]);
    }

    /// Paints a row followed by more spans; returns its area if it fits.
    pub fn joined(&mut self, row: &Row, more: &[Span]) -> Option<Rect> {
        let mut line = self.next_line()?;
        if self.indent > 0 {
            let gutter = Rect {
                width: self.indent,
                ..line
            };
            blank(cells(gutter, self.buffer), None);
            line.x += self.indent;
            line.width -= self.indent;
        }
        paint_row(row, more, line, self.buffer, self.links, &self.style);
        Some(line)
    }

    /// Leaves cells to the terminal, which paints an image over them.
    pub fn leave(&mut self, cells: Rect) {
        let cells = cells.intersection(self.area);
        for position in cells.positions() {
            self.buffer[position].set_diff_option(CellDiffOption::Skip);
        }
    }

    /// Blanks the rest of the area.
    pub fn finish(mut self) {
        while let Some(line) = self.next_line() {
            blank(cells(line, self.buffer), None);
        }
    }

    fn next_line(&mut self) -> Option<Rect> {
        let y = self.painted;
        self.painted += u16::from(y < self.area.height);
        (y < self.area.height).then(|| Rect {
            y: self.area.y + y,
            height: 1,
            ..self.area
        })
    }
}

fn paint_row(
    row: &Row,
    more: &[Span],
    line: Rect,
    buffer: &mut Buffer,
    links: &Links,
    style: &impl Fn(Face) -> Style,
) {
    let background = row.fill.map(|fill| styled(&Cell::EMPTY, style(fill)));
    let cells = cells(line, buffer);
    blank(cells, background.as_ref());
    let mut background = background.unwrap_or(Cell::EMPTY);
    if row.is_logical {
        bidi::keep_order(&mut background);
    }
    let mut x = 0;
    for span in row.spans.iter().chain(more) {
        let base = styled(&background, style(span.face));
        let mut shown = base.clone();
        if let Some(link) = span.link.as_ref().and_then(|target| links.intern(target)) {
            link.mark(&mut shown);
        }
        if span.text.is_ascii() {
            for byte in span.text.bytes().filter(|byte| !byte.is_ascii_control()) {
                let Some(cell) = cells.get_mut(x) else {
                    return;
                };
                copy_style(cell, &shown);
                cell.set_char(char::from(byte));
                x += 1;
            }
            continue;
        }
        for (_, grapheme) in graphemes(&span.text) {
            let width = grapheme_width(grapheme);
            if width == 0 {
                continue;
            }
            let Some([first, halves @ ..]) = cells.get_mut(x..x + width) else {
                return;
            };
            copy_style(first, &shown);
            first.set_symbol(grapheme);
            blank(halves, Some(&base));
            x += width;
        }
    }
}

/// The appearance of a cell with `style` applied over `ground`.
fn styled(background: &Cell, style: Style) -> Cell {
    let mut cell = background.clone();
    cell.set_style(style);
    cell
}

/// Copies the appearance of a cell, so that styles are computed once per span and not per cell.
fn copy_style(cell: &mut Cell, source: &Cell) {
    cell.fg = source.fg;
    cell.bg = source.bg;
    cell.underline_color = source.underline_color;
    cell.modifier = source.modifier;
}

/// The cells of a line of the buffer.
fn cells(line: Rect, buffer: &mut Buffer) -> &mut [Cell] {
    let width = usize::from(line.width);
    if width == 0 {
        return &mut [];
    }
    let first = buffer.index_of(line.x, line.y);
    &mut buffer.content[first..first + width]
}

fn blank(cells: &mut [Cell], background: Option<&Cell>) {
    for cell in cells {
        cell.reset();
        if let Some(background) = background {
            copy_style(cell, background);
        }
    }
}

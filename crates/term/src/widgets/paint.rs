//! Puts laid-out rows into a buffer.

use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::face::Face;
use crate::frame::Links;
use crate::row::{Row, Span};
use osier_base::text::{grapheme_width, graphemes};

/// Paints `rows` from the top of `area` down. What they cover is replaced; rows that are missing leave
/// the rest of the area blank; what does not fit is cut, wide graphemes whole. Links of spans become
/// numbers of `links`.
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

/// Paints one row below the other.
#[derive(Debug)]
pub struct Painter<'a, S> {
    area: Rect,
    /// Lines that are painted.
    painted: u16,
    buffer: &'a mut Buffer,
    links: &'a Links,
    style: S,
}

impl<'a, S: Fn(Face) -> Style> Painter<'a, S> {
    pub fn new(area: Rect, buffer: &'a mut Buffer, links: &'a Links, style: S) -> Self {
        Self {
            area: area.intersection(buffer.area),
            painted: 0,
            buffer,
            links,
            style,
        }
    }

    /// Rows for which there is room.
    pub fn room(&self) -> usize {
        usize::from(self.area.height - self.painted)
    }

    pub fn row(&mut self, row: &Row) {
        self.joined(row, &[]);
    }

    /// Paints a row with more spans behind its own; where it stands, when there is room.
    pub fn joined(&mut self, row: &Row, more: &[Span]) -> Option<Rect> {
        let line = self.next_line()?;
        paint_row((row, more), line, self.buffer, (self.links, &self.style));
        Some(line)
    }

    /// Leaves cells to the terminal, which paints a picture over them.
    pub fn leave(&mut self, cells: Rect) {
        let cells = cells.intersection(self.area);
        for position in cells.positions() {
            self.buffer[position].set_diff_option(CellDiffOption::Skip);
        }
    }

    /// Leaves the rest of the area blank.
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
    (row, more): (&Row, &[Span]),
    line: Rect,
    buffer: &mut Buffer,
    (links, style): (&Links, &impl Fn(Face) -> Style),
) {
    let ground = row.fill.map(|fill| look(&Cell::EMPTY, style(fill)));
    let cells = cells(line, buffer);
    blank(cells, ground.as_ref());
    let ground = ground.unwrap_or(Cell::EMPTY);
    let mut x = 0;
    for span in row.spans.iter().chain(more) {
        let covered = look(&ground, style(span.face));
        let mut shown = covered.clone();
        if let Some(link) = span.link.as_ref().and_then(|target| links.intern(target)) {
            link.mark(&mut shown);
        }
        if span.text.is_ascii() {
            for byte in span.text.bytes().filter(|byte| !byte.is_ascii_control()) {
                let Some(cell) = cells.get_mut(x) else {
                    return;
                };
                wear(cell, &shown);
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
            wear(first, &shown);
            first.set_symbol(grapheme);
            blank(halves, Some(&covered));
            x += width;
        }
    }
}

/// What a cell that looks like `ground` looks like with `style` on it.
fn look(ground: &Cell, style: Style) -> Cell {
    let mut cell = ground.clone();
    cell.set_style(style);
    cell
}

/// Gives a cell the looks of another. Styles are worked out once a span, not once a cell.
fn wear(cell: &mut Cell, looks: &Cell) {
    cell.fg = looks.fg;
    cell.bg = looks.bg;
    cell.underline_color = looks.underline_color;
    cell.modifier = looks.modifier;
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

fn blank(cells: &mut [Cell], ground: Option<&Cell>) {
    for cell in cells {
        cell.reset();
        if let Some(ground) = ground {
            wear(cell, ground);
        }
    }
}

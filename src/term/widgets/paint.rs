//! Puts laid-out rows into a buffer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::base::text::{grapheme_width, graphemes};
use crate::term::face::Face;
use crate::term::frame::Links;
use crate::term::row::Row;

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
    let area = area.intersection(buffer.area);
    for y in 0..area.height {
        let line = Rect {
            y: area.y + y,
            height: 1,
            ..area
        };
        match rows.get(usize::from(y)) {
            Some(row) => paint_row(row, line, buffer, (links, &style)),
            None => blank(line, buffer, Style::default()),
        }
    }
}

fn paint_row(
    row: &Row,
    line: Rect,
    buffer: &mut Buffer,
    (links, style): (&Links, &impl Fn(Face) -> Style),
) {
    let fill = row.fill.map(style).unwrap_or_default();
    blank(line, buffer, fill);
    let mut x = line.x;
    for span in &row.spans {
        let face = style(span.face);
        let link = span.link.as_ref().and_then(|target| links.intern(target));
        if span.text.is_ascii() {
            for byte in span.text.bytes().filter(|byte| !byte.is_ascii_control()) {
                if x >= line.right() {
                    return;
                }
                let cell = &mut buffer[(x, line.y)];
                cell.set_char(char::from(byte)).set_style(face);
                if let Some(link) = link {
                    link.mark(cell);
                }
                x += 1;
            }
            continue;
        }
        for (_, grapheme) in graphemes(&span.text) {
            let width = grapheme_width(grapheme) as u16;
            if width == 0 {
                continue;
            }
            if x + width > line.right() {
                return;
            }
            let cell = &mut buffer[(x, line.y)];
            cell.set_symbol(grapheme).set_style(face);
            if let Some(link) = link {
                link.mark(cell);
            }
            for covered in x + 1..x + width {
                buffer[(covered, line.y)].reset();
                buffer[(covered, line.y)].set_style(face);
            }
            x += width;
        }
    }
}

fn blank(line: Rect, buffer: &mut Buffer, style: Style) {
    for x in line.left()..line.right() {
        let cell = &mut buffer[(x, line.y)];
        cell.reset();
        cell.set_style(style);
    }
}

//! Rows into cells. Everything that `area` covers is written, so nothing of an earlier frame stays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::base::text;
use crate::term::face::Face;
use crate::term::row::Row;
use crate::term::wrap::clusters;

/// Paints `rows` from the top of `area`; the cells below the last row are emptied. What is too wide is cut,
/// a wide cluster at the edge as a whole.
pub fn paint_rows(rows: &[Row], area: Rect, buffer: &mut Buffer, style: impl Fn(Face) -> Style) {
    let area = area.intersection(buffer.area);
    for line in 0..area.height {
        let rest = Rect {
            y: area.y + line,
            height: 1,
            ..area
        };
        match rows.get(usize::from(line)) {
            Some(row) => paint_row(row, rest, buffer, &style),
            None => blank(rest.x, rest, buffer, Style::default()),
        }
    }
}

fn paint_row(row: &Row, area: Rect, buffer: &mut Buffer, style: &impl Fn(Face) -> Style) {
    let mut x = area.x;
    'spans: for span in &row.spans {
        let face = style(span.face);
        for (_, cluster, width) in clusters(&span.text) {
            let width = width as u16;
            if width == 0 {
                continue;
            }
            if x + width > area.right() {
                break 'spans;
            }
            let cell = &mut buffer[(x, area.y)];
            cell.reset();
            cell.set_symbol(cluster).set_style(face);
            if width == 2 {
                // The second half is hidden by the first.
                buffer[(x + 1, area.y)].reset();
            }
            x += width;
        }
    }
    let fill = row.fill.map(style).unwrap_or_default();
    blank(x, area, buffer, fill);
}

/// Empties the cells from column `from` to the right edge.
fn blank(from: u16, area: Rect, buffer: &mut Buffer, style: Style) {
    for x in from..area.right() {
        let cell = &mut buffer[(x, area.y)];
        cell.reset();
        cell.set_style(style);
    }
}

/// Column at which a byte offset of a row's text stands; for a cursor or a selection.
pub fn column_of(row: &Row, byte: usize) -> usize {
    let mut left = byte;
    let mut column = 0;
    for span in &row.spans {
        let end = span.text.floor_char_boundary(left.min(span.text.len()));
        column += text::width(&span.text[..end]);
        left -= end;
        if end < span.text.len() {
            break;
        }
    }
    column
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;
    use crate::term::face::Token;
    use crate::term::row::Span;

    fn style(face: Face) -> Style {
        match face.token {
            Token::Code => Style::new().fg(Color::Red),
            Token::User => Style::new().bg(Color::Blue),
            _ => Style::default(),
        }
    }

    #[test]
    fn rows_replace_what_was_there() {
        let mut buffer = Buffer::with_lines(["xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx"]);
        let mut first = Row::new(vec![
            Span::new("a", Token::Text),
            Span::new("漢", Token::Code),
        ]);
        first.fill = Some(Token::User.into());
        let rows = [
            first,
            Row::plain("toolong漢", Token::Text),
            Row::plain("abcde漢", Token::Text),
        ];
        paint_rows(&rows, Rect::new(1, 0, 6, 4), &mut buffer, style);
        let mut expected = Buffer::with_lines(["xa漢   x", "xtoolonx", "xabcde x", "x      x"]);
        expected.set_style(Rect::new(2, 0, 1, 1), Style::new().fg(Color::Red));
        expected.set_style(Rect::new(4, 0, 3, 1), Style::new().bg(Color::Blue));
        assert_eq!(buffer, expected);
    }

    #[test]
    fn an_area_beyond_the_buffer_is_cut() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        let rows = [
            Row::plain("abcdef", Token::Text),
            Row::plain("x", Token::Text),
        ];
        paint_rows(&rows, Rect::new(1, 0, 9, 9), &mut buffer, style);
        assert_eq!(buffer, Buffer::with_lines([" ab"]));
    }

    #[test]
    fn columns_count_cells() {
        let row = Row::new(vec![
            Span::new("漢a", Token::Text),
            Span::new("bc", Token::Code),
        ]);
        assert_eq!(
            [0, 3, 4, 5, 9].map(|byte| column_of(&row, byte)),
            [0, 2, 3, 4, 5]
        );
    }
}

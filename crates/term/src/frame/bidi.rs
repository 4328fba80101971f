//! Shows right-to-left text on terminals that show cells in the order in which they get them.
//!
//! Everything above this module knows only the logical order. When a frame is complete, the cells of each row with
//! right-to-left text change places, the cursor with them; a click is translated back. Frames, borders and gutters stay where
//! they are: the text between them is reordered as a paragraph of its own, with the direction of its first letter.

use std::collections::BTreeMap;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Color;
use unicode_bidi::{BidiClass, BidiInfo, Level, bidi_class};

use super::glyph::{self, glyph};

/// For each reordered row, the logical column of each column.
pub(super) type Reordered = BTreeMap<u16, Vec<u16>>;

/// The underline colour of text that keeps its order. Like that of a link, it is not shown.
const LOGICAL: Color = Color::Black;

/// Blanks that separate columns of text.
const GAP: usize = 3;

/// Pairs of characters that look like each other from the other side.
const MIRRORED: [(&str, &str); 9] = [
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<", ">"),
    ("«", "»"),
    ("‹", "›"),
    ("≤", "≥"),
    ("「", "」"),
    ("（", "）"),
];

/// Puts the cells of rows with right-to-left text in visual order. The cell at `cursor` belongs to the text before it.
pub(super) fn reorder(buffer: &mut Buffer, cursor: Option<(u16, u16)>) -> Reordered {
    let width = usize::from(buffer.area.width);
    let mut reordered = Reordered::new();
    if width == 0 {
        return reordered;
    }
    for (index, row) in buffer.content.chunks_mut(width).enumerate() {
        if !row.iter().any(is_right_to_left) || row.iter().any(keeps_order) {
            continue;
        }
        let index = index as u16;
        let cursor = cursor.filter(|(_, at)| *at == index);
        let order = visual_order(row, cursor.map(|(column, _)| usize::from(column)));
        let cells: Vec<Cell> = order
            .iter()
            .map(|column| row[usize::from(*column)].clone())
            .collect();
        row.clone_from_slice(&cells);
        reordered.insert(index, order);
    }
    reordered
}

/// Keeps the row of the cell in logical order.
pub(crate) fn keep_order(cell: &mut Cell) {
    cell.underline_color = LOGICAL;
}

fn keeps_order(cell: &Cell) -> bool {
    cell.underline_color == LOGICAL
}

fn is_right_to_left(cell: &Cell) -> bool {
    let symbol = cell.symbol();
    symbol.len() > 1 && symbol.chars().next().is_some_and(is_strong)
}

fn is_strong(char: char) -> bool {
    char >= '\u{590}' && matches!(bidi_class(char), BidiClass::R | BidiClass::AL)
}

/// Signs of the interface, which are no part of the text next to them.
fn is_separator(cell: &Cell) -> bool {
    let first = cell.symbol().chars().next();
    glyph::is_skipped(cell)
        || first.is_some_and(
            |char| matches!(char, '•' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{27bf}'),
        )
}

/// The logical column that each column shows. Mirrors brackets in `row`.
fn visual_order(row: &mut [Cell], cursor: Option<usize>) -> Vec<u16> {
    let mut order: Vec<u16> = (0..row.len() as u16).collect();
    let mut start = 0;
    while start < row.len() {
        if is_separator(&row[start]) || row[start].symbol() == " " {
            start += 1;
            continue;
        }
        let end = text_end(row, start, cursor);
        if row[start..end].iter().any(is_right_to_left) {
            reorder_text(row, start, end, &mut order);
        }
        start = end;
    }
    order
}

/// The end of the text that starts at `start`: before a sign of the interface, or a gap. The cursor after the text is its end.
fn text_end(row: &[Cell], start: usize, cursor: Option<usize>) -> usize {
    let (mut end, mut at) = (start + 1, start + 1);
    while at < row.len() && !is_separator(&row[at]) && at - end < GAP {
        at += 1;
        if row[at - 1].symbol() != " " {
            end = at;
        }
    }
    // The second half of a wide character is a blank.
    if end < row.len() && glyph(row, end - 1).1 == 2 {
        end += 1;
    }
    match cursor {
        Some(cursor) if (end..=at).contains(&cursor) && cursor < row.len() => cursor + 1,
        _ => end,
    }
}

fn reorder_text(row: &mut [Cell], start: usize, end: usize, order: &mut [u16]) {
    // Each glyph with its first column and its byte in the text.
    let (mut text, mut glyphs) = (String::new(), Vec::new());
    let mut column = start;
    while column < end {
        let (symbol, width) = glyph(row, column);
        glyphs.push((column, width.min(end - column), text.len()));
        text.push_str(symbol);
        column += width;
    }
    // A line break would be another paragraph; glyphs have none.
    let info = BidiInfo::new(&text, None);
    let levels: Vec<Level> = glyphs.iter().map(|(.., byte)| info.levels[*byte]).collect();
    let mut to = start;
    for index in BidiInfo::reorder_visual(&levels) {
        let (from, width, _) = glyphs[index];
        for offset in 0..width {
            order[to + offset] = (from + offset) as u16;
        }
        if levels[index].is_rtl() {
            mirror(&mut row[from]);
        }
        to += width;
    }
}

fn mirror(cell: &mut Cell) {
    let symbol = cell.symbol();
    let pair = MIRRORED.iter().find_map(|(open, close)| match symbol {
        _ if symbol == *open => Some(*close),
        _ if symbol == *close => Some(*open),
        _ => None,
    });
    if let Some(other) = pair {
        cell.set_symbol(other);
    }
}

/// Where a logical column is shown.
pub(super) fn shown_column(reordered: &Reordered, column: u16, row: u16) -> u16 {
    let order = reordered.get(&row);
    let shown = order.and_then(|order| order.iter().position(|logical| *logical == column));
    shown.map_or(column, |shown| shown as u16)
}

/// The logical column that is shown at a column.
pub(super) fn logical_column(reordered: &Reordered, column: u16, row: u16) -> u16 {
    let order = reordered.get(&row);
    let logical = order.and_then(|order| order.get(usize::from(column)));
    logical.copied().unwrap_or(column)
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    /// The row as shown, and where the cursor at `cursor` is shown.
    fn shown(text: &str, cursor: Option<u16>) -> (String, Option<u16>) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
        buffer.set_string(0, 0, text, Style::new());
        let reordered = reorder(&mut buffer, cursor.map(|column| (column, 0)));
        let row: String = buffer.content.iter().map(Cell::symbol).collect();
        let cursor = cursor.map(|column| shown_column(&reordered, column, 0));
        (row.trim_end().to_owned(), cursor)
    }

    #[test]
    fn text_between_signs_is_in_visual_order() {
        for (text, expected) in [
            ("only left to right", "only left to right"),
            ("שלום", "םולש"),
            ("abc שלום 123 def", "abc 123 םולש def"),
            ("שלום abc 123", "abc 123 םולש"),
            ("│ שלום │ עולם │", "│ םולש │ םלוע │"),
            ("• אב (גד)", "• (דג) בא"),
            ("אב      גד", "בא      דג"),
            ("漢 אב", "漢  בא"),
        ] {
            assert_eq!(shown(text, None).0, expected, "{text}");
        }
    }

    #[test]
    fn a_row_that_keeps_its_order_is_not_changed() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
        buffer.set_string(0, 0, "$ rm א ; cp ב ג", Style::new());
        keep_order(&mut buffer[(3, 0)]);
        let before = buffer.clone();
        assert_eq!(reorder(&mut buffer, None), Reordered::new());
        assert_eq!(buffer, before);
    }

    #[test]
    fn the_cursor_moves_with_its_cell() {
        // On the first letter, and after the last one.
        assert_eq!(shown("❯ אבג", Some(2)), ("❯ גבא".to_owned(), Some(4)));
        assert_eq!(shown("❯ אבג", Some(5)), ("❯  גבא".to_owned(), Some(2)));
        assert_eq!(shown("❯ ab אב", Some(7)), ("❯ ab בא".to_owned(), Some(7)));
    }

    #[test]
    fn a_click_is_translated_back() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 2));
        buffer.set_string(0, 1, "│ אבג", Style::new());
        let reordered = reorder(&mut buffer, None);
        let columns = (0..6).map(|column| logical_column(&reordered, column, 1));
        assert_eq!(columns.collect::<Vec<_>>(), [0, 1, 4, 3, 2, 5]);
        assert_eq!(logical_column(&reordered, 3, 0), 3);
    }
}

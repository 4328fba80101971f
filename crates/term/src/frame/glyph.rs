//! The appearance of cells on a terminal: which cell starts a glyph, how wide it is, and whether
//! two cells look the same. Shared by the encoder and the scroll detection.

use ratatui::buffer::{Cell, CellDiffOption};
use ratatui::style::Color;

use super::link::LinkId;
use super::rendition::{VISIBLE_ON_BLANK, ansi_number};
use osier_base::text;

/// The visible symbol of the cell at `column` and its width (1 or 2), without characters that cannot be seen. A control
/// character is shown as a blank, and so is a wide symbol whose second half is covered by an overlay or cut by the
/// right edge.
pub(super) fn glyph(row: &[Cell], column: usize) -> (&str, usize) {
    let symbol = row[column].symbol();
    if let [byte] = symbol.as_bytes() {
        return if byte.is_ascii_control() {
            (" ", 1)
        } else {
            (symbol, 1)
        };
    }
    let seen = symbol.find(is_unseen).unwrap_or(symbol.len());
    let symbol = &symbol[..seen];
    match text::grapheme_width(symbol) {
        1 => (symbol, 1),
        2 if row.get(column + 1).is_some_and(is_second_half) => (symbol, 2),
        _ => (" ", 1),
    }
}

/// A terminal may act on it, or read a word from it that nobody sees.
fn is_unseen(char: char) -> bool {
    char.is_control() || text::is_invisible(char)
}

fn is_second_half(cell: &Cell) -> bool {
    cell.symbol() == " " && !is_skipped(cell)
}

/// Whether the edge left of `column` cuts a wide glyph.
pub(crate) fn is_cut_at(row: &[Cell], column: usize) -> bool {
    column > 0 && column < row.len() && glyph(row, column - 1).1 == 2
}

/// Maximum number of columns that any terminal uses for a glyph.
const MAX_COLUMNS: usize = 16;

/// The maximum number of columns of a glyph whose width differs between terminals; `None` if all
/// agree. Terminals without support for a cluster draw its characters side by side, or only the
/// first.
pub(super) fn uncertain_columns(symbol: &str, width: usize) -> Option<usize> {
    if symbol.len() <= 2 {
        return None;
    }
    let mut chars = symbol.chars();
    let first = chars.next()?;
    let Some(second) = chars.next() else {
        return is_newer_emoji(first).then_some(2);
    };
    let selects = matches!(second, '\u{fe00}'..='\u{fe0f}' | '\u{200d}');
    if width < 2 && !selects {
        return None;
    }
    let mut bytes = [0; 4];
    let columns = |character: char| text::grapheme_width(character.encode_utf8(&mut bytes));
    let separate: usize = symbol.chars().map(columns).sum();
    Some(separate.clamp(2, MAX_COLUMNS))
}

/// Emoji from Unicode 11 and later, which older terminals draw in one column.
fn is_newer_emoji(character: char) -> bool {
    matches!(character,
        '\u{1f6d5}'..='\u{1f6df}' | '\u{1f6f7}'..='\u{1f6ff}' | '\u{1f7e0}'..='\u{1f7ff}'
        | '\u{1f900}'..='\u{1f90f}' | '\u{1f93f}' | '\u{1f94d}'..='\u{1f94f}'
        | '\u{1f96c}'..='\u{1f97f}' | '\u{1f998}'..='\u{1f9bf}' | '\u{1f9c1}'..='\u{1f9cf}'
        | '\u{1f9e7}'..='\u{1faff}')
}

/// Whether the terminal draws an image in this cell. The encoder does not touch such cells.
pub(crate) fn is_skipped(cell: &Cell) -> bool {
    cell.diff_option == CellDiffOption::Skip
}

/// Whether the cell is a blank that shows only its background.
pub(super) fn is_plain_blank(cell: &Cell) -> bool {
    cell.symbol() == " "
        && !cell.modifier.intersects(VISIBLE_ON_BLANK)
        && LinkId::of(cell).is_none()
}

/// Whether erasing with the default background produces this cell.
pub(super) fn is_default_blank(cell: &Cell) -> bool {
    cell.bg == Color::Reset && is_plain_blank(cell)
}

/// Whether two rows have equal cells. Every frame compares every cell of the screen; nearly all
/// hold one byte and are equal, so this path must be fast.
pub(crate) fn same_row(a: &[Cell], b: &[Cell]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_cell(a, b))
}

#[expect(
    clippy::inline_always,
    reason = "called for every cell of every frame, and the program is compiled for size"
)]
#[inline(always)]
pub(crate) fn same_cell(a: &Cell, b: &Cell) -> bool {
    let same_symbol = match (a.symbol().as_bytes(), b.symbol().as_bytes()) {
        ([a], [b]) => a == b,
        (a, b) => a == b,
    };
    same_symbol
        && a.fg == b.fg
        && a.bg == b.bg
        && a.modifier == b.modifier
        && a.underline_color == b.underline_color
        && a.diff_option == b.diff_option
}

/// Whether two glyphs look the same.
pub(super) fn looks_same(a: (&Cell, &str), b: (&Cell, &str)) -> bool {
    if a.1 != b.1 || a.0.bg != b.0.bg || is_skipped(a.0) != is_skipped(b.0) {
        return false;
    }
    let same_style = a.0.fg == b.0.fg
        && a.0.modifier == b.0.modifier
        && a.0.underline_color == b.0.underline_color;
    same_style || (a.1 == " " && shows_only_background(a.0) && shows_only_background(b.0))
}

fn shows_only_background(cell: &Cell) -> bool {
    !cell.modifier.intersects(VISIBLE_ON_BLANK) && LinkId::of(cell).is_none()
}

/// Collects the columns of `next` to write where `previous` is shown, in order. Only starts of
/// glyphs.
pub(super) fn changed_columns(previous: &[Cell], next: &[Cell], changed: &mut Vec<u16>) {
    changed.clear();
    let differs = |column: &usize| !same_cell(&previous[*column], &next[*column]);
    let width = previous.len().min(next.len());
    let Some(first) = (0..width).find(differs) else {
        return;
    };
    let last = (first..width).rev().find(differs).unwrap_or(first);
    // Columns before this one may be damaged by a glyph of uncertain width.
    let mut damaged_end = 0;
    let mut column = first.saturating_sub(1);
    // Include one cell more on each side, for the halves of wide glyphs that appear or disappear.
    let (mut in_previous, mut in_next) = (false, false);
    while column < (last + 2).max(damaged_end).min(width) {
        let (old, old_width) = if in_previous {
            (" ", 0)
        } else {
            glyph(previous, column)
        };
        let (new, new_width) = if in_next {
            (" ", 0)
        } else {
            glyph(next, column)
        };
        let same = column >= damaged_end
            && old_width == new_width
            && looks_same((&previous[column], old), (&next[column], new));
        if new_width > 0 && !is_skipped(&next[column]) && !same {
            changed.push(column as u16);
            if let Some(columns) = uncertain_columns(new, new_width) {
                damaged_end = damaged_end.max(column + columns);
            }
        }
        in_previous = old_width == 2;
        in_next = new_width == 2;
        column += 1;
    }
}

/// A hash of the appearance of a row.
pub(crate) fn row_hash(row: &[Cell]) -> u64 {
    row.iter().fold(0xcbf2_9ce4_8422_2325, |hash, cell| {
        if is_default_blank(cell) && !is_skipped(cell) {
            return mix(hash, 1);
        }
        let hash = cell
            .symbol()
            .as_bytes()
            .chunks(8)
            .fold(hash, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(hash, u64::from_le_bytes(word))
            });
        let hash = mix(hash, u64::from(cell.modifier.bits()));
        let hash = mix(hash, colour_bits(cell.fg) << 32 | colour_bits(cell.bg));
        mix(hash, colour_bits(cell.underline_color))
    })
}

/// Number of cells that show more than a background.
pub(crate) fn visible_cells(row: &[Cell]) -> i64 {
    row.iter()
        .map(|cell| i64::from(!is_plain_blank(cell)))
        .sum()
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

fn colour_bits(colour: Color) -> u64 {
    match colour {
        Color::Reset => 0,
        Color::Indexed(index) => 0x100 | u64::from(index),
        Color::Rgb(red, green, blue) => {
            0x0100_0000 | u64::from(u32::from_be_bytes([0, red, green, blue]))
        }
        named => 0x200 | ansi_number(named).map_or(0xff, u64::from),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;

    fn row(text: &str) -> Vec<Cell> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
        buffer.set_string(0, 0, text, Style::new());
        buffer.content
    }

    fn changed(previous: &[Cell], next: &[Cell]) -> Vec<u16> {
        let mut columns = Vec::new();
        changed_columns(previous, next, &mut columns);
        columns
    }

    #[test]
    fn halves_of_wide_glyphs_are_rewritten() {
        assert_eq!(changed(&row("漢字"), &row("漢x")), [2, 3]);
        assert_eq!(changed(&row("ab"), &row("漢")), [0]);
        assert_eq!(changed(&row("x漢"), &row("漢")), [0, 2]);
        assert_eq!(changed(&row("abc"), &row("abc")), [0; 0]);
    }

    #[test]
    fn cells_after_uncertain_glyphs_are_rewritten() {
        let family = "👩\u{200d}👧";
        let next = format!("{family}cdef");
        assert_eq!(changed(&row("abcdef"), &row(&next)), [0, 2, 3]);
        assert_eq!(changed(&row(&format!("{family}cdeg")), &row(&next)), [5]);
        for (symbol, width, columns) in [
            ("a", 1, None),
            ("漢", 2, None),
            ("🦀", 2, None),
            ("e\u{301}", 1, None),
            ("🫠", 2, Some(2)),
            ("❤\u{fe0f}", 2, Some(2)),
            ("🇩🇪", 2, Some(2)),
            ("👩\u{200d}👩\u{200d}👧", 2, Some(6)),
        ] {
            assert_eq!(uncertain_columns(symbol, width), columns, "{symbol}");
        }
    }

    #[test]
    fn blank_shows_only_its_background() {
        let mut next = row("");
        next[3].set_fg(Color::Red);
        assert_eq!(changed(&row(""), &next), [0; 0]);
        next[3].set_bg(Color::Red);
        assert_eq!(changed(&row(""), &next), [3]);
    }

    #[test]
    fn cut_wide_glyphs_and_control_characters_are_blank() {
        let mut cells = row("abcdefg");
        cells[7].set_symbol("漢");
        cells[0].set_symbol("\x1b[2J");
        cells[2].set_symbol("漢");
        for column in [0, 2, 7] {
            assert_eq!(glyph(&cells, column), (" ", 1), "{column}");
        }
    }

    #[test]
    fn characters_that_cannot_be_seen_are_not_written() {
        for (symbol, shown) in [
            ("\u{2028}", " "),
            ("a\u{e0041}\u{e0042}", "a"),
            ("e\u{301}\u{202e}", "e\u{301}"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
        ] {
            let mut cells = row("");
            cells[0].set_symbol(symbol);
            assert_eq!(glyph(&cells, 0).0, shown, "{symbol:?}");
        }
    }
}

//! Output for screen readers: removes decorative glyphs and puts the real cursor on the selected
//! item.
//!
//! Works on a finished frame. On the main screen cells keep their positions, so that mouse clicks
//! still match; only the text behind a separator moves by one cell. Overlays need no fixed
//! positions: there, empty rows and the common indent are removed too, so that every list starts at
//! the first column.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use osier_base::text::grapheme_width;

/// Marks selected cells. Set by the theme and removed before the frame is written.
pub(crate) const SELECTION_MARK: Modifier = Modifier::RAPID_BLINK;

/// Width of an overlay: narrow enough that nothing is shown side by side.
pub const OVERLAY_COLUMNS: u16 = 80;

/// Meaningful symbols and their ASCII replacements.
const SYMBOLS: &[(&str, &str)] = &[
    ("•", "-"),
    ("◦", "-"),
    ("▪", "-"),
    ("›", ">"),
    ("‹", "<"),
    ("❯", ">"),
    ("▸", ">"),
    ("‖", "="),
    ("▶", ">"),
    ("◀", "<"),
    ("◂", "<"),
    ("←", "<"),
    ("→", ">"),
    ("↑", "^"),
    ("↓", "v"),
    ("✓", "+"),
    ("✗", "x"),
    ("☑", "x"),
    ("☐", "-"),
    ("●", "*"),
    ("◆", "*"),
    ("○", "o"),
    ("◐", "~"),
    ("■", "#"),
    ("≡", " "),
    ("⊞", "+"),
    ("⋮", " "),
    ("⋯", " "),
    ("▣", " "),
    ("⚙", " "),
    ("✎", "\""),
    ("↺", " "),
];

/// The ASCII replacement for a symbol; `None` if the symbol stays.
fn ascii_replacement(symbol: &str) -> Option<&'static str> {
    let first = symbol.chars().next()?;
    if first.is_ascii() {
        return None;
    }
    // Lines and boxes, blocks, Braille.
    if matches!(first, '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}') {
        return Some(" ");
    }
    let known = SYMBOLS.iter().find(|(known, _)| *known == symbol);
    known.map(|(_, ascii)| *ascii)
}

/// Removes the decoration from a frame without moving any cell. Returns the first selected cell in
/// `area`.
pub fn strip(buffer: &mut Buffer, area: Rect) -> Option<Position> {
    let mut selected = None;
    let screen = buffer.area;
    for y in screen.top()..screen.bottom() {
        replace_tree_lines(buffer, y);
        replace_table_lines(buffer, y);
        replace_dots(buffer, y, area.top() <= y && y < area.bottom());
        replace_checks(buffer, y);
        replace_arrows(buffer, y);
    }
    for position in screen.positions() {
        let cell = &mut buffer[position];
        if let Some(ascii_replacement) = ascii_replacement(cell.symbol()) {
            cell.set_symbol(ascii_replacement);
        }
        if cell.modifier.contains(SELECTION_MARK) {
            cell.modifier -= SELECTION_MARK;
            if area.contains(position) {
                selected.get_or_insert(position);
            }
        }
    }
    selected
}

/// Cells per tree level.
const LEVEL_WIDTH: u16 = 4;

/// Replaces the lines of a tree branch with its level: `├── a` becomes `1:  a`, and its child
/// becomes `2:  b`.
fn replace_tree_lines(buffer: &mut Buffer, y: u16) {
    let area = buffer.area;
    let is = |x: u16, symbols: &str| {
        x < area.right()
            && !buffer[(x, y)].symbol().is_empty()
            && symbols.contains(buffer[(x, y)].symbol())
    };
    let Some(branch) = (area.left()..area.right()).find(|x| !is(*x, "│┃| \u{a0}")) else {
        return;
    };
    // In an ASCII tree the branch is one of the bars.
    let drawn = is(branch, "├└╰┣┗")
        && is(branch + 1, "─━")
        && is(branch + 2, "─━")
        && is(branch + 3, " \u{a0}");
    let typed = is(branch, "`") || (branch > area.left() && is(branch, "-"));
    let (start, is_branch) = match (drawn, typed) {
        (true, _) => (branch, true),
        (_, true) if is(branch, "-") => {
            let bar = branch - 1;
            (
                bar,
                is(bar, "|") && is(branch + 1, "-") && is(branch + 2, " \u{a0}"),
            )
        }
        (_, true) => (
            branch,
            is(branch + 1, "-") && is(branch + 2, "-") && is(branch + 3, " \u{a0}"),
        ),
        _ => return,
    };
    if !is_branch {
        return;
    }
    let level = (start - area.left()) / LEVEL_WIDTH + 1;
    for x in area.left()..start {
        buffer[(x, y)].set_symbol(" ");
    }
    for (x, sign) in (start..start + LEVEL_WIDTH - 1).zip(format!("{level}:  ").chars()) {
        buffer[(x, y)].set_char(sign);
    }
}

/// Replaces the vertical line between two cells of a table row with a comma.
fn replace_table_lines(buffer: &mut Buffer, y: u16) {
    let area = buffer.area;
    let bars: Vec<u16> = (area.left()..area.right())
        .filter(|x| matches!(buffer[(*x, y)].symbol(), "│" | "┃" | "║"))
        .collect();
    let has_text = |from: u16, to: u16| {
        (from + 1..to).any(|x| buffer[(x, y)].symbol().chars().any(char::is_alphanumeric))
    };
    let between: Vec<u16> = bars
        .windows(3)
        .filter(|bars| has_text(bars[0], bars[1]) && has_text(bars[1], bars[2]))
        .map(|bars| bars[1])
        .collect();
    for x in between {
        set_comma(buffer, x, y);
    }
}

/// Replaces the dots between parts of a row with commas. A dot with nothing close behind it is a mark of the text
/// before it and separates nothing. With `moves`, the text behind a comma moves next to it.
fn replace_dots(buffer: &mut Buffer, y: u16, moves: bool) {
    let right = buffer.area.right();
    for x in buffer.area.left()..right {
        if buffer[(x, y)].symbol() != "·" {
            continue;
        }
        if (x + 1..right.min(x + 4)).all(|x| is_empty(buffer, x, y)) {
            buffer[(x, y)].set_symbol(" ");
            continue;
        }
        set_comma(buffer, x, y);
        let has_comma = x > buffer.area.left() && buffer[(x - 1, y)].symbol() == ",";
        if moves && has_comma && is_empty(buffer, x + 1, y) {
            close_gap(buffer, x, y);
        }
    }
}

/// Whether nothing is to be read in a cell: also a rule and the border of a box.
fn is_empty(buffer: &Buffer, x: u16, y: u16) -> bool {
    let is_line =
        |symbol: &str| matches!(symbol.chars().next(), Some(' ' | '\u{2500}'..='\u{257f}'));
    x >= buffer.area.right() || is_line(buffer[(x, y)].symbol())
}

/// Removes the blank cell `x`: the text behind it moves, up to the next gap between columns.
fn close_gap(buffer: &mut Buffer, x: u16, y: u16) {
    let right = buffer.area.right();
    let is_gap = |at: &u16| is_empty(buffer, *at, y) && is_empty(buffer, at + 1, y);
    let end = (x + 1..right).find(is_gap).unwrap_or(right - 1);
    for at in x..end {
        buffer[(at, y)] = buffer[(at + 1, y)].clone();
    }
    buffer[(end, y)].set_symbol(" ");
}

/// Replaces the check marks in the columns of a list with a word.
fn replace_checks(buffer: &mut Buffer, y: u16) {
    let (left, right) = (buffer.area.left(), buffer.area.right());
    for x in left..right {
        let is_column = buffer[(x, y)].symbol() == "✓"
            && x >= left + 2
            && (x - 2..x).all(|x| is_empty(buffer, x, y))
            && (x + 1..x + 4).all(|x| is_empty(buffer, x, y));
        if is_column && x + 2 < right {
            for (at, letter) in (x..).zip(["y", "e", "s"]) {
                buffer[(at, y)].set_symbol(letter);
            }
        }
    }
}

/// Keys that are arrows, and their words.
const ARROWS: [(&str, &str); 4] = [
    ("←→", "left or right"),
    ("↑↓", "up or down"),
    ("↑", "up"),
    ("↓", "down"),
];

/// Replaces the arrows of keys with words. The text behind them moves, if the row has room for it.
fn replace_arrows(buffer: &mut Buffer, y: u16) {
    let (left, right) = (buffer.area.left(), buffer.area.right());
    let symbols = |buffer: &Buffer, x: u16, count: u16| -> String {
        (x..right.min(x + count))
            .map(|x| buffer[(x, y)].symbol())
            .collect()
    };
    let mut x = left;
    while x < right {
        let is_alone = |end: u16| {
            (x == left || is_empty(buffer, x - 1, y)) && (end >= right || is_empty(buffer, end, y))
        };
        let found = ARROWS.iter().find_map(|(arrows, word)| {
            let count = arrows.chars().count() as u16;
            let is_here = symbols(buffer, x, count) == *arrows && is_alone(x + count);
            is_here.then_some((count, *word))
        });
        let Some((count, word)) = found else {
            x += 1;
            continue;
        };
        let more = (word.len() as u16).saturating_sub(count);
        let is_free = (right.saturating_sub(more)..right).all(|x| is_empty(buffer, x, y));
        if !is_free || x + count + more > right {
            x += count;
            continue;
        }
        for at in (x + count..right - more).rev() {
            buffer[(at + more, y)] = buffer[(at, y)].clone();
        }
        for (at, letter) in (x..x + count + more).zip(word.chars()) {
            buffer[(at, y)].set_char(letter);
        }
        x += count + more;
    }
}

/// Replaces a separator with a comma, directly behind the text to its left. Without text to its
/// left, there is no comma.
fn set_comma(buffer: &mut Buffer, separator: u16, y: u16) {
    buffer[(separator, y)].set_symbol(" ");
    let text = (buffer.area.left()..separator).rfind(|x| buffer[(*x, y)].symbol() != " ");
    let Some(text) = text else { return };
    let symbol = buffer[(text, y)].symbol();
    let behind = text + grapheme_width(symbol).max(1) as u16;
    if ascii_replacement(symbol) != Some(" ") && behind <= separator {
        buffer[(behind, y)].set_symbol(",");
    }
}

/// Moves the painted content of an overlay to the top left and removes empty rows. Updates
/// `positions` accordingly.
pub fn compact(buffer: &mut Buffer, positions: &mut [Option<Position>]) {
    let area = buffer.area;
    let is_blank = |cell: &Cell| cell.symbol() == " ";
    let first =
        |buffer: &Buffer, y: u16| (area.left()..area.right()).find(|x| !is_blank(&buffer[(*x, y)]));
    let used_rows: Vec<u16> = (area.top()..area.bottom())
        .filter(|y| first(buffer, *y).is_some() || positions.iter().flatten().any(|at| at.y == *y))
        .collect();
    let starts = used_rows.iter().filter_map(|y| first(buffer, *y));
    let indent = starts.min().unwrap_or(area.x) - area.x;
    let painted = buffer.clone();
    buffer.reset();
    for (row, y) in used_rows.iter().enumerate() {
        for x in area.left() + indent..area.right() {
            buffer[(x - indent, area.y + row as u16)] = painted[(x, *y)].clone();
        }
        for at in positions.iter_mut().flatten().filter(|at| at.y == *y) {
            *at = Position {
                x: at.x.saturating_sub(indent),
                y: area.y + row as u16,
            };
        }
    }
}

/// The first alphanumeric cell from `at` on, where a screen reader starts to read.
pub fn first_alphanumeric(buffer: &Buffer, at: Position) -> Position {
    let row = at.x..buffer.area.right();
    let has_text = |x: &u16| {
        let symbol = buffer[(*x, at.y)].symbol();
        grapheme_width(symbol) > 0 && symbol.chars().any(char::is_alphanumeric)
    };
    Position {
        x: row.clone().find(has_text).unwrap_or(at.x),
        ..at
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    fn lines(buffer: &Buffer) -> Vec<String> {
        let rows = buffer.content.chunks(usize::from(buffer.area.width));
        let text = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
        text.map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn tree_lines_become_levels_and_table_lines_become_commas() {
        let mut buffer = Buffer::with_lines([
            ".",
            "├── src",
            "│   ├── main.rs",
            "│   └── a",
            "│       └── b.rs",
            "└── Cargo.toml",
            "|-- src",
            "|   `-- main.rs",
            "┌─────┬────┐",
            "│ a   │ b  │",
            "├─────┼────┤",
            "│ 1   │    │",
            "└─────┴────┘",
            "│ │ in │ box │ │",
            "│ a quote │",
            "- | a",
            "gpt · 3 of 9 · low",
            "· a notice ·  11:30",
            "│ a/m ·     ✓    ✓    │",
            "  ✓ done ✓",
            "one · two · three · fo",
        ]);
        let area = buffer.area;
        strip(&mut buffer, area);
        let expected = [
            ".",
            "1:  src",
            "    2:  main.rs",
            "    2:  a",
            "        3:  b.rs",
            "1:  Cargo.toml",
            "1:  src",
            "    2:  main.rs",
            "",
            "  a,    b",
            "",
            "  1",
            "",
            "    in,  box",
            "  a quote",
            "- | a",
            "gpt, 3 of 9, low",
            "  a notice,   11:30",
            "  a/m       yes  yes",
            "  + done +",
            "one, two, three, fo",
        ];
        assert_eq!(lines(&buffer), expected);
    }

    #[test]
    fn arrows_of_keys_are_words() {
        let mut buffer = Buffer::with_lines([
            "s: edit(a.rs) ←→ wider, 1 of 4                ",
            "enter, ↑ older · ↓ newer                      ",
            "─ esc later · ←→ wider ───────────────────────",
            "a → b, ↑1.2k ↓40                              ",
        ]);
        let area = buffer.area;
        strip(&mut buffer, area);
        let expected = [
            "s: edit(a.rs) left or right wider, 1 of 4",
            "enter, up older, down newer",
            "  esc later, left or right wider",
            "a > b, ^1.2k v40",
        ];
        assert_eq!(lines(&buffer), expected);
    }

    #[test]
    fn decoration_is_removed_and_the_selection_is_returned() {
        let mut buffer = Buffer::with_lines([
            "╭ Models ──╮",
            "│ ❯ gp     │",
            "│ › gpt-5  │",
            "│          │",
            "╰──────────╯",
        ]);
        buffer.set_style(
            Rect::new(1, 2, 10, 1),
            Style::new().add_modifier(SELECTION_MARK),
        );
        let area = buffer.area;
        let selected = strip(&mut buffer, area);
        assert_eq!(selected, Some(Position::new(1, 2)));
        let mut positions = [selected, Some(Position::new(6, 1))];
        compact(&mut buffer, &mut positions);
        assert_eq!(lines(&buffer), ["Models", "> gp", "> gpt-5", "", ""]);
        assert_eq!(
            positions,
            [Some(Position::new(0, 2)), Some(Position::new(4, 1))]
        );
        let word = first_alphanumeric(&buffer, Position::new(0, 2));
        assert_eq!(word, Position::new(2, 2));
    }
}

//! A screen for screen readers: no glyph that only decorates, what is selected found by the real cursor.
//!
//! What is painted stays what it is; a finished frame is gone through once. On the main screen every cell
//! keeps its place, so that the mouse still finds it. What lies above it has no such duty: there empty rows and
//! the common indent go too, and a list begins where the line begins.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use osier_base::text::grapheme_width;

/// What the theme gives to cells that are selected; no terminal ever sees it.
pub const MARK: Modifier = Modifier::RAPID_BLINK;

/// Columns of a layer: so narrow that nothing stands beside anything else.
pub const COLUMNS: u16 = 80;

/// Signs that mean something, and what is read instead.
const SIGNS: &[(&str, &str)] = &[
    ("·", ","),
    ("•", "-"),
    ("◦", "-"),
    ("▪", "-"),
    ("›", ">"),
    ("‹", "<"),
    ("❯", ">"),
    ("▸", ">"),
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
    ("≡", "="),
    ("⊞", "+"),
    ("⋮", " "),
    ("⋯", " "),
    ("▣", " "),
    ("⚙", " "),
    ("✎", "\""),
    ("↺", " "),
];

/// What is read instead of a sign; `None` for one that stays.
pub fn plain(symbol: &str) -> Option<&'static str> {
    let first = symbol.chars().next()?;
    if first.is_ascii() {
        return None;
    }
    // Lines and boxes, blocks, Braille.
    if matches!(first, '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}') {
        return Some(" ");
    }
    let sign = SIGNS.iter().find(|(sign, _)| *sign == symbol);
    sign.map(|(_, plain)| *plain)
}

/// Takes the decoration out of a frame, each cell staying where it is. Tells the first cell of `area` that is
/// selected.
pub fn strip(buffer: &mut Buffer, area: Rect) -> Option<Position> {
    let mut selected = None;
    let whole = buffer.area;
    for y in whole.top()..whole.bottom() {
        say_branch(buffer, y);
        say_bars(buffer, y);
    }
    for position in whole.positions() {
        let cell = &mut buffer[position];
        if let Some(plain) = plain(cell.symbol()) {
            cell.set_symbol(plain);
        }
        if cell.modifier.contains(MARK) {
            cell.modifier -= MARK;
            if area.contains(position) {
                selected.get_or_insert(position);
            }
        }
    }
    selected
}

/// Cells of a level in a tree that is drawn with lines.
const LEVEL: u16 = 4;

/// Has the level of a branch said in the place of its lines: `├── a` becomes `1:  a`, what is below it `2:  b`.
fn say_branch(buffer: &mut Buffer, y: u16) {
    let area = buffer.area;
    let is = |x: u16, signs: &str| {
        x < area.right()
            && !buffer[(x, y)].symbol().is_empty()
            && signs.contains(buffer[(x, y)].symbol())
    };
    let Some(branch) = (area.left()..area.right()).find(|x| !is(*x, "│┃| \u{a0}")) else {
        return;
    };
    // In ASCII the branch of a tree is one of the bars.
    let drawn = is(branch, "├└╰┣┗")
        && is(branch + 1, "─━")
        && is(branch + 2, "─━")
        && is(branch + 3, " \u{a0}");
    let typed = is(branch, "`") || (branch > area.left() && is(branch, "-"));
    let (start, told) = match (drawn, typed) {
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
    if !told {
        return;
    }
    let level = (start - area.left()) / LEVEL + 1;
    for x in area.left()..start {
        buffer[(x, y)].set_symbol(" ");
    }
    for (x, sign) in (start..start + LEVEL - 1).zip(format!("{level}:  ").chars()) {
        buffer[(x, y)].set_char(sign);
    }
}

/// What stands between two texts in a row of a table that is drawn becomes a comma.
fn say_bars(buffer: &mut Buffer, y: u16) {
    let area = buffer.area;
    let bars: Vec<u16> = (area.left()..area.right())
        .filter(|x| matches!(buffer[(*x, y)].symbol(), "│" | "┃" | "║"))
        .collect();
    let says = |from: u16, to: u16| {
        (from + 1..to).any(|x| buffer[(x, y)].symbol().chars().any(char::is_alphanumeric))
    };
    let between: Vec<u16> = bars
        .windows(3)
        .filter(|bars| says(bars[0], bars[1]) && says(bars[1], bars[2]))
        .map(|bars| bars[1])
        .collect();
    for x in between {
        buffer[(x, y)].set_symbol(",");
    }
}

/// Brings what a layer has painted to the left and the top, without rows that say nothing; `places` are where
/// they were and become where they are.
pub fn settle(buffer: &mut Buffer, places: &mut [Option<Position>]) {
    let area = buffer.area;
    let is_blank = |cell: &Cell| cell.symbol() == " ";
    let first =
        |buffer: &Buffer, y: u16| (area.left()..area.right()).find(|x| !is_blank(&buffer[(*x, y)]));
    let kept: Vec<u16> = (area.top()..area.bottom())
        .filter(|y| first(buffer, *y).is_some() || places.iter().flatten().any(|at| at.y == *y))
        .collect();
    let starts = kept.iter().filter_map(|y| first(buffer, *y));
    let indent = starts.min().unwrap_or(area.x) - area.x;
    let painted = buffer.clone();
    buffer.reset();
    for (row, y) in kept.iter().enumerate() {
        for x in area.left() + indent..area.right() {
            buffer[(x - indent, area.y + row as u16)] = painted[(x, *y)].clone();
        }
        for at in places.iter_mut().flatten().filter(|at| at.y == *y) {
            *at = Position {
                x: at.x.saturating_sub(indent),
                y: area.y + row as u16,
            };
        }
    }
}

/// The first cell from `at` on that says something: where a cursor is read from.
pub fn first_word(buffer: &Buffer, at: Position) -> Position {
    let row = at.x..buffer.area.right();
    let says = |x: &u16| {
        let symbol = buffer[(*x, at.y)].symbol();
        grapheme_width(symbol) > 0 && symbol.chars().any(char::is_alphanumeric)
    };
    Position {
        x: row.clone().find(says).unwrap_or(at.x),
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
    fn trees_say_their_levels_and_tables_their_cells() {
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
            "  a   , b",
            "",
            "  1",
            "",
            "    in , box",
            "  a quote",
            "- | a",
        ];
        assert_eq!(lines(&buffer), expected);
    }

    #[test]
    fn decoration_goes_and_what_is_selected_is_told() {
        let mut buffer = Buffer::with_lines([
            "╭ Models ──╮",
            "│ ❯ gp     │",
            "│ › gpt-5  │",
            "│          │",
            "╰──────────╯",
        ]);
        buffer.set_style(Rect::new(1, 2, 10, 1), Style::new().add_modifier(MARK));
        let area = buffer.area;
        let selected = strip(&mut buffer, area);
        assert_eq!(selected, Some(Position::new(1, 2)));
        let mut places = [selected, Some(Position::new(6, 1))];
        settle(&mut buffer, &mut places);
        assert_eq!(lines(&buffer), ["Models", "> gp", "> gpt-5", "", ""]);
        assert_eq!(
            places,
            [Some(Position::new(0, 2)), Some(Position::new(4, 1))]
        );
        let word = first_word(&buffer, Position::new(0, 2));
        assert_eq!(word, Position::new(2, 2));
    }
}

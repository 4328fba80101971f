//! A strict terminal emulator. It reports unsupported sequences and moves from a cursor position
//! that differs between terminals, and makes cut halves of wide glyphs visible.

use std::collections::BTreeSet;

use ratatui::style::{Color, Modifier};

use super::super::Features;
use osier_base::text;

/// How a terminal measures grapheme clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Widths {
    /// The same widths as osier.
    Clusters,
    /// Each character separately.
    Apart,
    /// Emoji that are new or made wide by a variation selector stay narrow.
    Narrow,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Appearance {
    pub(super) text: String,
    pub(super) foreground: Color,
    pub(super) background: Color,
    pub(super) modifier: Modifier,
    pub(super) link: Option<String>,
}

impl Appearance {
    pub(super) fn blank(background: Color) -> Self {
        Self {
            text: " ".to_owned(),
            foreground: Color::Reset,
            background,
            modifier: Modifier::empty(),
            link: None,
        }
    }
}

/// The content of a cell that must not be visible: a cut glyph, or the screen after a resize.
const DAMAGED: &str = "\u{fffd}";
/// The second cell of a wide glyph.
pub(super) const HALF: &str = "";
/// The cells of an image.
pub(super) const IMAGE: &str = "image";

#[derive(Debug)]
pub(super) struct Emulator {
    pub(super) features: Features,
    pub(super) widths: Widths,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) cells: Vec<Appearance>,
    pub(super) row: usize,
    /// `None` where terminals differ.
    pub(super) column: Option<usize>,
    pub(super) visible: bool,
    rendition: Appearance,
    margins: (usize, usize),
    /// Left and right margins, while enabled.
    sides: Option<(usize, usize)>,
    last: Option<char>,
    bracket: bool,
    pub(super) used: BTreeSet<&'static str>,
}

impl Emulator {
    pub(super) fn new(columns: u16, rows: u16, features: Features, widths: Widths) -> Self {
        let mut emulator = Self {
            features,
            widths,
            columns: 0,
            rows: 0,
            cells: Vec::new(),
            row: 0,
            column: None,
            visible: true,
            rendition: Appearance::blank(Color::Reset),
            margins: (0, 0),
            sides: None,
            last: None,
            bracket: false,
            used: BTreeSet::new(),
        };
        emulator.resize(columns, rows);
        emulator
    }

    /// The remaining content differs between terminals, so nothing may depend on it.
    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (usize::from(columns), usize::from(rows));
        let damaged = Appearance {
            text: DAMAGED.to_owned(),
            ..Appearance::blank(Color::Reset)
        };
        self.cells = vec![damaged; self.columns * self.rows];
        self.margins = (0, self.rows);
        self.sides = None;
        (self.row, self.column) = (0, None);
    }

    pub(super) fn cell(&self, column: usize, row: usize) -> &Appearance {
        &self.cells[row * self.columns + column]
    }

    /// Plays one frame, which must leave nothing open.
    pub(super) fn frame(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).expect("a frame is text");
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            rest = match first {
                '\x1b' => self.escape(&rest[1..]),
                '\r' => {
                    self.column = Some(0);
                    &rest[1..]
                }
                '\n' => {
                    assert!(self.row + 1 < self.rows, "a line feed in the last row");
                    self.row += 1;
                    &rest[1..]
                }
                '\x08' => {
                    let column = self.known();
                    assert!(column > 0, "a step back in the first column");
                    self.column = Some(column - 1);
                    &rest[1..]
                }
                '\x07' => &rest[1..],
                _ => {
                    let end = rest.find(char::is_control).unwrap_or(rest.len());
                    self.print(&rest[..end]);
                    &rest[end..]
                }
            };
        }
        assert!(!self.bracket, "the bracket is open");
        assert_eq!(self.margins, (0, self.rows), "margins are left");
        assert_eq!(self.sides, None, "margins are left at the sides");
        assert_eq!(self.rendition.link, None, "a link is open");
    }

    fn known(&self) -> usize {
        self.column.expect("moved from a doubtful column")
    }

    fn print(&mut self, run: &str) {
        for (_, cluster) in text::graphemes(run) {
            let first = cluster.chars().next().unwrap();
            match self.widths {
                Widths::Clusters => self.put(cluster, text::grapheme_width(cluster)),
                Widths::Narrow => {
                    let mut bytes = [0; 4];
                    let width = text::grapheme_width(first.encode_utf8(&mut bytes));
                    let is_new = ('\u{1fa70}'..='\u{1faff}').contains(&first);
                    self.put(cluster, if is_new { 1 } else { width.max(1) });
                }
                Widths::Apart => {
                    for character in cluster.chars() {
                        let mut bytes = [0; 4];
                        let character = character.encode_utf8(&mut bytes);
                        match text::grapheme_width(character) {
                            0 => self.join(character),
                            width => self.put(character, width),
                        }
                    }
                }
            }
            self.last = (cluster.len() == 1).then_some(first);
        }
    }

    /// Adds a combining mark to the glyph before the cursor.
    fn join(&mut self, mark: &str) {
        let before = self.column.unwrap_or(self.columns) - 1;
        let mut index = self.row * self.columns + before;
        if self.cells[index].text == HALF && before > 0 {
            index -= 1;
        }
        self.cells[index].text.push_str(mark);
    }

    fn put(&mut self, glyph: &str, width: usize) {
        // Only a glyph that a terminal draws wider than osier can start in the last column.
        let doubtful = self.column.is_none();
        assert!(
            !doubtful || self.widths == Widths::Apart,
            "printed in a doubtful column"
        );
        let column = self
            .column
            .unwrap_or(self.columns)
            .min(self.columns - width);
        self.cut(column, width);
        let start = self.row * self.columns + column;
        self.cells[start] = Appearance {
            text: glyph.to_owned(),
            ..self.rendition.clone()
        };
        if width == 2 {
            self.cells[start + 1] = Appearance {
                text: HALF.to_owned(),
                ..self.rendition.clone()
            };
        }
        let end = column + width;
        self.column = (end < self.columns).then_some(end);
    }

    /// Spoils the other half of wide glyphs that are about to be cut.
    fn cut(&mut self, column: usize, length: usize) {
        let start = self.row * self.columns;
        if column > 0 && self.cells[start + column].text == HALF {
            DAMAGED.clone_into(&mut self.cells[start + column - 1].text);
        }
        let end = column + length;
        if end < self.columns && self.cells[start + end].text == HALF {
            DAMAGED.clone_into(&mut self.cells[start + end].text);
        }
    }

    fn erased(&self) -> Appearance {
        Appearance::blank(if self.features.erase_background {
            self.rendition.background
        } else {
            Color::Reset
        })
    }

    fn erase(&mut self, column: usize, length: usize) {
        let length = length.min(self.columns - column);
        self.cut(column, length);
        let start = self.row * self.columns + column;
        let erased = self.erased();
        self.cells[start..start + length].fill(erased);
    }

    fn escape<'a>(&mut self, rest: &'a str) -> &'a str {
        match rest.as_bytes()[0] {
            b'[' => {
                let end = rest[1..].find(|end: char| ('@'..='~').contains(&end));
                let end = end.expect("an open sequence") + 1;
                self.control(&rest[1..end], rest.as_bytes()[end]);
                &rest[end + 1..]
            }
            b']' | b'_' => {
                let end = rest.find("\x1b\\").expect("an open control string");
                self.string(&rest[..end]);
                &rest[end + 2..]
            }
            other => panic!("an escape that is not known: {:?}", char::from(other)),
        }
    }

    fn string(&mut self, string: &str) {
        if let Some(size) = string.strip_prefix("_G") {
            let (columns, rows) = size.split_once('x').unwrap();
            let (columns, rows): (usize, usize) = (columns.parse().unwrap(), rows.parse().unwrap());
            let (left, top) = (self.known(), self.row);
            for row in top..top + rows {
                self.row = row;
                self.cut(left, columns);
                for column in left..left + columns {
                    IMAGE.clone_into(&mut self.cells[row * self.columns + column].text);
                }
            }
            // Terminals differ in where an image leaves the cursor.
            (self.row, self.column) = (top, None);
            return;
        }
        assert!(self.features.links, "a link on a terminal without them");
        let link = string.strip_prefix("]8;").expect("a string not known");
        let (_, target) = link.split_once(';').unwrap();
        self.rendition.link = (!target.is_empty()).then(|| target.to_owned());
    }

    fn control(&mut self, parameters: &str, end: u8) {
        if let Some(modes) = parameters.strip_prefix('?') {
            return self.mode(modes, end == b'h');
        }
        let numbers: Vec<usize> = parameters
            .split(';')
            .map(|number| number.parse().unwrap_or(0))
            .collect();
        let count = numbers[0].max(1);
        match end {
            b'm' => self.style(&numbers),
            b'H' => {
                self.row = count - 1;
                self.column = Some(numbers.get(1).map_or(0, |column| column.max(&1) - 1));
            }
            b'G' => self.column = Some(count - 1),
            b'd' => self.row = count - 1,
            b'A' => self.row -= count,
            b'B' => self.row += count,
            b'C' => self.column = Some(self.known() + count),
            b'D' => self.column = Some(self.known() - count),
            b'K' => {
                assert_eq!(parameters, "");
                self.erase(self.known(), self.columns);
            }
            b'J' => {
                assert_eq!(parameters, "2");
                let erased = self.erased();
                self.cells.fill(erased);
            }
            b'X' => {
                assert!(self.features.erase_characters);
                self.used.insert("erase");
                self.erase(self.known(), count);
            }
            b'b' => {
                assert!(self.features.repeat);
                self.used.insert("repeat");
                let last = self.last.expect("repeats what not all terminals remember");
                for _ in 0..count {
                    self.put(last.encode_utf8(&mut [0; 4]), 1);
                }
            }
            b'r' => self.set_margins(&numbers),
            b's' => self.set_sides(&numbers),
            b'S' => self.scroll_box(count, true),
            b'T' => self.scroll_box(count, false),
            b'M' => self.scroll(count, true),
            b'L' => self.scroll(count, false),
            other => panic!("a sequence not known: {parameters}{:?}", char::from(other)),
        }
        assert!(self.row < self.rows && self.column.is_none_or(|column| column < self.columns));
        if end != b'b' && end != b'm' {
            self.last = None;
        }
    }

    fn mode(&mut self, mode: &str, set: bool) {
        match mode {
            "25" => self.visible = set,
            "7" => assert!(!set),
            "69" => {
                assert!(self.features.side_margins && self.sides.is_some() != set);
                self.sides = set.then_some((0, self.columns));
                // Some terminals move the cursor to the first cell.
                (self.row, self.column) = (0, None);
            }
            "2026" => {
                assert!(self.features.bracketed && self.bracket != set);
                self.bracket = set;
            }
            other => panic!("a mode not known: {other}"),
        }
    }

    fn set_margins(&mut self, numbers: &[usize]) {
        assert!(self.features.margins);
        let top = numbers[0].max(1) - 1;
        let bottom = numbers.get(1).copied().unwrap_or(self.rows);
        assert!(top + 1 < bottom && bottom <= self.rows);
        self.margins = (top, bottom);
        // The first row of the screen or of the margins.
        (self.row, self.column) = (0, (top == 0).then_some(0));
    }

    fn set_sides(&mut self, numbers: &[usize]) {
        assert!(self.sides.is_some(), "saves the cursor");
        let [left, right] = *numbers else {
            panic!("not two sides: {numbers:?}");
        };
        assert!(0 < left && left < right && right <= self.columns);
        self.sides = Some((left - 1, right));
        (self.row, self.column) = (0, None);
    }

    /// Moves the cells between all margins; glyphs that the margins cut are damaged.
    fn scroll_box(&mut self, count: usize, up: bool) {
        let (left, right) = self.sides.expect("scrolls by other means");
        let (top, bottom) = self.margins;
        assert!(count <= bottom - top);
        self.used.insert("box");
        let erased = self.erased();
        for row in top..bottom {
            self.row = row;
            self.cut(left, right - left);
            for edge in [left, right - 1] {
                let index = row * self.columns + edge;
                let outside = (edge + 1 == right && right < self.columns)
                    .then(|| self.cells[index + 1].text == DAMAGED);
                let is_half = edge == left && self.cells[index].text == HALF;
                if is_half || outside == Some(true) {
                    DAMAGED.clone_into(&mut self.cells[index].text);
                }
            }
        }
        self.row = 0;
        for step in 0..bottom - top {
            let row = if up { top + step } else { bottom - 1 - step };
            let from = if up {
                row.checked_add(count)
            } else {
                row.checked_sub(count)
            };
            let from = from.filter(|from| (top..bottom).contains(from));
            for column in left..right {
                let appearance = from.map(|from| self.cells[from * self.columns + column].clone());
                self.cells[row * self.columns + column] =
                    appearance.unwrap_or_else(|| erased.clone());
            }
        }
    }

    fn scroll(&mut self, count: usize, up: bool) {
        assert!(self.features.margins && self.sides.is_none());
        let (top, bottom) = (self.row, self.margins.1);
        assert!(top >= self.margins.0 && top < bottom && count <= bottom - top);
        assert_eq!(self.column, Some(0), "scrolled from the middle of a row");
        self.used.insert(if up { "up" } else { "down" });
        let erased = self.erased();
        let width = self.columns;
        let cells = &mut self.cells[top * width..bottom * width];
        let length = cells.len();
        let free = if up {
            cells.rotate_left(count * width);
            length - count * width..length
        } else {
            cells.rotate_right(count * width);
            0..count * width
        };
        cells[free].fill(erased);
    }

    fn style(&mut self, numbers: &[usize]) {
        let mut numbers = numbers.iter().copied();
        while let Some(number) = numbers.next() {
            let rendition = &mut self.rendition;
            match number {
                0 => {
                    *rendition = Appearance {
                        link: rendition.link.take(),
                        ..Appearance::blank(Color::Reset)
                    }
                }
                1..=9 => rendition.modifier |= MODIFIERS[number - 1],
                22 => rendition.modifier -= Modifier::BOLD | Modifier::DIM,
                25 => rendition.modifier -= Modifier::SLOW_BLINK | Modifier::RAPID_BLINK,
                23 | 24 | 27..=29 => rendition.modifier -= MODIFIERS[number - 21],
                30..=37 => rendition.foreground = Color::Indexed(number as u8 - 30),
                38 => rendition.foreground = colour(&mut numbers),
                39 => rendition.foreground = Color::Reset,
                40..=47 => rendition.background = Color::Indexed(number as u8 - 40),
                48 => rendition.background = colour(&mut numbers),
                49 => rendition.background = Color::Reset,
                90..=97 => rendition.foreground = Color::Indexed(number as u8 - 82),
                100..=107 => rendition.background = Color::Indexed(number as u8 - 92),
                other => panic!("a style not known: {other}"),
            }
        }
    }
}

/// The styles 1 to 9.
const MODIFIERS: [Modifier; 9] = [
    Modifier::BOLD,
    Modifier::DIM,
    Modifier::ITALIC,
    Modifier::UNDERLINED,
    Modifier::SLOW_BLINK,
    Modifier::RAPID_BLINK,
    Modifier::REVERSED,
    Modifier::HIDDEN,
    Modifier::CROSSED_OUT,
];

fn colour(numbers: &mut impl Iterator<Item = usize>) -> Color {
    let kind = numbers.next();
    let mut part = || numbers.next().expect("a colour is cut") as u8;
    match kind {
        Some(5) => Color::Indexed(part()),
        Some(2) => {
            let parts = u32::from_be_bytes([0, part(), part(), part()]);
            Color::from_u32(parts)
        }
        other => panic!("a colour not known: {other:?}"),
    }
}

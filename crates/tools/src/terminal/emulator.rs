//! The screen of a terminal, from the output of its program. Other requests of the program to a
//! terminal (titles, the clipboard, reports) are ignored; a few harmless queries are answered.

use std::fmt::Write as _;
use std::num::NonZeroU16;

use osier_agent::Output;
use osier_base::ansi::{Hue, Run, Style};
use osier_base::process::PtySize;
use osier_protocol::TerminalScreen;

/// Rows above the screen that are retained.
pub(super) const SCROLLBACK: usize = 1000;
/// Bytes of answers to the queries of one chunk of output.
pub(super) const ANSWERS: usize = 256;

/// The smallest and the largest size.
const SMALLEST: PtySize = PtySize {
    rows: 2,
    columns: 10,
};
const LARGEST: PtySize = PtySize {
    rows: 200,
    columns: 400,
};

/// `size` within the limits.
pub(super) fn limited(size: PtySize) -> PtySize {
    PtySize {
        rows: size.rows.clamp(SMALLEST.rows, LARGEST.rows),
        columns: size.columns.clamp(SMALLEST.columns, LARGEST.columns),
    }
}

/// The emulated terminal.
pub(super) struct Emulator(vt100::Parser<Side>);

/// The output of the emulator besides the screen.
#[derive(Debug, Default)]
struct Side {
    /// Rows that left the scrollback.
    lost: u64,
    /// Answers to queries of the program.
    answers: Vec<u8>,
}

impl vt100::Callbacks for Side {
    fn on_scroll(&mut self, _: vt100::capture::RowContents<'_>, alternate_screen: bool) {
        self.lost += u64::from(!alternate_screen);
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        let parameter = parameters.first().and_then(|all| all.first()).copied();
        let answer = match (first, last, parameter) {
            (None, 'n', Some(5)) => "\x1b[0n".to_owned(),
            (None, 'n', Some(6)) => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            (None, 'c', None | Some(0)) => "\x1b[?1;2c".to_owned(),
            (Some(b'>'), 'c', None | Some(0)) => "\x1b[>0;0;0c".to_owned(),
            _ => return,
        };
        if self.answers.len() + answer.len() <= ANSWERS {
            self.answers.extend_from_slice(answer.as_bytes());
        }
    }
}

/// New rows of a terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewRows {
    /// Rows before them that are no longer there.
    pub lost: u64,
    /// Lines, however many rows they have.
    pub rows: Vec<String>,
    /// Where the next rows begin: the line of the cursor, which can still change.
    pub next: u64,
}

impl Emulator {
    pub(super) fn new(size: PtySize) -> Self {
        let (rows, columns) = nonzero(size);
        let side = Side::default();
        Self(vt100::Parser::new_with_callbacks(
            rows, columns, SCROLLBACK, side,
        ))
    }

    /// Shows output; returns what to answer the program.
    pub(super) fn process(&mut self, output: &[u8]) -> Vec<u8> {
        self.0.process(output);
        std::mem::take(&mut self.0.callbacks_mut().answers)
    }

    /// The column of the cursor, which is past the last one after a complete row.
    pub(super) fn column(&self) -> u16 {
        self.0.screen().cursor_position().1
    }

    /// Whether only a part of the screen scrolls. Nothing may be in the middle of a sequence.
    pub(super) fn has_margins(&mut self) -> bool {
        let (row, _) = self.0.screen().cursor_position();
        let last = self.size().rows - 1;
        let mut reached = |sequence: &str| {
            self.0.process(sequence.as_bytes());
            self.0.screen().cursor_position().0
        };
        // Moving down ends at the bottom of the part that has the cursor. Each part has at least two rows.
        let has_bottom = (1..=last + 1)
            .step_by(2)
            .any(|row| reached(&format!("\x1b[{row}d\x1b[999B")) < last);
        let has_top = reached(&format!("\x1b[{}d\x1b[999A", last + 1)) > 0;
        reached(&format!("\x1b[{}d", row + 1));
        has_bottom || has_top
    }

    /// Acts as if lines of so many `rows` had been shown and had left the screen and the rows above it.
    pub(super) fn skip(&mut self, rows: u64, restore: &[u8]) {
        self.0.process(restore);
        if !self.is_full_screen() {
            self.0.callbacks_mut().lost += rows;
        }
    }

    pub(super) fn resize(&mut self, size: PtySize) {
        let (rows, columns) = nonzero(size);
        self.0.set_size(rows, columns);
    }

    pub(super) fn size(&self) -> PtySize {
        let (rows, columns) = self.0.screen().size();
        PtySize {
            rows: rows.get(),
            columns: columns.get(),
        }
    }

    /// Whether the arrow keys send other sequences.
    pub(super) fn has_application_cursor(&self) -> bool {
        self.0.screen().application_cursor()
    }

    /// Whether pasted text is marked.
    pub(super) fn marks_paste(&self) -> bool {
        self.0.screen().bracketed_paste()
    }

    /// Whether a program uses the complete screen, as editors do.
    pub(super) fn is_full_screen(&self) -> bool {
        self.0.screen().alternate_screen()
    }

    /// Everything that the screen shows and how input is sent.
    #[cfg(test)]
    pub(super) fn formatted(&self) -> String {
        self.0.screen().state_formatted()
    }

    /// The lines of the screen with their rows, without empty lines at its end, and how many rows of the first line are
    /// above the screen.
    pub(super) fn screen_lines(&mut self) -> (Vec<Vec<String>>, usize) {
        let (lost, above) = self.above();
        let top = lost + above;
        let first = self.line_start(top);
        let last = top + u64::from(self.size().rows) - 1;
        (self.lines(first, last), (top - first) as usize)
    }

    /// Rows that are no longer there, and those above the screen. A program that uses the complete screen has none.
    fn above(&self) -> (u64, u64) {
        if self.is_full_screen() {
            return (0, 0);
        }
        let above = self.0.screen().scrollback_len() as u64;
        (self.0.callbacks().lost, above)
    }

    /// The rows from number `first` to number `last` by line, without empty lines at the end.
    fn lines(&mut self, first: u64, last: u64) -> Vec<Vec<String>> {
        let mut lines: Vec<Vec<String>> = Vec::new();
        let mut continues = false;
        let mut at = first;
        while at <= last {
            let skip = self.show_row(at);
            let screen = self.0.screen();
            let (rows, columns) = screen.size();
            let left = (last + 1 - at).min(u64::from(rows.get() - skip));
            let shown = screen.rows(0, columns.get()).enumerate();
            for (row, text) in shown.skip(usize::from(skip)).take(left as usize) {
                match lines.last_mut().filter(|_| continues) {
                    Some(line) => line.push(text),
                    None => lines.push(vec![text]),
                }
                continues = screen.row_wrapped(row as u16);
            }
            at += left;
        }
        self.0.screen_mut().set_scrollback(0);
        let is_blank = |line: &Vec<String>| line.iter().all(|row| row.trim_end().is_empty());
        let shown = lines.iter().rposition(|line| !is_blank(line));
        lines.truncate(shown.map_or(0, |last| last + 1));
        lines
    }

    /// Has the view begin with a row, or with the screen; returns the place of the row in it.
    fn show_row(&mut self, row: u64) -> u16 {
        let (lost, above) = self.above();
        let back = (lost + above).saturating_sub(row);
        self.0.screen_mut().set_scrollback(back as usize);
        (row + back - lost - above) as u16
    }

    /// The row in which the line of a row begins, as far as it is there.
    fn line_start(&mut self, mut row: u64) -> u64 {
        let (lost, _) = self.above();
        while row > lost {
            let above = self.show_row(row - 1);
            if !self.0.screen().row_wrapped(above) {
                break;
            }
            row -= 1;
        }
        self.0.screen_mut().set_scrollback(0);
        row
    }

    /// The number of the row of the cursor, counted from the first output.
    fn cursor_row(&self) -> u64 {
        let screen = self.0.screen();
        let above = self.0.callbacks().lost + screen.scrollback_len() as u64;
        above + u64::from(screen.cursor_position().0)
    }

    /// The lines from row number `from` on, of at most about the last `most` rows. A program that uses the complete
    /// screen, and one that cleared it, has only the lines of the screen.
    pub(super) fn new_rows(&mut self, from: u64, most: usize) -> NewRows {
        let last = self.cursor_row();
        if self.is_full_screen() || from > last {
            let (lines, _) = self.screen_lines();
            return NewRows {
                lost: 0,
                rows: joined(&lines),
                next: last,
            };
        }
        let (lost, _) = self.above();
        let first = from.max(lost).max((last + 1).saturating_sub(most as u64));
        let first = self.line_start(first);
        NewRows {
            lost: first.saturating_sub(from),
            rows: joined(&self.lines(first, last)),
            next: self.line_start(last),
        }
    }

    /// The screen with its colours, for clients.
    pub(super) fn screen(&self) -> TerminalScreen {
        let screen = self.0.screen();
        let size = self.size();
        let (mut text, mut colours) = (String::new(), Vec::<Run>::new());
        let mut end = (0, 0);
        for row in 0..size.rows {
            for column in 0..size.columns {
                let Some(cell) = screen.cell(row, column) else {
                    continue;
                };
                if cell.is_wide_continuation() {
                    continue;
                }
                let start = text.len() as u32;
                text.push_str(if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                });
                let style = style_of(cell);
                let is_styled = style != Style::default();
                if cell.has_contents() || is_styled {
                    end = (text.len(), colours.len() + usize::from(is_styled));
                }
                if !is_styled {
                    continue;
                }
                match colours.last_mut() {
                    Some(last) if last.end == start && last.style == style => {
                        last.end = text.len() as u32;
                        end.1 = colours.len();
                    }
                    _ => colours.push(Run {
                        start,
                        end: text.len() as u32,
                        style,
                    }),
                }
            }
            text.truncate(end.0);
            colours.truncate(end.1);
            text.push('\n');
            end.0 = text.len();
        }
        text.truncate(text.trim_end_matches('\n').len());
        let (row, column) = screen.cursor_position();
        TerminalScreen {
            output: Output {
                text,
                colours,
                ..Output::default()
            },
            cursor: (!screen.hide_cursor()).then_some((row, column)),
            application_keys: screen.application_cursor(),
            rows: size.rows,
            columns: size.columns,
        }
    }
}

/// Lines, however many rows they have.
pub(super) fn joined(lines: &[Vec<String>]) -> Vec<String> {
    let text = lines.iter().map(|rows| rows.concat());
    text.map(|line| line.trim_end().to_owned()).collect()
}

osier_base::opaque_debug!(Emulator);

fn nonzero(size: PtySize) -> (NonZeroU16, NonZeroU16) {
    let size = limited(size);
    let of = |number| NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN);
    (of(size.rows), of(size.columns))
}

fn style_of(cell: &vt100::Cell) -> Style {
    Style {
        fg: hue(cell.fgcolor()),
        bg: hue(cell.bgcolor()),
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underline: cell.underline(),
        strike: false,
        reverse: cell.inverse(),
    }
}

fn hue(colour: vt100::Color) -> Option<Hue> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(index @ 0..16) => Some(Hue::Named(index)),
        vt100::Color::Idx(index) => Some(Hue::Indexed(index)),
        vt100::Color::Rgb(red, green, blue) => Some(Hue::Rgb(red, green, blue)),
    }
}

/// `rows` for a model, at most the last `bytes`: of a longer last line its end.
pub(crate) fn to_text(lost: u64, rows: &[String], bytes: usize) -> String {
    let mut start = rows.len();
    let mut size = 0;
    while start > 0 && size + rows[start - 1].len() < bytes {
        start -= 1;
        size += rows[start].len() + 1;
    }
    let mut text = String::new();
    let is_cut = size == 0 && start > 0;
    let omitted = lost + start as u64 - u64::from(is_cut);
    if omitted > 0 {
        let _ = writeln!(text, "[{omitted} earlier lines omitted]");
    }
    if is_cut {
        let line = &rows[start - 1];
        let from = line.ceil_char_boundary(line.len().saturating_sub(bytes));
        let _ = write!(text, "[start of the line omitted] {}", &line[from..]);
    }
    text.push_str(&rows[start..].join("\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: PtySize = PtySize {
        rows: 4,
        columns: 20,
    };

    fn rows(emulator: &mut Emulator) -> Vec<String> {
        joined(&emulator.screen_lines().0)
    }

    fn shown(output: &str) -> Emulator {
        let mut emulator = Emulator::new(SIZE);
        emulator.process(output.as_bytes());
        emulator
    }

    #[test]
    fn new_rows_start_where_the_last_ones_ended() {
        let mut emulator = shown("one\r\ntwo\r\n> ");
        let first = emulator.new_rows(0, 100);
        assert_eq!((first.lost, first.next), (0, 2));
        assert_eq!(first.rows, ["one", "two", ">"]);
        emulator.process(b"x\r\n3\r\n4\r\n5\r\n6\r\n7\r\n> ");
        let second = emulator.new_rows(first.next, 100);
        assert_eq!(second.rows, ["> x", "3", "4", "5", "6", "7", ">"]);
        let few = emulator.new_rows(first.next, 3);
        assert_eq!((few.lost, few.rows.len()), (4, 3));
        assert_eq!(rows(&mut emulator), ["5", "6", "7", ">"]);
        emulator.process(b"\x1b[2J\x1b[Hnew");
        assert_eq!(emulator.new_rows(second.next + 9, 100).rows, ["new"]);
    }

    #[test]
    fn a_line_of_several_rows_is_one() {
        let mut emulator =
            shown("a line of more than twenty columns\r\n> the last line is long, too");
        let first = emulator.new_rows(0, 100);
        assert_eq!(
            (first.rows, first.next),
            (
                vec![
                    "a line of more than twenty columns".to_owned(),
                    "> the last line is long, too".to_owned()
                ],
                2
            )
        );
        emulator.process(b", and longer\r\n1\r\n2\r\n3\r\n");
        assert_eq!(
            emulator.new_rows(first.next, 5).rows,
            ["> the last line is long, too, and longer", "1", "2", "3"]
        );
        // The line begins above the screen.
        let mut cut = shown("a line of more than twenty columns\r\n1\r\n2\r\n");
        let cut = rows(&mut cut);
        assert_eq!(cut[0], "a line of more than twenty columns");
        assert_eq!(
            to_text(0, &cut[..1], 8),
            "[start of the line omitted]  columns"
        );
    }

    #[test]
    fn rows_that_left_the_scrollback_are_counted() {
        let mut emulator = Emulator::new(SIZE);
        for number in 0..5000 {
            emulator.process(format!("{number}\r\n").as_bytes());
        }
        let all = emulator.new_rows(0, usize::MAX);
        assert_eq!(all.lost + all.rows.len() as u64, 5000);
        assert_eq!(all.rows.last().unwrap(), "4999");
        assert_eq!(all.rows[0], all.lost.to_string());
        assert_eq!(
            to_text(3, &all.rows[..2], 7),
            format!("[4 earlier lines omitted]\n{}", all.rows[1])
        );
    }

    #[test]
    fn hostile_sequences_show_nothing_and_queries_have_fixed_answers() {
        let mut emulator = Emulator::new(SIZE);
        let answers = emulator.process(
            b"\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]52;c;?\x07\x1bP$qm\x1b\\\x1b[21t\x1b[8;50;50tab\x1b[6n\x1b[c\x1b[>c",
        );
        assert_eq!(answers, b"\x1b[1;3R\x1b[?1;2c\x1b[>0;0;0c");
        assert_eq!(rows(&mut emulator), ["ab"]);
        assert_eq!(emulator.size(), SIZE);
        assert!(emulator.process(&b"\x1b[6n".repeat(10_000)).len() <= ANSWERS);
    }

    #[test]
    fn screen_has_colours_and_a_cursor() {
        let emulator = shown("a\x1b[31mred\x1b[m b\r\n\r\n\x1b[7m  \x1b[m");
        let screen = emulator.screen();
        assert_eq!(screen.output.text, "ared b\n\n  ");
        let runs = screen.output.colours.iter();
        let runs: Vec<(u32, u32)> = runs.map(|run| (run.start, run.end)).collect();
        assert_eq!(runs, [(1, 4), (8, 10)]);
        assert_eq!(screen.cursor, Some((2, 2)));
    }
}

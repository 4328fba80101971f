//! The screen of a terminal, from the output of its program. What the program asks of a terminal besides (titles,
//! the clipboard, reports) goes nowhere; a few harmless queries are answered.

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

/// What the emulator reports besides the screen.
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
pub(super) struct NewRows {
    /// Rows before them that are no longer there.
    pub lost: u64,
    pub rows: Vec<String>,
    /// Where the next rows begin: the row of the cursor, which can still change.
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

    /// The rows of the screen, without empty ones at its end.
    pub(super) fn rows(&self) -> Vec<String> {
        let screen = self.0.screen();
        let (_, columns) = screen.size();
        let mut rows: Vec<String> = screen
            .rows(0, columns.get())
            .map(|row| row.trim_end().to_owned())
            .collect();
        let shown = rows.iter().rposition(|row| !row.is_empty());
        rows.truncate(shown.map_or(0, |last| last + 1));
        rows
    }

    /// The number of the row of the cursor, counted from the first output.
    fn cursor_row(&self) -> u64 {
        let screen = self.0.screen();
        let above = self.0.callbacks().lost + screen.scrollback_len() as u64;
        above + u64::from(screen.cursor_position().0)
    }

    /// The rows from number `from` on, at most the last `most`. A program that uses the complete screen, and one that
    /// cleared it, has only the rows of the screen.
    pub(super) fn new_rows(&mut self, from: u64, most: usize) -> NewRows {
        let next = self.cursor_row();
        if self.is_full_screen() || from > next {
            let rows = self.rows();
            return NewRows {
                lost: 0,
                rows,
                next,
            };
        }
        let lost = self.0.callbacks().lost;
        let height = u64::from(self.size().rows);
        let (_, columns) = self.0.screen().size();
        let above = self.0.screen().scrollback_len() as u64;
        let first = from.max(lost).max((next + 1).saturating_sub(most as u64));
        let mut rows = Vec::new();
        let mut at = first;
        while at <= next {
            // The view begins at row `at`, or with the screen.
            let back = (lost + above).saturating_sub(at);
            self.0.screen_mut().set_scrollback(back as usize);
            let skip = at - (lost + above - back);
            let view = self.0.screen().rows(0, columns.get());
            let left = (next + 1 - at).min(height - skip);
            let shown = view.skip(skip as usize).take(left as usize);
            rows.extend(shown.map(|row| row.trim_end().to_owned()));
            at += left;
        }
        self.0.screen_mut().set_scrollback(0);
        let shown = rows.iter().rposition(|row| !row.is_empty());
        rows.truncate(shown.map_or(0, |last| last + 1));
        NewRows {
            lost: first - from,
            rows,
            next,
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

impl std::fmt::Debug for Emulator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Emulator")
    }
}

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

/// `rows` for a model, at most the last `bytes`.
pub(super) fn to_text(lost: u64, rows: &[String], bytes: usize) -> String {
    let mut start = rows.len();
    let mut size = 0;
    while start > 0 && size + rows[start - 1].len() < bytes {
        start -= 1;
        size += rows[start].len() + 1;
    }
    let mut text = String::new();
    let omitted = lost + start as u64;
    if omitted > 0 {
        let _ = writeln!(text, "[{omitted} earlier lines omitted]");
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
        assert_eq!(emulator.rows(), ["5", "6", "7", ">"]);
        emulator.process(b"\x1b[2J\x1b[Hnew");
        assert_eq!(emulator.new_rows(second.next + 9, 100).rows, ["new"]);
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
        assert_eq!(emulator.rows(), ["ab"]);
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

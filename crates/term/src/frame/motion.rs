//! Moves the cursor in the fewest bytes.

/// A move with more line feeds is never the shortest.
const MAX_FEEDS: usize = 8;

/// Clears the row of the cursor, which is in the first column, and all rows below it. tmux stores a screen that is cleared from
/// its first cell, so the clearing begins in the second one.
pub(crate) const CLEAR_BELOW: &str = "\x1b[2K\x1b[C\x1b[J\r";

/// The position of the terminal's cursor. The column is unknown after the last column was printed
/// (some terminals delay the line wrap) and after a glyph whose width differs between terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CursorPosition {
    pub(super) column: Option<u16>,
    pub(super) row: u16,
}

/// Writes the shortest move from `from` (`None` if unknown) to a cell.
pub(super) fn write_move(out: &mut Vec<u8>, from: Option<CursorPosition>, column: u16, row: u16) {
    if from.is_some_and(|from| from.column == Some(column) && from.row == row) {
        return;
    }
    let start = out.len();
    push_position(out, column, row);
    let Some(from) = from else {
        return;
    };
    or_shorter(out, start, |out| {
        push_column(out, from.column, column);
        push_row(out, from.row, row);
    });
}

/// Like `write_move`, but only by steps: the row of the screen is unknown.
pub(super) fn write_steps(out: &mut Vec<u8>, from: CursorPosition, column: u16, row: u16) {
    push_column(out, from.column, column);
    if from.row == row {
        return;
    }
    let start = out.len();
    let direction = if from.row < row { b'B' } else { b'A' };
    push_step(out, from.row.abs_diff(row), direction);
    if from.row < row {
        or_shorter(out, start, |out| push_feeds(out, row - from.row));
    }
}

/// Number of bytes of a move to the right within a row.
pub(super) fn forward_cost(columns: u16) -> usize {
    if columns == 1 { 3 } else { 3 + digits(columns) }
}

/// Writes CUP without parameters equal to 1.
fn push_position(out: &mut Vec<u8>, column: u16, row: u16) {
    out.extend_from_slice(b"\x1b[");
    if row > 0 {
        push_number(out, row + 1);
    }
    if column > 0 {
        out.push(b';');
        push_number(out, column + 1);
    }
    out.push(b'H');
}

fn push_column(out: &mut Vec<u8>, from: Option<u16>, to: u16) {
    if from == Some(to) {
        return;
    }
    let start = out.len();
    out.extend_from_slice(b"\x1b[");
    push_number(out, to + 1);
    out.push(b'G');
    or_shorter(out, start, |out| {
        out.push(b'\r');
        if to > 0 {
            push_step(out, to, b'C');
        }
    });
    match from {
        Some(from) if from < to => or_shorter(out, start, |out| push_step(out, to - from, b'C')),
        Some(from) => or_shorter(out, start, |out| match from - to {
            steps @ ..4 => out.extend(std::iter::repeat_n(8, usize::from(steps))),
            steps => push_step(out, steps, b'D'),
        }),
        None => {}
    }
}

fn push_row(out: &mut Vec<u8>, from: u16, to: u16) {
    if from == to {
        return;
    }
    let start = out.len();
    push_step(out, to + 1, b'd');
    or_shorter(out, start, |out| {
        let direction = if from < to { b'B' } else { b'A' };
        push_step(out, from.abs_diff(to), direction);
    });
    // Output is raw, so a line feed above the last row moves straight down.
    if from < to {
        or_shorter(out, start, |out| push_feeds(out, to - from));
    }
}

fn push_feeds(out: &mut Vec<u8>, count: u16) {
    out.extend(std::iter::repeat_n(
        b'\n',
        usize::from(count).min(MAX_FEEDS),
    ));
}

/// Writes a control sequence and leaves out a parameter equal to 1.
pub(super) fn push_step(out: &mut Vec<u8>, count: u16, end: u8) {
    out.extend_from_slice(b"\x1b[");
    if count != 1 {
        push_number(out, count);
    }
    out.push(end);
}

/// Replaces the bytes since `start` with the output of `write` if that is shorter.
fn or_shorter(out: &mut Vec<u8>, start: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let middle = out.len();
    write(out);
    if out.len() - middle < middle - start {
        out.drain(start..middle);
    } else {
        out.truncate(middle);
    }
}

pub(super) fn push_number(out: &mut Vec<u8>, number: u16) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(b'0' + (number % 10) as u8);
}

pub(super) fn digits(number: u16) -> usize {
    match number {
        0..10 => 1,
        10..100 => 2,
        100..1000 => 3,
        _ => 4 + usize::from(number >= 10_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_moves_take_the_fewest_bytes() {
        let at = |column, row| Some(CursorPosition { column, row });
        for (from, to, expected) in [
            (at(Some(4), 3), (4, 3), ""),
            (at(Some(4), 3), (5, 3), "\x1b[C"),
            (at(Some(4), 3), (2, 3), "\x08\x08"),
            (at(Some(40), 3), (0, 3), "\r"),
            (at(Some(40), 13), (0, 14), "\r\n"),
            (at(Some(40), 13), (40, 16), "\n\n\n"),
            (at(Some(40), 13), (40, 25), "\x1b[26d"),
            (at(Some(2), 37), (0, 35), "\x1b[36H"),
            (at(Some(1), 35), (2, 37), "\x1b[C\n\n"),
            (at(Some(1), 31), (2, 37), "\x1b[38;3H"),
            (at(None, 3), (0, 3), "\r"),
            (at(None, 3), (90, 3), "\x1b[91G"),
            (at(Some(90), 3), (90, 30), "\x1b[31d"),
            (None, (0, 0), "\x1b[H"),
            (None, (0, 9), "\x1b[10H"),
            (None, (9, 0), "\x1b[;10H"),
        ] {
            let mut out = Vec::new();
            write_move(&mut out, from, to.0, to.1);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                expected,
                "{from:?} to {to:?}"
            );
        }
    }

    #[test]
    fn steps_never_name_a_row() {
        let at = |column, row| CursorPosition { column, row };
        for (from, to, expected) in [
            (at(Some(4), 3), (4, 3), ""),
            (at(Some(40), 13), (0, 14), "\r\n"),
            (at(Some(40), 13), (40, 25), "\x1b[12B"),
            (at(Some(2), 37), (0, 35), "\r\x1b[2A"),
            (at(None, 3), (90, 2), "\x1b[91G\x1b[A"),
        ] {
            let mut out = Vec::new();
            write_steps(&mut out, from, to.0, to.1);
            let written = String::from_utf8(out).unwrap();
            assert_eq!(written, expected, "{from:?} to {to:?}");
        }
    }
}

//! Output that a program draws in place: progress of several lines, as of `docker pull`, cargo and npm, moves the cursor up
//! and writes its lines again. A small emulated screen follows such output and gives the final lines, without control
//! sequences except styles.
//!
//! Only movements within the last rows have an effect. Clearing the screen, another screen and absolute positions have
//! none: nothing that a program printed before is lost.

use std::num::NonZeroU16;

use memchr::memchr_iter;
use osier_base::ansi::{self, Run, Style, styled};
use vt100::capture::{BasicFormattedCaptureState, RowContents};

/// The rows that the output can reach, and their width. Longer lines continue in the next row.
const ROWS: u16 = 64;
const COLUMNS: u16 = 1000;

const ESC: u8 = 0x1b;
/// The longest sequences.
const LONGEST: usize = 4096;

/// The lines of output that is drawn in place.
pub(super) struct InPlace {
    parser: vt100::Parser<Above>,
    /// The start of a sequence whose rest is not there yet.
    unfinished: Vec<u8>,
}

osier_base::opaque_debug!(InPlace);

/// The rows that left the screen.
#[derive(Default)]
struct Above {
    rows: Vec<Row>,
    /// A row has left the screen, so the first row of the screen is not the line above the output.
    is_past_first: bool,
}

/// A line of output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) colours: Vec<Run>,
}

impl vt100::Callbacks for Above {
    fn on_scroll(&mut self, row: RowContents<'_>, _: bool) {
        let (mut text, mut state) = (String::new(), BasicFormattedCaptureState::default());
        // Writing to a string cannot fail.
        let _ = row.write_formatted_basic(&mut text, &mut state);
        let is_first = !std::mem::replace(&mut self.is_past_first, true);
        if !is_first || !text.is_empty() {
            self.rows.extend(rows(&text));
        }
    }
}

/// The lines of a text with the sequences of styles.
fn rows(formatted: &str) -> Vec<Row> {
    let (text, colours) = styled(formatted, &mut Style::default());
    let mut start = 0;
    let row = |line: &str| {
        let range = start..start + line.len();
        start = range.end + 1;
        Row {
            text: line.to_owned(),
            colours: ansi::part(&colours, range).collect(),
        }
    };
    text.split('\n').map(row).collect()
}

/// Whether `output` moves the cursor to text that was printed before, other than by a carriage return.
pub(super) fn is_drawn(output: &[u8]) -> bool {
    memchr_iter(ESC, output)
        .any(|at| Sequence::at(&output[at..]).is_some_and(|found| found.moves()))
}

/// A complete sequence at the start of an output.
struct Sequence<'a> {
    bytes: &'a [u8],
    is_csi: bool,
}

impl<'a> Sequence<'a> {
    fn at(output: &'a [u8]) -> Option<Self> {
        let rest = &output[..output.len().min(LONGEST)];
        let is_csi = *rest.get(1)? == b'[';
        let length = match rest[1] {
            b'[' => {
                rest[2..]
                    .iter()
                    .position(|byte| !(0x20..=0x3f).contains(byte))?
                    + 3
            }
            b']' | b'P' | b'X' | b'^' | b'_' => {
                let end = rest[2..]
                    .iter()
                    .position(|byte| matches!(*byte, 0x07 | ESC | b'\n'))?
                    + 2;
                match rest[end] {
                    0x07 => end + 1,
                    b'\n' => end,
                    _ => end + 1 + usize::from(*rest.get(end + 1)? == b'\\'),
                }
            }
            b' '..=b'/' => {
                rest[2..]
                    .iter()
                    .position(|byte| !(b' '..=b'/').contains(byte))?
                    + 3
            }
            _ => 2,
        };
        let bytes = &rest[..length];
        Some(Self { bytes, is_csi })
    }

    fn last(&self) -> u8 {
        self.bytes[self.bytes.len() - 1]
    }

    fn moves(&self) -> bool {
        if self.is_csi {
            matches!(self.last(), b'A' | b'D' | b'F' | b'G')
        } else {
            self.bytes == b"\x1bM" || self.bytes == b"\x1b8"
        }
    }

    /// Whether the sequence has an effect on the lines.
    fn is_drawing(&self) -> bool {
        if !self.is_csi {
            return matches!(self.bytes, b"\x1bM" | b"\x1b7" | b"\x1b8");
        }
        match self.last() {
            b'A'..=b'G' | b'K' | b'P' | b'X' | b'@' | b'L' | b'M' | b'm' => true,
            b'J' => !self.bytes.ends_with(b"2J") && !self.bytes.ends_with(b"3J"),
            _ => false,
        }
    }
}

impl InPlace {
    pub(super) fn new() -> Self {
        let size = |number| NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN);
        let (rows, columns) = (size(ROWS), size(COLUMNS));
        let mut parser = vt100::Parser::new_with_callbacks(rows, columns, 0, Above::default());
        // Programs move up to the line above their output and down again.
        parser.process(b"\r\n");
        Self {
            parser,
            unfinished: Vec::new(),
        }
    }

    pub(super) fn feed(&mut self, output: &[u8]) {
        let output = [&self.unfinished, output].concat();
        let mut rest = &output[..];
        let mut kept = Vec::with_capacity(rest.len() + rest.len() / 16);
        while let Some(byte) = rest.first() {
            let length = match *byte {
                ESC => match Sequence::at(rest) {
                    Some(sequence) => {
                        if sequence.is_drawing() {
                            kept.extend_from_slice(sequence.bytes);
                        }
                        sequence.bytes.len()
                    }
                    None if rest.len() > LONGEST => 1,
                    None => break,
                },
                // A program without a terminal ends its lines with a line feed alone.
                b'\n' => {
                    kept.extend_from_slice(b"\r\n");
                    1
                }
                byte => {
                    kept.push(byte);
                    1
                }
            };
            rest = &rest[length..];
        }
        self.unfinished = rest.to_vec();
        self.parser.process(&kept);
    }

    /// The lines that left the screen since the last call.
    pub(super) fn take_above(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.parser.callbacks_mut().rows)
    }

    /// The lines that can still change, up to the cursor or the last text.
    pub(super) fn on_screen(&self) -> Vec<Row> {
        let screen = self.parser.screen();
        let mut lines = rows(&screen.contents_formatted_basic());
        let (row, _) = screen.cursor_position();
        let wrapped = (0..row).filter(|row| screen.row_wrapped(*row)).count();
        let cursor = usize::from(row) - wrapped;
        let last = lines.iter().rposition(|line| !line.text.is_empty());
        lines.truncate(last.unwrap_or(0).max(cursor) + 1);
        let is_empty = |line: &Row| line.text.is_empty();
        if !self.parser.callbacks().is_past_first && lines.len() > 1 && is_empty(&lines[0]) {
            lines.remove(0);
        }
        lines
    }
}

/// The text of `output`, which is drawn in place, as it is in the end.
pub(super) fn text(output: &[u8]) -> String {
    let mut drawn = InPlace::new();
    drawn.feed(output);
    let mut lines = drawn.take_above();
    lines.extend(drawn.on_screen());
    let lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of programs, and the lines that remain of it.
    #[test]
    fn progress_of_several_lines_is_drawn_in_place() {
        let docker = concat!(
            "Using default tag: latest\nlatest: Pulling from library/alpine\n",
            "\x1b[1A\x1b[2K\rlatest: Pulling from library/alpine\x1b[1B\r\n",
            "c1d2: Pulling fs layer \n9a8b: Pulling fs layer \n",
            "\x1b[2A\x1b[2K\rc1d2: Downloading [=>   ]  1MB/3MB\r\x1b[2B",
            "\x1b[1A\x1b[2K\r9a8b: Downloading [==>  ]  2MB/3MB\r\x1b[1B",
            "\x1b[2A\x1b[2K\rc1d2: Pull complete \r\x1b[2B",
            "\x1b[1A\x1b[2K\r9a8b: Pull complete \r\x1b[1B",
            "Digest: sha256:00\n",
        );
        let cargo = concat!(
            "   Compiling a v1.0.0\n\x1b[1m\x1b[36m    Building\x1b[0m [==>      ] 1/9: a\r\x1b[K",
            "   Compiling b v1.0.0\n    Building [=====>   ] 2/9: b\n\x1b[1A\r\x1b[K    Finished in 2s\n",
        );
        let npm = concat!(
            "\x1b[?25l\x1b[1G\x1b[0K⠙ reify\x1b[1G\x1b[0K⠹ reify: lodash\x1b[1G\x1b[0K\x1b[?25h",
            "added 3 packages in 1s\n",
        );
        let jest = concat!(
            "\nRUNS  a.test.js\nRUNS  b.test.js\n\x1b[999D\x1b[K\x1b[1A\x1b[999D\x1b[K\x1b[1A\x1b[999D\x1b[K",
            "PASS a.test.js\nRUNS  b.test.js\n\x1b[999D\x1b[K\x1b[1A\x1b[999D\x1b[KPASS b.test.js\n",
        );
        let buildkit = concat!(
            "\x1b[1A\x1b[1B\x1b[0G\x1b[?25l[+] Building 0.1s (1/2)\n => [1/2] FROM alpine 0.0s\n\x1b[?25h",
            "\x1b[1A\x1b[1A\x1b[0G\x1b[?25l[+] Building 0.2s (2/2) FINISHED\n => [1/2] FROM alpine 0.1s\n",
            " => [2/2] RUN true 0.1s\n\x1b[?25h",
        );
        for (output, expected) in [
            (
                docker,
                "Using default tag: latest\nlatest: Pulling from library/alpine\n\nc1d2: Pull complete \n9a8b: Pull complete \nDigest: sha256:00\n",
            ),
            (
                cargo,
                "   Compiling a v1.0.0\n   Compiling b v1.0.0\n    Finished in 2s\n",
            ),
            (npm, "added 3 packages in 1s\n"),
            (jest, "\nPASS a.test.js\nPASS b.test.js\n"),
            (
                buildkit,
                "[+] Building 0.2s (2/2) FINISHED\n => [1/2] FROM alpine 0.1s\n => [2/2] RUN true 0.1s\n",
            ),
            // Up by more lines than there are, and a clear screen: nothing else is lost.
            ("a\nb\n\x1b[9Ax\n", "x\na\nb"),
            ("kept\n\x1b[2J\x1b[H\x1b[?1049hb\n\x1b[1Ac\n", "kept\nc\n"),
            ("one\r\ntwo\r\n\x1b]0;title\x07\x1b[1A2", "one\n2wo"),
        ] {
            assert!(is_drawn(output.as_bytes()), "{output:?}");
            assert_eq!(text(output.as_bytes()), expected, "{output:?}");
            // The parts in which it arrives make no difference.
            let mut drawn = InPlace::new();
            output
                .as_bytes()
                .iter()
                .for_each(|byte| drawn.feed(&[*byte]));
            let lines: Vec<String> = drawn.on_screen().into_iter().map(|row| row.text).collect();
            assert_eq!(lines.join("\n"), expected, "{output:?}");
        }
    }

    #[test]
    fn plain_output_and_single_lines_need_no_screen() {
        for output in [
            "a\nb\n",
            "10%\r20%\r\x1b[K30%\n",
            "\x1b[31mred\x1b[0m\n",
            "\x1b[2J\x1b[H",
            "\x1b[1",
        ] {
            assert!(!is_drawn(output.as_bytes()), "{output:?}");
        }
    }

    #[test]
    fn lines_above_the_screen_are_kept_with_their_colours() {
        let mut drawn = InPlace::new();
        let lines: Vec<String> = (1..=500)
            .map(|number| format!("\x1b[31m{number}\x1b[0m"))
            .collect();
        drawn.feed(format!("{}\n\x1b[1Alast\n", lines.join("\n")).as_bytes());
        let (above, screen) = (drawn.take_above(), drawn.on_screen());
        assert_eq!((above.len(), screen.len()), (437, 64));
        let red = |length| ansi::Run {
            start: 0,
            end: length,
            style: Style {
                fg: Some(ansi::Hue::Named(1)),
                ..Style::default()
            },
        };
        let first = Row {
            text: "1".to_owned(),
            colours: vec![red(1)],
        };
        assert_eq!(above[0], first);
        assert_eq!(
            screen[62],
            Row {
                text: "last".to_owned(),
                colours: vec![]
            }
        );
        assert_eq!(
            screen[61],
            Row {
                text: "499".to_owned(),
                colours: vec![red(3)]
            }
        );
    }

    /// Any output leaves a text without control characters, in bounded memory.
    #[test]
    fn hostile_output_is_text() {
        for output in [
            &b"\x1b[99999999999999999A\x1b[99999999999G x\x1b[99999999X"[..],
            b"\x1b[1A\xff\xfe\x1b]0;no end",
            b"\x1b[1A\x1bP\x1b\x1b[\x1b[;;;;A",
            b"\x1b[1A\xe2\x80\xaeabc",
        ] {
            let shown = osier_base::text::sanitize(&text(output)).into_owned();
            assert!(!shown.contains('\x1b'), "{shown:?}");
        }
    }
}

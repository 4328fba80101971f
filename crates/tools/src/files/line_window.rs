//! Reads a file once, returns a window of its lines and counts the rest, in bounded memory whatever the
//! length of the file or of a line.

use std::fmt::Write as _;
use std::io::{self, BufRead};

use tokio_util::sync::CancellationToken;

use super::ledger::ContentHash;

/// The lines after the window are counted up to this place in the file.
const COUNTED: u64 = 1 << 30;
/// Maximum bytes of one line.
pub(crate) const MAX_LINE: usize = 4096;

/// The lines to return.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// First line, from 1.
    pub(crate) offset: u64,
    pub(crate) max_lines: u64,
    /// Maximum bytes of numbered text.
    pub(crate) max_bytes: usize,
}

/// The result of a pass.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The window: each line after its number and a tab.
    pub(crate) text: String,
    pub(crate) lines_read: u64,
    pub(crate) total_lines: u64,
    /// Lines of the window that were cut.
    pub(crate) cut_lines: u64,
    /// The window has bytes that are no UTF-8.
    pub(crate) is_damaged: bool,
    /// The next line did not fit.
    pub(crate) is_full: bool,
    /// There are more lines than were counted.
    pub(crate) is_longer: bool,
    pub(crate) hash: ContentHash,
}

/// Reads `source` to its end, or as far as lines are counted. The error kind `Interrupted` means an interrupted pass.
pub(crate) fn scan(
    source: impl BufRead,
    window: Window,
    cancel: &CancellationToken,
) -> io::Result<Scan> {
    scan_to(source, window, COUNTED, cancel)
}

fn scan_to(
    mut source: impl BufRead,
    window: Window,
    counted: u64,
    cancel: &CancellationToken,
) -> io::Result<Scan> {
    let mut scanner = Scanner {
        scan: Scan::default(),
        window,
        line: Vec::new(),
        line_length: 0,
        closed: window.max_lines == 0,
    };
    loop {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let is_shown = scanner.closed || scanner.line.len() == MAX_LINE;
        if is_shown && scanner.scan.hash.length() > counted {
            scanner.scan.is_longer = true;
            break;
        }
        let chunk = match source.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        scanner.scan.hash.update(chunk);
        scanner.feed(chunk);
        let length = chunk.len();
        source.consume(length);
    }
    if scanner.line_length > 0 {
        scanner.end_line();
    }
    Ok(scanner.scan)
}

struct Scanner {
    scan: Scan,
    window: Window,
    /// The start of the current line, when it is in the window.
    line: Vec<u8>,
    /// Bytes of the current line so far.
    line_length: usize,
    /// The window is full.
    closed: bool,
}

impl Scanner {
    fn feed(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let (piece, rest) = match end {
                Some(end) => (&chunk[..end], &chunk[end + 1..]),
                None => (chunk, &chunk[chunk.len()..]),
            };
            if self.is_wanted() {
                let room = MAX_LINE.saturating_sub(self.line.len()).min(piece.len());
                self.line.extend_from_slice(&piece[..room]);
            }
            self.line_length += piece.len();
            if end.is_some() {
                self.end_line();
            }
            chunk = rest;
            if self.closed && self.line_length == 0 {
                self.count(chunk);
                return;
            }
        }
    }

    /// Only counts the remaining lines.
    fn count(&mut self, chunk: &[u8]) {
        self.scan.total_lines += count_newlines(chunk);
        let tail = chunk
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        self.line_length = chunk.len() - tail;
    }

    fn is_wanted(&self) -> bool {
        !self.closed && self.scan.total_lines + 1 >= self.window.offset
    }

    fn end_line(&mut self) {
        let wanted = self.is_wanted();
        self.scan.total_lines += 1;
        if wanted {
            self.keep_line();
        }
        self.line.clear();
        self.line_length = 0;
    }

    fn keep_line(&mut self) {
        let (line, is_damaged) = self.line_text();
        let text = format!("{}\t{line}\n", self.scan.total_lines);
        if self.scan.text.len() + text.len() > self.window.max_bytes {
            self.closed = true;
            self.scan.is_full = true;
            return;
        }
        self.scan.text.push_str(&text);
        self.scan.is_damaged |= is_damaged;
        self.scan.lines_read += 1;
        self.scan.cut_lines += u64::from(self.line_length > MAX_LINE);
        self.closed = self.scan.lines_read >= self.window.max_lines;
    }

    /// The line without its carriage return and byte order mark, and whether it has bytes that are no UTF-8; NUL is shown as
    /// `␀`.
    fn line_text(&self) -> (String, bool) {
        let cut = self.line_length > self.line.len();
        let mut line = self.line.as_slice();
        if cut {
            line = complete_characters(line);
        } else {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        if self.scan.total_lines == 1 {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        let is_damaged = str::from_utf8(line).is_err();
        let mut text = String::from_utf8_lossy(line).replace('\0', "␀");
        if cut {
            let left_out = self.line_length - self.line.len();
            let _ = write!(text, "… [{left_out} more bytes in this line]");
        }
        (text, is_damaged)
    }
}

#[expect(clippy::naive_bytecount, reason = "the compiler vectorizes it")]
pub(crate) fn count_newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// `bytes` without an incomplete character at the end.
pub(crate) fn complete_characters(bytes: &[u8]) -> &[u8] {
    let start = bytes.len().saturating_sub(3);
    for index in (start..bytes.len()).rev() {
        let length = match bytes[index] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
            0x80..=0xbf => continue,
            _ => 1,
        };
        return if index + length > bytes.len() {
            &bytes[..index]
        } else {
            bytes
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn scan_all(bytes: &[u8], offset: u64, max_lines: u64, max_bytes: usize) -> Scan {
        let window = Window {
            offset,
            max_lines,
            max_bytes,
        };
        // A small buffer, so that lines and characters are split across chunks.
        let source = BufReader::with_capacity(3, bytes);
        scan(source, window, &CancellationToken::new()).unwrap()
    }

    #[test]
    fn the_window_is_numbered_and_the_rest_counted() {
        for (bytes, offset, limit, text, total) in [
            ("", 1, 10, "", 0),
            ("a", 1, 10, "1\ta\n", 1),
            ("a\n\nb", 1, 10, "1\ta\n2\t\n3\tb\n", 3),
            ("a\r\nb\r\n", 1, 10, "1\ta\n2\tb\n", 2),
            ("a\nb\nc\nd\n", 2, 2, "2\tb\n3\tc\n", 4),
            ("a\nb\nc\nlong tail", 1, 1, "1\ta\n", 4),
            ("\u{feff}é漢\n", 1, 10, "1\té漢\n", 1),
            ("a\n", 5, 10, "", 1),
        ] {
            let scan = scan_all(bytes.as_bytes(), offset, limit, 1000);
            assert_eq!(
                (scan.text.as_str(), scan.total_lines),
                (text, total),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_huge_file_is_read_no_further_than_lines_are_counted() {
        let window = Window {
            offset: 1,
            max_lines: 1,
            max_bytes: 100_000,
        };
        let long = "x".repeat(2 * MAX_LINE);
        for (text, expected) in [
            ("a\nb\nc\n", ("1\ta\n".to_owned(), true)),
            ("a\nb", ("1\ta\n".to_owned(), false)),
            (
                &long,
                (
                    format!("1\t{}… [2 more bytes in this line]\n", &long[..MAX_LINE]),
                    true,
                ),
            ),
        ] {
            let source = BufReader::with_capacity(3, text.as_bytes());
            let scan = scan_to(source, window, 4, &CancellationToken::new()).unwrap();
            assert_eq!((scan.text, scan.is_longer), expected);
        }
    }

    #[test]
    fn bytes_limit_the_window_to_complete_lines() {
        let scan = scan_all(b"aaa\nbbb\nccc\n", 1, 10, 15);
        assert_eq!(scan.text, "1\taaa\n2\tbbb\n");
        assert_eq!((scan.lines_read, scan.total_lines), (2, 3));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let line = format!("{}漢{}\nnext\n", "x".repeat(MAX_LINE - 1), "y".repeat(100));
        let scan = scan_all(line.as_bytes(), 1, 10, 100_000);
        let shown = format!(
            "1\t{}… [102 more bytes in this line]\n2\tnext\n",
            "x".repeat(MAX_LINE - 1)
        );
        assert_eq!(scan.text, shown);
        assert_eq!(scan.cut_lines, 1);
    }

    #[test]
    fn an_incomplete_character_is_removed() {
        let text = "a漢".as_bytes();
        assert_eq!(complete_characters(&text[..2]), b"a");
        assert_eq!(complete_characters(&text[..3]), b"a");
        assert_eq!(complete_characters(text), text);
        assert_eq!(complete_characters(b"\xff"), b"");
        assert_eq!(
            complete_characters(b"\x80\x80\x80\x80"),
            b"\x80\x80\x80\x80"
        );
    }
}

//! The output of a command in bounded memory: its start and its end, of which a model gets a part. The raw
//! bytes are stored; they are converted to text without control sequences when they are shown.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;

use super::in_place;
use crate::files::line_window::{complete_characters, count_newlines};
use osier_base::text::{head_bytes, sanitize, tail_bytes};

/// Bytes stored of the start and of the end.
const HEAD: usize = 512 * 1024;
const TAIL: usize = 512 * 1024;
/// Limits of the output for a model, unless a setting says otherwise.
pub(crate) const MODEL_BYTES: usize = 50 * 1024;
const MODEL_LINES: usize = 2_000;
/// Bytes of a line for a model. A minified file or a progress bar would fill the context window.
const MODEL_LINE: usize = 2 * 1024;
/// The part of these bytes that is from the start of the line.
const MODEL_LINE_HEAD: usize = 1536;
/// Lines of the omitted middle that look like errors: their number, and the bytes of each and of all.
const ERROR_LINES: usize = 30;
const ERROR_LINE: usize = 300;
const ERROR_BYTES: usize = 4 * 1024;
/// Words in lines about errors, in lower case.
const ERROR_WORDS: [&str; 9] = [
    "error",
    "failed",
    "failure",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "undefined",
    "not found",
];
/// The largest limit. An output that exceeds it by one read still fits into the stored start.
pub(crate) const MOST_KILOBYTES: u64 = 400;

/// How much of an output a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    bytes: usize,
    lines: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self {
            bytes: MODEL_BYTES,
            lines: MODEL_LINES,
        }
    }
}

impl OutputLimits {
    /// Limits of so many kilobytes, and as many lines in proportion.
    pub fn of_kilobytes(kilobytes: u64) -> Self {
        let bytes = kilobytes.clamp(1, MOST_KILOBYTES) as usize * 1024;
        Self {
            bytes,
            lines: bytes * MODEL_LINES / MODEL_BYTES,
        }
    }

    /// The limits of the start of an output. Errors are more often at the end.
    fn head(self) -> Self {
        Self {
            bytes: self.bytes * 2 / 5,
            lines: self.lines * 2 / 5,
        }
    }
}

/// The captured output.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    limits: OutputLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    newlines: u64,
    /// Bytes of the last line so far.
    line: usize,
    /// There is a line that is too long for a model.
    has_long_line: bool,
}

impl Capture {
    pub(crate) fn new(limits: OutputLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.newlines += count_newlines(bytes);
        self.measure_lines(bytes);
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    fn measure_lines(&mut self, bytes: &[u8]) {
        if self.has_long_line {
            return;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line += part.len();
            self.has_long_line |= self.line > MODEL_LINE;
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
    }

    /// Number of bytes captured.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether the output exceeds the limit for a model, so that it must be stored in a file.
    pub(crate) fn exceeds_model(&self) -> bool {
        let limits = self.limits;
        self.total > limits.bytes as u64
            || self.newlines > limits.lines as u64
            || self.has_long_line
    }

    /// The stored start.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The stored output from byte `from` on.
    pub(crate) fn since(&self, from: u64) -> Excerpt {
        let from = from.min(self.total);
        let head = self.head.get(from as usize..).unwrap_or_default().to_vec();
        let tail_start = self.total - self.tail.len() as u64;
        let skip = from.saturating_sub(tail_start) as usize;
        let tail: Vec<u8> = self.tail.iter().skip(skip).copied().collect();
        let bytes = self.total - from;
        let kept = (head.len() + tail.len()) as u64;
        Excerpt {
            limits: self.limits,
            bytes,
            // The count is exact only for the complete output, and only that case reports it.
            newlines: if from == 0 {
                self.newlines
            } else {
                count_newlines(&head) + count_newlines(&tail)
            },
            is_complete: kept == bytes,
            head,
            tail,
        }
    }
}

/// A part of an output, possibly with a gap between its start and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    limits: OutputLimits,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Length of the part, including the gap.
    bytes: u64,
    newlines: u64,
    /// There is no gap.
    is_complete: bool,
}

/// The output for a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) truncated: bool,
}

impl Excerpt {
    /// The bytes after the gap, or all when there is none, and the number of bytes before them.
    pub(crate) fn end(self) -> (u64, Vec<u8>) {
        if !self.is_complete {
            return (self.bytes - self.tail.len() as u64, self.tail);
        }
        let mut bytes = self.head;
        bytes.extend_from_slice(&self.tail);
        (0, bytes)
    }

    /// The text for a model. The omitted middle is counted, and `full` names the file with the complete
    /// output.
    pub(crate) fn for_model(self, full: &FullOutput<'_>) -> Shown {
        let (bytes, newlines, limits) = (self.bytes, self.newlines, self.limits);
        let (head, tail) = if self.is_complete {
            let text = to_text(&[self.head, self.tail].concat());
            let short = with_short_lines(&text);
            if short.len() <= limits.bytes && short.lines().count() <= limits.lines {
                let truncated = matches!(short, Cow::Owned(_));
                let note = match full.describe() {
                    place if truncated && !place.is_empty() => {
                        format!("\n[long lines were cut{place}]")
                    }
                    _ => String::new(),
                };
                return Shown {
                    text: format!(
                        "{}{note}",
                        short.trim_end_matches(if truncated { "\n" } else { "" })
                    ),
                    truncated,
                };
            }
            let short = short.into_owned();
            (short.clone(), short)
        } else {
            let head = to_text(complete_characters(&self.head));
            let tail = to_text(from_line_start(&self.tail));
            (
                with_short_lines(&head).into_owned(),
                with_short_lines(&tail).into_owned(),
            )
        };
        let (all_head, all_tail) = (head, tail);
        let of_head = limits.head();
        let head = cut_end(&all_head, of_head.lines, of_head.bytes);
        let tail = cut_start(
            &all_tail,
            limits.lines - of_head.lines,
            limits.bytes - of_head.bytes,
        );
        let shown = head.len() + tail.len();
        let shown_lines = head.matches('\n').count() + tail.matches('\n').count();
        let left_out = bytes.saturating_sub(shown as u64);
        let lines = newlines.saturating_sub(shown_lines as u64);
        let newline = if head.ends_with('\n') { "" } else { "\n" };
        let place = full.describe();
        let errors = if self.is_complete {
            error_lines(&[&all_head[head.len()..all_head.len() - tail.len()]])
        } else {
            let before_tail = &all_tail[..all_tail.len() - tail.len()];
            error_lines(&[&all_head[head.len()..], before_tail])
        };
        let mark = if errors.is_empty() {
            " …]"
        } else {
            "; of these, lines that look like errors:]"
        };
        let end = if errors.is_empty() { "" } else { "[…]\n" };
        Shown {
            text: format!(
                "{head}{newline}[… {lines} lines, {left_out} bytes omitted{place}{mark}\n{errors}{end}{tail}"
            ),
            truncated: true,
        }
    }
}

/// The file with the complete output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FullOutput<'a> {
    /// No file, because none was requested.
    NotStored,
    At {
        path: &'a Path,
        /// The bytes of the file if it lacks the end of the output.
        incomplete: Option<u64>,
    },
    Failed(&'a str),
}

impl FullOutput<'_> {
    fn describe(&self) -> String {
        match self {
            Self::NotStored => String::new(),
            Self::At {
                path,
                incomplete: None,
            } => format!("; full output: {}", path.display()),
            Self::At {
                path,
                incomplete: Some(bytes),
            } => {
                let size = match bytes >> 20 {
                    1024 => "GiB".to_owned(),
                    size => format!("{size} MiB"),
                };
                format!("; the first {size} of output: {}", path.display())
            }
            Self::Failed(error) => format!("; the full output could not be stored: {error}"),
        }
    }
}

/// `text` with the start and the end of lines that are too long.
fn with_short_lines(text: &str) -> Cow<'_, str> {
    if text.lines().all(|line| line.len() <= MODEL_LINE) {
        return Cow::Borrowed(text);
    }
    let mut short = String::new();
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        if content.len() <= MODEL_LINE {
            short.push_str(line);
            continue;
        }
        let head = head_bytes(content, MODEL_LINE_HEAD);
        let tail = tail_bytes(content, MODEL_LINE - MODEL_LINE_HEAD - 64);
        let left_out = content.len() - head.len() - tail.len();
        // Writing to a string cannot fail.
        let _ = write!(
            short,
            "{head}[… {left_out} bytes of this line omitted …]{tail}"
        );
        short.push_str(&line[content.len()..]);
    }
    Cow::Owned(short)
}

/// The lines that look like errors, the first ones of the omitted `parts`.
fn error_lines(parts: &[&str]) -> String {
    let lines = parts.iter().flat_map(|part| part.lines());
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let mut text = String::new();
    for line in lines.filter(is_error).take(ERROR_LINES) {
        let line = head_bytes(line, ERROR_LINE);
        if text.len() + line.len() > ERROR_BYTES {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn to_text(bytes: &[u8]) -> String {
    if in_place::is_drawn(bytes) {
        return sanitize(&in_place::text(bytes)).into_owned();
    }
    sanitize(&String::from_utf8_lossy(bytes)).into_owned()
}

/// `bytes` without an incomplete line, or at least character, at the start.
fn from_line_start(bytes: &[u8]) -> &[u8] {
    const NEAR: usize = 4096;
    let start = &bytes[..bytes.len().min(NEAR)];
    if let Some(newline) = start.iter().position(|byte| *byte == b'\n') {
        return &bytes[newline + 1..];
    }
    let continued = start
        .iter()
        .take(3)
        .take_while(|byte| (0x80..0xc0).contains(*byte))
        .count();
    &bytes[continued..]
}

/// The start of `text`: complete lines if they are at least half of the limit.
fn cut_end(text: &str, lines: usize, bytes: usize) -> &str {
    let end = text
        .match_indices('\n')
        .nth(lines.saturating_sub(1))
        .map_or(text.len(), |(at, _)| at + 1);
    let short = head_bytes(&text[..end], bytes);
    if short.len() == end {
        return short;
    }
    match short.rfind('\n') {
        Some(newline) if newline >= bytes / 2 => &short[..=newline],
        _ => short,
    }
}

/// The end of `text`: complete lines if they are at least half of the limit.
fn cut_start(text: &str, lines: usize, bytes: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let start = body
        .rmatch_indices('\n')
        .nth(lines.saturating_sub(1))
        .map_or(0, |(at, _)| at + 1);
    let short = tail_bytes(&text[start..], bytes);
    if short.len() == text.len() - start {
        return short;
    }
    match short.find('\n') {
        Some(newline) if newline <= bytes / 2 => &short[newline + 1..],
        _ => short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbered;

    fn shown(bytes: &[u8]) -> Shown {
        let mut capture = Capture::default();
        for chunk in bytes.chunks(7000) {
            capture.push(chunk);
        }
        capture.since(0).for_model(&FullOutput::NotStored)
    }

    #[test]
    fn short_output_is_complete_and_clean() {
        let output = shown("a\x1b[31mé\x1b[0m\0\r\nb\u{9b}1m\n".as_bytes());
        assert_eq!(output.text, "aé\nb\n");
        assert!(!output.truncated);
        assert_eq!(shown(b"a\xffb").text, "a\u{fffd}b");
    }

    #[test]
    fn long_output_keeps_its_start_and_end() {
        let output = shown(numbered(1..=5000).as_bytes());
        let lines: Vec<&str> = output.text.lines().collect();
        assert_eq!((lines[0], lines[799]), ("1", "800"));
        let bytes = numbered(1..=5000).len()
            - numbered(1..=800).len()
            - (numbered(1..=5000).len() - numbered(1..=3800).len());
        assert_eq!(
            lines[800],
            format!("[… 3000 lines, {bytes} bytes omitted …]")
        );
        assert_eq!((lines[801], lines[2000]), ("3801", "5000"));
        assert_eq!(lines.len(), 2001);
        assert!(output.truncated);
    }

    #[test]
    fn omitted_output_is_counted() {
        let text = numbered(1..=500_000);
        let output = shown(text.as_bytes());
        assert!(output.text.len() <= MODEL_BYTES + 200);
        assert!(output.text.starts_with("1\n2\n"));
        assert!(output.text.ends_with("\n499999\n500000\n"));
        let lines = output.text.lines().count() - 1;
        let marker = format!("[… {} lines, ", 500_000 - lines);
        assert!(output.text.contains(&marker), "{marker}");
    }

    #[test]
    fn one_long_line_is_cut_between_characters() {
        for count in [1_000, 100_000, 1_000_000] {
            let output = shown("漢".repeat(count).as_bytes());
            assert!(
                output.text.len() <= 2 * MODEL_LINE + 200,
                "{}",
                output.text.len()
            );
            assert!(!output.text.contains('\u{fffd}'));
            assert!(output.text.contains(" bytes of this line omitted …]"));
            assert!(output.truncated);
        }
        let mut capture = Capture::default();
        capture.push(&[b'x'; 1025]);
        assert!(!capture.exceeds_model());
        capture.push(&[b'y'; 1025]);
        assert!(capture.exceeds_model());
    }

    #[test]
    fn errors_of_the_omitted_middle_are_shown() {
        let middle =
            "error[E0308]: mismatched types\n  --> src/a.rs:3\nTest FAILED: one\n0 errors\n";
        let text = [numbered(1..=2000), middle.to_owned(), numbered(1..=2000)].concat();
        let output = shown(text.as_bytes()).text;
        let (_, rest) = output
            .split_once("; of these, lines that look like errors:]\n")
            .unwrap();
        assert!(
            rest.starts_with("error[E0308]: mismatched types\nTest FAILED: one\n0 errors\n[…]\n"),
            "{}",
            &rest[..200]
        );
        let many = "an error\n".repeat(100_000);
        let output = shown([numbered(1..=2000), many].concat().as_bytes()).text;
        assert_eq!(output.matches("an error\n").count(), 1200 + ERROR_LINES);
    }

    #[test]
    fn memory_is_bounded() {
        let mut capture = Capture::default();
        for _ in 0..100 {
            capture.push(&vec![b'x'; 100_000]);
        }
        assert_eq!(capture.total(), 10_000_000);
        assert_eq!((capture.head.len(), capture.tail.len()), (HEAD, TAIL));
        assert!(capture.tail.capacity() <= 2 * TAIL);
    }

    #[test]
    fn a_later_part_can_be_read() {
        let mut capture = Capture::default();
        capture.push(b"first\n");
        let seen = capture.total();
        capture.push(b"second\n");
        let text = |from| capture.since(from).for_model(&FullOutput::NotStored).text;
        assert_eq!(text(seen), "second\n");
        assert_eq!(text(capture.total()), "");
        assert_eq!(text(0), "first\nsecond\n");
        let mut capture = Capture::default();
        capture.push(&vec![b'x'; HEAD + 10]);
        capture.push(b"\nend");
        let text = capture
            .since(HEAD as u64 + 5)
            .for_model(&FullOutput::NotStored)
            .text;
        assert_eq!(text, "xxxxx\nend");
    }
}

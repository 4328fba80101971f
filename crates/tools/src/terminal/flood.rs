//! Finds output that no user can see: a program that prints faster than a screen can show moves most lines out of the
//! retained rows before a user reads them. Such lines are counted and not emulated.

use std::borrow::Cow;
use std::num::NonZeroU16;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem, memrchr_iter};
use osier_base::process::PtySize;
use unicode_width::UnicodeWidthChar as _;

/// Minimum bytes of output that is skipped.
const WORTH: usize = 4096;
/// The longest escape sequences that may be skipped.
const PARAMETERS: usize = 128;
const OSC: usize = 4096;

const ESC: u8 = 0x1b;
const CANCEL: [u8; 2] = [0x18, 0x1a];

/// Where the parser of the emulator is between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ParserState {
    #[default]
    Text,
    Escape,
    EscapeIntermediate,
    Csi,
    Osc,
    /// DCS, SOS, PM or APC. A DCS may have ended already.
    ControlString,
}

impl ParserState {
    /// The state after `output`.
    pub(super) fn after(mut self, output: &[u8]) -> Self {
        let mut at = 0;
        while at < output.len() {
            if self == Self::Text {
                let Some(escape) = memchr(ESC, &output[at..]) else {
                    break;
                };
                at += escape;
            }
            self = self.next(output[at]);
            at += 1;
        }
        self
    }

    fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (_, ESC) => Self::Escape,
            (Self::Text, _) => Self::Text,
            (_, byte) if CANCEL.contains(&byte) => Self::Text,
            (Self::Escape, b'[') => Self::Csi,
            (Self::Escape, b']') => Self::Osc,
            (Self::Escape, b'P' | b'X' | b'^' | b'_') => Self::ControlString,
            (Self::Escape, 0x20..=0x2f) => Self::EscapeIntermediate,
            (Self::Escape | Self::EscapeIntermediate, 0x30..=0x7e)
            | (Self::Csi, 0x40..=0x7e)
            | (Self::Osc, 0x07) => Self::Text,
            (state, _) => state,
        }
    }
}

/// The parts of `output` that have only text and sequences that change nothing besides the row of the cursor and the
/// style of later text.
pub(super) fn runs(output: &[u8], mut state: ParserState) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < output.len() {
        if state != ParserState::Text {
            state = state.next(output[at]);
            at += 1;
            start = at;
            continue;
        }
        let Some(escape) = memchr(ESC, &output[at..]) else {
            break;
        };
        at += escape;
        if let Some(length) = harmless_sequence(&output[at..]) {
            at += length;
        } else {
            runs.push(start..at);
            state = ParserState::Escape;
            at += 1;
        }
    }
    if state == ParserState::Text {
        runs.push(start..output.len());
    }
    runs
}

/// The length of the complete sequence at the start of `output`, if it moves nothing: styles, erasing in a row, titles and
/// links, and character sets.
fn harmless_sequence(output: &[u8]) -> Option<usize> {
    match output.get(1)? {
        b'[' => {
            let rest = &output[2..output.len().min(2 + PARAMETERS)];
            let length = rest.iter().position(|byte| !(b'0'..=b';').contains(byte))?;
            matches!(rest[length], b'm' | b'K').then_some(length + 3)
        }
        b']' => {
            let rest = &output[2..output.len().min(2 + OSC)];
            let length = rest.iter().position(|byte| *byte < 0x20)?;
            match (rest[length], rest.get(length + 1)) {
                (0x07, _) => Some(length + 3),
                (ESC, Some(b'\\')) => Some(length + 4),
                _ => None,
            }
        }
        b'(' | b')' | b'*' | b'+' => matches!(output.get(2)?, 0x30..=0x7e).then_some(3),
        _ => None,
    }
}

/// The text of `line` without harmless sequences.
pub(super) fn without_sequences(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr(ESC, line).is_none() {
        return Cow::Borrowed(line);
    }
    let (mut text, mut at) = (Vec::with_capacity(line.len()), 0);
    while at < line.len() {
        let escape = memchr(ESC, &line[at..]).map_or(line.len(), |escape| at + escape);
        text.extend_from_slice(&line[at..escape]);
        at = escape + harmless_sequence(&line[escape..]).unwrap_or(1);
    }
    Cow::Owned(text)
}

/// Output that leaves no trace in the retained rows.
#[derive(Debug)]
pub(super) struct Skip {
    /// The bytes of the skipped output in the run: complete lines.
    pub bytes: Range<usize>,
    /// How many rows the cursor moves down.
    pub rows: u64,
    /// Bytes that set the style and the last character as the skipped output does. Printed in one row.
    pub restore: Vec<u8>,
}

/// The part of `run` that nobody can see if the last `retained` rows are.
pub(super) fn skippable(run: &[u8], size: PtySize, retained: usize) -> Option<Skip> {
    let mut ends = memrchr_iter(b'\n', run).skip(retained);
    let end = ends.find(|end| *end > 0 && run[end - 1] == b'\r')? + 1;
    let start = memmem::find(&run[..end], b"\r\n")? + 2;
    if end < start + WORTH {
        return None;
    }
    let mut rows = Rows::new(size.columns);
    let mut line = start;
    for feed in memchr_iter(b'\n', &run[start..end]) {
        rows.add_line(&run[line..start + feed])?;
        line = start + feed + 1;
    }
    Some(Skip {
        bytes: start..end,
        rows: rows.count,
        restore: rows.restore(),
    })
}

/// The start of the last ASCII characters of `run` that form one line.
pub(super) fn line_start(run: &[u8]) -> Option<usize> {
    let Some(before) = run.iter().rposition(|byte| !is_printable(*byte)) else {
        return Some(0);
    };
    match &run[before..] {
        [ESC, b'\\', ..] => Some(before + 2),
        sequence @ [ESC, ..] => Some(before + harmless_sequence(sequence)?),
        _ => Some(before + 1),
    }
}

/// The same as [`skippable`] for a `line` of ASCII characters without an end, which begins in this `column`.
pub(super) fn skippable_in_line(
    line: &[u8],
    column: u16,
    size: PtySize,
    retained: usize,
) -> Option<Skip> {
    let (column, columns) = (usize::from(column), usize::from(size.columns));
    let most = line.len().checked_sub(retained * columns)?;
    // The skipped part ends with a row.
    let length = most.checked_sub((column + most) % columns)?;
    if length < WORTH.max(columns) {
        return None;
    }
    Some(Skip {
        bytes: 0..length,
        rows: ((column + length) / columns - 1) as u64,
        restore: [b"\r", &line[length - columns..length]].concat(),
    })
}

fn is_printable(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

fn is_plain(text: &[u8]) -> bool {
    text.iter()
        .fold(true, |plain, byte| plain & is_printable(*byte))
}

/// Counts the rows of lines as the emulator does.
struct Rows {
    columns: usize,
    column: usize,
    count: u64,
    styles: Vec<u8>,
    last: Option<char>,
    /// Whether the line has characters that change the width of others.
    is_difficult: bool,
}

impl Rows {
    fn new(columns: u16) -> Self {
        Self {
            columns: usize::from(columns),
            column: 0,
            count: 0,
            styles: Vec::new(),
            last: None,
            is_difficult: false,
        }
    }

    /// Adds a line without its line feed. `None` if its rows cannot be counted.
    fn add_line(&mut self, line: &[u8]) -> Option<()> {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        if is_plain(text) {
            if let Some(last) = text.last() {
                let wraps = (self.column + text.len() - 1) / self.columns;
                self.count += wraps as u64;
                self.column = self.column + text.len() - wraps * self.columns;
                self.last = Some(char::from(*last));
            }
        } else {
            let (column, count) = (self.column, self.count);
            self.is_difficult = false;
            self.add_text(text);
            if self.is_difficult {
                if column != 0 || text.len() == line.len() {
                    return None;
                }
                self.count = count + emulated_rows(text, self.columns);
            }
        }
        if text.len() < line.len() {
            self.column = 0;
        }
        self.count += 1;
        Some(())
    }

    fn add_text(&mut self, text: &[u8]) {
        let mut at = 0;
        while at < text.len() {
            let escape = memchr(ESC, &text[at..]).map_or(text.len(), |escape| at + escape);
            for part in text[at..escape].utf8_chunks() {
                part.valid().chars().for_each(|one| self.add_character(one));
            }
            let length = harmless_sequence(&text[escape..]).unwrap_or(1);
            at = (escape + length).min(text.len());
            self.add_style(&text[escape..at]);
        }
    }

    fn add_style(&mut self, sequence: &[u8]) {
        if !sequence.starts_with(b"\x1b[") || !sequence.ends_with(b"m") {
            return;
        }
        if matches!(sequence, b"\x1b[m" | b"\x1b[0m") {
            self.styles.clear();
        }
        self.styles.extend_from_slice(sequence);
    }

    fn add_character(&mut self, character: char) {
        match character {
            '\x08' => self.column = self.column.saturating_sub(1),
            '\t' => self.column = (self.column / 8 * 8 + 8).min(self.columns - 1),
            '\x0b' | '\x0c' => self.count += 1,
            '\r' => self.column = 0,
            '\u{fffd}' => {}
            _ => {
                let width = character.width();
                if width.is_none() && u32::from(character) < 256 {
                    return;
                }
                match width.unwrap_or(1).min(2) {
                    0 => self.is_difficult |= self.column > 0,
                    width => {
                        if self.column + width > self.columns {
                            self.column = 0;
                            self.count += 1;
                        }
                        self.column += width;
                        self.last = Some(character);
                    }
                }
            }
        }
    }

    fn restore(self) -> Vec<u8> {
        let mut restore = vec![b'\r'];
        restore.extend_from_slice(&self.styles);
        if let Some(last) = self.last {
            restore.extend_from_slice(last.encode_utf8(&mut [0; 4]).as_bytes());
        }
        restore.push(b'\r');
        restore
    }
}

/// Counts the rows that scroll.
#[derive(Default)]
struct Scrolled(u64);

impl vt100::Callbacks for Scrolled {
    fn on_scroll(&mut self, _: vt100::capture::RowContents<'_>, _: bool) {
        self.0 += 1;
    }
}

/// How often a line continues in a next row.
fn emulated_rows(line: &[u8], columns: usize) -> u64 {
    let columns = u16::try_from(columns).ok().and_then(NonZeroU16::new);
    let rows = NonZeroU16::MIN.saturating_add(1);
    let columns = columns.unwrap_or(NonZeroU16::MIN);
    let mut parser = vt100::Parser::new_with_callbacks(rows, columns, 0, Scrolled::default());
    parser.process(b"\r\n");
    parser.process(line);
    parser.callbacks().0
}

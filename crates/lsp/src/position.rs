//! Positions in a text: the protocol counts the columns of a line in units of an encoding, which client and server agree on.

use std::ops::Range;

use serde_json::{Value, json};

use crate::lists::number;

/// The units in which a server counts columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    Utf8,
    /// Every server supports it.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The encodings that osier offers, preferred first.
    pub(crate) const OFFERED: [&str; 3] = ["utf-8", "utf-32", "utf-16"];

    /// Reads the encoding in the answer to `initialize`; `None` if it was not offered.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    fn units(self, char: char) -> usize {
        match self {
            Self::Utf8 => char.len_utf8(),
            Self::Utf16 => char.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A position of the protocol, both numbers from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) units: u32,
}

impl Position {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        Some(Self {
            line: number(&value["line"])?,
            units: number(&value["character"])?,
        })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"line": self.line, "character": self.units})
    }
}

/// The lines of a text.
#[derive(Debug, Clone)]
pub struct Lines<'t> {
    text: &'t str,
    /// The start of each line, and the end of its text.
    ranges: Vec<Range<usize>>,
}

impl<'t> Lines<'t> {
    /// Lines end with `\n`, `\r\n` or `\r`.
    pub fn new(text: &'t str) -> Self {
        let mut ranges = Vec::new();
        let (mut start, bytes) = (0, text.as_bytes());
        let mut index = 0;
        while index < bytes.len() {
            let end = index;
            let length = match bytes[index] {
                b'\r' if bytes.get(index + 1) == Some(&b'\n') => 2,
                b'\n' | b'\r' => 1,
                _ => 0,
            };
            if length == 0 {
                index += 1;
                continue;
            }
            ranges.push(start..end);
            index += length;
            start = index;
        }
        ranges.push(start..bytes.len());
        Self { text, ranges }
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// The text of a line, from 0.
    pub fn line(&self, line: usize) -> Option<&'t str> {
        self.text.get(self.ranges.get(line)?.clone())
    }

    /// The byte of a position. A column after the end of a line is the end of the line.
    pub(crate) fn offset(&self, position: Position, encoding: Encoding) -> Option<usize> {
        let range = self.ranges.get(position.line as usize);
        // A position after the last line is the end of the text.
        let Some(range) = range else {
            return (position.line as usize == self.ranges.len()).then_some(self.text.len());
        };
        let line = self.text.get(range.clone())?;
        let mut left = position.units as usize;
        for (index, char) in line.char_indices() {
            let units = encoding.units(char);
            if left < units || left == 0 {
                return Some(range.start + index);
            }
            left -= units;
        }
        Some(range.end)
    }

    /// The position of a byte in a line, from 0.
    pub(crate) fn position(&self, line: usize, byte: usize, encoding: Encoding) -> Position {
        let text = self.line(line).unwrap_or_default();
        let before = text.get(..byte).unwrap_or(text).chars();
        let units: usize = before.map(|char| encoding.units(char)).sum();
        Position {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            units: u32::try_from(units).unwrap_or(u32::MAX),
        }
    }

    /// The byte of a line and a column, both from 1; the column counts characters.
    pub fn start(&self, line: usize, column: usize) -> Option<usize> {
        let range = self.ranges.get(line.checked_sub(1)?)?;
        let mut chars = self.text.get(range.clone())?.char_indices();
        match column.checked_sub(1)? {
            0 => Some(range.start),
            before => {
                let (at, char) = chars.nth(before - 1)?;
                Some(range.start + at + char.len_utf8())
            }
        }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        let line = self
            .ranges
            .partition_point(|range| range.start <= offset)
            .saturating_sub(1);
        let start = self.ranges[line].start;
        let before = self.text.get(start..offset).unwrap_or_default();
        (line + 1, before.chars().count() + 1)
    }

    /// The column of a position, from 1, in characters.
    pub(crate) fn column(&self, position: Position, encoding: Encoding) -> Option<u32> {
        let offset = self.offset(position, encoding)?;
        let (_, column) = self.place(offset);
        u32::try_from(column).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_converted_in_every_encoding() {
        let text = "ab\r\n😀é x\rlast";
        let lines = Lines::new(text);
        assert_eq!(lines.line(1), Some("😀é x"));
        let byte = "😀é ".len();
        for (encoding, units) in [
            (Encoding::Utf8, 7),
            (Encoding::Utf16, 4),
            (Encoding::Utf32, 3),
        ] {
            let position = lines.position(1, byte, encoding);
            assert_eq!(position, Position { line: 1, units });
            assert_eq!(lines.offset(position, encoding), text.find('x'));
            assert_eq!(lines.column(position, encoding), Some(4));
        }
    }

    #[test]
    fn positions_outside_of_the_text_do_no_harm() {
        let lines = Lines::new("a\nb😀");
        let at = |line, units| lines.offset(Position { line, units }, Encoding::Utf16);
        assert_eq!(at(0, 99), Some(1));
        // A position within a pair of surrogates.
        assert_eq!(at(1, 2), Some(3));
        assert_eq!(at(2, 0), Some(7));
        assert_eq!(at(3, 0), None);
        assert_eq!(lines.position(7, 3, Encoding::Utf8).units, 0);
        assert_eq!(lines.place(2), (2, 1));
    }
}

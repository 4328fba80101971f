//! JSON lines: one JSON value per line, separated only by LF.
//!
//! The file's writer may have been killed, so lines are returned as bytes with their offset, and the last one reports
//! a missing newline. A writer appends complete records with one write(2) each; after a failure the file is truncated
//! to its previous length, so that it stays readable.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use serde::Serialize;

/// Adds a time as `timestamp`, in milliseconds since the Unix epoch, to the JSON object that ends `line`.
pub fn add_time(line: &mut Vec<u8>, time: i64) {
    if line.pop_if(|byte| *byte == b'}').is_some() {
        let separator = if line.ends_with(b"{") { "" } else { "," };
        line.extend(format!("{separator}\"timestamp\":{time}}}").bytes());
    }
}

/// Large enough to read a long session with few calls.
const BUFFER: usize = 128 * 1024;

/// One line of a file, without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Byte offset of its first byte in the file.
    pub offset: u64,
    pub bytes: &'a [u8],
    /// Whether a newline follows. Only the last line of a file can lack it.
    pub terminated: bool,
}

/// Reads lines in order into one buffer.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    offset: u64,
}

impl<R: Read> Lines<R> {
    /// `reader` must be at the start of its file.
    pub fn new(reader: R) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER, reader),
            line: Vec::new(),
            offset: 0,
        }
    }

    /// The next line, or `None` at the end of the file.
    #[expect(
        clippy::should_implement_trait,
        reason = "a line borrows the reader's buffer, which `Iterator` cannot say"
    )]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.next_within(u64::MAX)
    }

    /// The next line; `InvalidData` if it exceeds `limit` bytes.
    pub fn next_within(&mut self, limit: u64) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(limit.saturating_add(1))
            .read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        let terminated = self.line.last() == Some(&b'\n');
        if !terminated && read as u64 > limit {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line is longer than {limit} bytes"),
            ));
        }
        let offset = self.offset;
        self.offset += read as u64;
        Ok(Some(Line {
            offset,
            bytes: &self.line[..read - usize::from(terminated)],
            terminated,
        }))
    }
}

/// Appends `record` and a newline to `buffer`.
pub fn encode(record: &impl Serialize, buffer: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *buffer, record)?;
    buffer.push(b'\n');
    Ok(())
}

/// Why records could not be appended.
#[derive(Debug)]
pub struct AppendError {
    pub source: io::Error,
    /// Part of the records may still be at the end of the file.
    pub torn: bool,
}

/// Appends `records` to `file`, which was opened for appending and is `length` bytes long. Returns the new length.
/// This takes one write(2) unless the system accepts only a part; if the rest fails, the file is truncated to
/// `length`.
pub fn append(mut file: &File, length: u64, records: &[u8]) -> Result<u64, AppendError> {
    match file.write_all(records) {
        Ok(()) => Ok(length + records.len() as u64),
        Err(source) => Err(AppendError {
            source,
            torn: file.set_len(length).is_err(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, Vec<u8>, bool)> {
        let mut lines = Lines::new(bytes);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push((line.offset, line.bytes.to_vec(), line.terminated));
        }
        found
    }

    #[test]
    fn only_lf_ends_a_line_and_offsets_count_bytes() {
        let text = "{\"a\":\"x\u{2028}y\u{85}\"}\r\n\n{\"b\"";
        assert_eq!(
            lines(text.as_bytes()),
            vec![
                (0, "{\"a\":\"x\u{2028}y\u{85}\"}\r".into(), true),
                (17, Vec::new(), true),
                (18, b"{\"b\"".to_vec(), false),
            ]
        );
        assert_eq!(lines(b""), Vec::new());
    }

    #[test]
    fn line_over_the_limit_is_an_error() {
        let mut reader = Lines::new(&b"1234567890\n"[..]);
        let error = reader.next_within(4).unwrap_err();
        assert_eq!(error.to_string(), "a line is longer than 4 bytes");
        let mut reader = Lines::new(&b"1234\n"[..]);
        assert_eq!(
            reader.next_within(4).unwrap(),
            Some(Line {
                offset: 0,
                bytes: b"1234",
                terminated: true
            })
        );
    }

    #[test]
    fn records_are_appended() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("log.jsonl");
        let file = File::options()
            .append(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        let mut records = Vec::new();
        encode(&serde_json::json!({"a": "1\n2"}), &mut records).unwrap();
        let length = append(&file, 0, &records).unwrap();
        let length = append(&file, length, b"{}\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"a\":\"1\\n2\"}\n{}\n");
        assert_eq!(length, text.len() as u64);
    }
}

//! Fast reading of session files: large reads into one buffer, which lends out its lines.
//!
//! `base::jsonl` is for short files. Sessions can have hundreds of megabytes, of which only the starts of lines are
//! parsed.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

pub(super) use osier_base::jsonl::Line;

/// Bytes per read; a longer line grows the buffer.
const BLOCK: usize = 512 * 1024;

/// Reads lines in order. Does not move the file's own position.
#[derive(Debug)]
pub struct Lines<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    /// Start of the next line in `buffer`, and end of the data.
    start: usize,
    end: usize,
    /// File offset of `buffer`.
    offset: u64,
    /// Bytes after `start` that contain no newline.
    searched: usize,
    at_end: bool,
    /// The offset up to which lines are wanted: behind it, reads are short.
    wanted: u64,
}

/// Bytes per read behind the wanted lines, for the rest of the last one.
const REST: u64 = 16 * 1024;

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a File) -> Self {
        Self::from(file, 0)
    }

    /// Reads from `offset`, which must be the start of a line.
    pub fn from(file: &'a File, offset: u64) -> Self {
        let length = file.metadata().map_or(BLOCK as u64, |found| found.len());
        let left = length.saturating_sub(offset);
        let size = usize::try_from(left + 1).unwrap_or(BLOCK).min(BLOCK);
        Self {
            file,
            buffer: vec![0; size],
            start: 0,
            end: 0,
            offset,
            searched: 0,
            at_end: false,
            wanted: u64::MAX,
        }
    }

    /// Lines that begin in `range`, and the rest of the file.
    pub(super) fn within(file: &'a File, range: Range<u64>) -> Self {
        Self {
            wanted: range.end,
            ..Self::from(file, range.start)
        }
    }

    /// The offset of the next line.
    pub(super) fn position(&self) -> u64 {
        self.offset + self.start as u64
    }

    /// The next line, or `None` at the end of the file.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.next_line_within(usize::MAX)
    }

    /// The next line; `InvalidData` if it exceeds `limit` bytes.
    pub(super) fn next_line_within(&mut self, limit: usize) -> io::Result<Option<Line<'_>>> {
        let newline = loop {
            let unseen = &self.buffer[self.start + self.searched..self.end];
            if let Some(at) = memchr::memchr(b'\n', unseen) {
                break Some(self.searched + at);
            }
            self.searched = self.end - self.start;
            if self.at_end {
                break None;
            }
            if self.searched > limit {
                return Err(too_long(limit));
            }
            self.read_more()?;
        };
        let length = newline.unwrap_or(self.end - self.start);
        if newline.is_none() && length == 0 {
            return Ok(None);
        }
        if length > limit {
            return Err(too_long(limit));
        }
        let start = self.start;
        self.start += length + usize::from(newline.is_some());
        self.searched = 0;
        Ok(Some(Line {
            offset: self.offset + start as u64,
            bytes: &self.buffer[start..start + length],
            terminated: newline.is_some(),
        }))
    }

    /// Skips the next line if it exceeds about `limit` bytes, without storing it, and returns the offset after it. An
    /// unterminated line is not skipped.
    pub fn skip_longer(&mut self, limit: usize) -> io::Result<Option<u64>> {
        loop {
            let unseen = &self.buffer[self.start + self.searched..self.end];
            if let Some(at) = memchr::memchr(b'\n', unseen) {
                self.searched += at;
                return Ok(None);
            }
            self.searched = self.end - self.start;
            if self.at_end {
                return Ok(None);
            }
            if self.searched > limit {
                break;
            }
            self.read_more()?;
        }
        loop {
            self.offset += self.end as u64;
            (self.start, self.end, self.searched) = (0, 0, 0);
            if self.at_end {
                return Ok(None);
            }
            self.read_more()?;
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[..self.end]) {
                self.start = at + 1;
                return Ok(Some(self.offset + self.start as u64));
            }
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.offset += self.start as u64;
            self.end -= self.start;
            self.start = 0;
            // One line fills most of the buffer: double it, so that the next read is large.
            if self.end > self.buffer.len() / 2 {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        let at = self.offset + self.end as u64;
        let most = self.wanted.saturating_sub(at).saturating_add(REST);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let end = self.end.saturating_add(most).min(self.buffer.len());
        match self.file.read_at(&mut self.buffer[self.end..end], at) {
            Ok(0) => self.at_end = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn too_long(limit: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a line is longer than {limit} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, Vec<u8>, bool)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = Lines::new(&file);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.offset, line.bytes.to_vec(), line.terminated));
        }
        found
    }

    #[test]
    fn long_and_unterminated_lines_are_complete() {
        assert_eq!(lines(b""), Vec::new());
        let long = vec![b'x'; 3 * BLOCK + 5];
        let file = [b"a\n\n", &long[..], b"\nend"].concat();
        let at = 3 + long.len() as u64 + 1;
        assert_eq!(
            lines(&file),
            vec![
                (0, b"a".to_vec(), true),
                (2, Vec::new(), true),
                (3, long, true),
                (at, b"end".to_vec(), false),
            ]
        );
    }

    #[test]
    fn long_line_is_skipped_without_storing_it() {
        let mut file = tempfile::tempfile().unwrap();
        let long = vec![b'x'; 5 * BLOCK];
        file.write_all(&[b"one\n", &long[..], b"\ntwo\n", &long[..]].concat())
            .unwrap();
        let mut lines = Lines::from(&file, 4);
        let behind = 4 + long.len() as u64 + 1;
        assert_eq!(lines.skip_longer(BLOCK).unwrap(), Some(behind));
        assert!(lines.buffer.len() <= 4 * BLOCK);
        assert_eq!(lines.skip_longer(BLOCK).unwrap(), None);
        let line = lines.next_line().unwrap().unwrap();
        assert_eq!((line.offset, line.bytes), (behind, &b"two"[..]));
        assert_eq!(lines.skip_longer(BLOCK).unwrap(), None);
        assert!(lines.next_line().unwrap().is_none());
    }

    #[test]
    fn first_line_over_the_limit_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"12345\n").unwrap();
        let error = Lines::new(&file).next_line_within(4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let mut lines = Lines::new(&file);
        assert!(lines.next_line_within(5).unwrap().is_some());
    }
}

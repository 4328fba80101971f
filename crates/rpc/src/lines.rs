//! Reads lines up to a maximum length. Longer lines are discarded while they are read.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest accepted line, in bytes: enough for a command with several images.
pub const LINE_LIMIT: usize = 32 * 1024 * 1024;

/// The result of reading one line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its newline. The last line of a stream may have none.
    Complete(Vec<u8>),
    /// A line that was longer than the limit and was discarded.
    TooLong,
}

/// Reads lines up to a maximum length.
#[derive(Debug)]
pub struct LineReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The current line is too long.
    too_long: bool,
    limit: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes from `input`.
    pub fn new(input: R, limit: usize) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            too_long: false,
            limit,
        }
    }

    /// The next line that is not blank; `None` at the end of the input. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.input.fill_buf().await?;
            let end = memchr::memchr(b'\n', read);
            let ended = read.is_empty();
            let taken = end.unwrap_or(read.len());
            if self.line.len() + taken > self.limit {
                self.too_long = true;
            }
            if self.too_long {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_none() && !ended {
                continue;
            }
            if std::mem::take(&mut self.too_long) {
                return Ok(Some(Line::TooLong));
            }
            let line = std::mem::take(&mut self.line);
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Line::Complete(line)));
            }
            if ended {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str, limit: usize) -> Vec<Line> {
        let mut lines = LineReader::new(text.as_bytes(), limit);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        read
    }

    #[tokio::test]
    async fn blank_lines_are_skipped_and_the_last_line_needs_no_newline() {
        let complete = |text: &str| Line::Complete(text.into());
        assert_eq!(read("a\n\n \r\nb", 9).await, [complete("a"), complete("b")]);
        assert_eq!(read("", 9).await, []);
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_discarded_and_the_next_is_read() {
        let complete = |text: &str| Line::Complete(text.into());
        let text = format!("{}\nok\n{}", "x".repeat(200_000), "y".repeat(11));
        assert_eq!(
            read(&text, 10).await,
            [Line::TooLong, complete("ok"), Line::TooLong]
        );
        assert_eq!(read("0123456789\n", 10).await, [complete("0123456789")]);
    }
}

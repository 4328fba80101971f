//! Lines of a stream, none of them longer than a limit: what goes beyond it is thrown away as it comes.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line that is read, in bytes: a command with some pictures fits.
pub const LINE_LIMIT: usize = 32 * 1024 * 1024;

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its newline. The last line of a stream may have none.
    Whole(Vec<u8>),
    /// It was longer than the limit and is gone.
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The line that is read is too long.
    too_long: bool,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of `input` of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            too_long: false,
            limit,
        }
    }

    /// The next line that is not blank; `None` at the end. Cancel safe.
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
                return Ok(Some(Line::Whole(line)));
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
        let mut lines = Lines::new(text.as_bytes(), limit);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        read
    }

    #[tokio::test]
    async fn blank_lines_are_none_and_the_last_one_needs_no_end() {
        let whole = |text: &str| Line::Whole(text.into());
        assert_eq!(read("a\n\n \r\nb", 9).await, [whole("a"), whole("b")]);
        assert_eq!(read("", 9).await, []);
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_thrown_away_and_the_next_is_read() {
        let whole = |text: &str| Line::Whole(text.into());
        let text = format!("{}\nok\n{}", "x".repeat(200_000), "y".repeat(11));
        assert_eq!(
            read(&text, 10).await,
            [Line::TooLong, whole("ok"), Line::TooLong]
        );
        assert_eq!(read("0123456789\n", 10).await, [whole("0123456789")]);
    }
}

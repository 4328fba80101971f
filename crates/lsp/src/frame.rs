//! Messages on the standard streams of a server: headers, an empty line, and JSON of the announced length.

use std::fmt;
use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

/// Maximum length of a message.
pub(crate) const MESSAGE_LIMIT: u64 = 32 * 1024 * 1024;
/// Maximum length of one header.
const HEADER_LIMIT: u64 = 4 * 1024;
/// Maximum bytes of output in a row that are no header; with more, the server is stopped.
const STRAY_LIMIT: usize = 64 * 1024;
/// Bytes of such output that an error shows.
const SHOWN: usize = 80;
const LENGTH: &str = "content-length:";

/// The reason why no message follows.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The server closed its output.
    Closed,
    Io(io::Error),
    /// The output is not what the protocol requires.
    NotAMessage(String),
    TooLong(String),
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => formatter.write_str("it closed its output"),
            Self::Io(error) => write!(formatter, "its output cannot be read: {error}"),
            Self::NotAMessage(start) => write!(
                formatter,
                "its output is not a message of the protocol: `{start}`"
            ),
            Self::TooLong(length) => write!(
                formatter,
                "it announced a message of {length} bytes, and the limit is {MESSAGE_LIMIT}"
            ),
        }
    }
}

/// Reads messages. Not cancel safe.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    input: BufReader<R>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input: BufReader::with_capacity(16 * 1024, input),
        }
    }

    /// The next message, as JSON text.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>, FrameError> {
        let length = self.headers().await?;
        let mut body = Vec::new();
        let read = (&mut self.input).take(length).read_to_end(&mut body).await;
        match read {
            Ok(read) if read as u64 == length => Ok(body),
            Ok(_) => Err(FrameError::Closed),
            Err(error) => Err(FrameError::Io(error)),
        }
    }

    /// The announced length. Lines that are no headers, such as a greeting, are skipped.
    async fn headers(&mut self) -> Result<u64, FrameError> {
        let (mut length, mut stray, mut first) = (None, 0, String::new());
        loop {
            let line = self.line().await?;
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\r', '\n']);
            if text.is_empty()
                && let Some(length) = length
            {
                return Ok(length);
            }
            let start = text.get(..LENGTH.len()).unwrap_or_default();
            if start.eq_ignore_ascii_case(LENGTH) {
                length = Some(parse(text[LENGTH.len()..].trim())?);
            } else if length.is_none() && !is_header(text) {
                if first.is_empty() {
                    first = shown(text);
                }
                stray += line.len();
                if stray > STRAY_LIMIT {
                    return Err(FrameError::NotAMessage(first));
                }
            }
        }
    }

    /// The next line, or its start if it is longer than allowed.
    async fn line(&mut self) -> Result<Vec<u8>, FrameError> {
        let mut line = Vec::new();
        let mut input = (&mut self.input).take(HEADER_LIMIT);
        match input.read_until(b'\n', &mut line).await {
            Ok(0) => Err(FrameError::Closed),
            Ok(_) => Ok(line),
            Err(error) => Err(FrameError::Io(error)),
        }
    }
}

fn parse(given: &str) -> Result<u64, FrameError> {
    let is_number = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(FrameError::NotAMessage(shown(given)));
    }
    let length = given.parse::<u64>().ok();
    length
        .filter(|length| *length <= MESSAGE_LIMIT)
        .ok_or_else(|| FrameError::TooLong(shown(given)))
}

fn is_header(text: &str) -> bool {
    text.get(..13)
        .is_some_and(|start| start.eq_ignore_ascii_case("content-type:"))
}

fn shown(text: &str) -> String {
    crate::lists::line(text, SHOWN)
}

/// A message with its header.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &[u8]) -> (Vec<String>, String) {
        let mut reader = FrameReader::new(input);
        let mut messages = Vec::new();
        loop {
            match reader.next().await {
                Ok(message) => messages.push(String::from_utf8(message).unwrap()),
                Err(error) => return (messages, error.to_string()),
            }
        }
    }

    #[tokio::test]
    async fn messages_are_read_between_other_lines() {
        let input =
            "starting…\n\ncontent-length: 2\r\nContent-Type: x\r\n\r\n{}Content-Length: 1\n\n1";
        let (messages, end) = read(input.as_bytes()).await;
        assert_eq!(messages, ["{}", "1"]);
        assert_eq!(end, "it closed its output");
    }

    #[tokio::test]
    async fn garbage_and_false_lengths_end_the_connection() {
        let garbage = "\x1b[2Jno\u{7}ise\n".repeat(10_000);
        for (input, expected) in [
            (
                "Content-Length: 99999999999999999999999\r\n\r\n",
                "it announced a message of 99999999999999999999999 bytes, and the limit is 33554432",
            ),
            (
                "Content-Length: 33554433\r\n\r\n",
                "it announced a message of 33554433 bytes, and the limit is 33554432",
            ),
            (
                "Content-Length: -1\r\n\r\n",
                "its output is not a message of the protocol: `-1`",
            ),
            ("Content-Length: 5\r\n\r\n{}", "it closed its output"),
            (
                garbage.as_str(),
                "its output is not a message of the protocol: `noise`",
            ),
        ] {
            assert_eq!(read(input.as_bytes()).await, (vec![], expected.to_owned()));
        }
    }
}

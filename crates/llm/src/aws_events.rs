//! A parser of AWS event streams: binary frames of headers and a payload, each with two checksums.
//!
//! The same bytes result in the same events however they are split into chunks, and the parser never buffers
//! more than its limit.
//!
//! Source: "event stream encoding" in the documentation of Amazon Transcribe.

use thiserror::Error;

use super::sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent};

/// Total length, length of the headers, and their checksum.
const PRELUDE: usize = 12;
/// The checksum of the whole frame.
const TRAILER: usize = 4;
/// The type of a header with a string value.
const TEXT: u8 = 7;

/// The bytes are not a valid event stream.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum FrameError {
    #[error(transparent)]
    TooLarge(#[from] EventTooLarge),
    #[error("the stream's frames are broken: {reason}")]
    Broken { reason: &'static str },
}

/// A parser that receives a stream in chunks.
#[derive(Debug)]
pub(crate) struct AwsEventParser {
    buffer: Vec<u8>,
    limit: usize,
}

impl Default for AwsEventParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl AwsEventParser {
    /// A parser that rejects frames of more than `limit` bytes.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            limit,
        }
    }

    /// Parses the next bytes; returns the completed events. After an error the parser is unusable.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, FrameError> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut at = 0;
        while let Some(length) = self.frame_length(at)? {
            let Some(frame) = self.buffer.get(at..at + length) else {
                break;
            };
            events.push(event(frame)?);
            at += length;
        }
        self.buffer.drain(..at);
        Ok(events)
    }

    /// The length of the frame at `at`, if it is known.
    fn frame_length(&self, at: usize) -> Result<Option<usize>, FrameError> {
        let Some(prelude) = self.buffer.get(at..at + PRELUDE) else {
            return Ok(None);
        };
        if crc32fast::hash(&prelude[..8]) != number(&prelude[8..]) {
            let reason = "a prelude's checksum is wrong";
            return Err(FrameError::Broken { reason });
        }
        let length = number(prelude) as usize;
        if length > self.limit {
            return Err(EventTooLarge { limit: self.limit }.into());
        }
        let headers = number(&prelude[4..]) as usize;
        if PRELUDE + headers + TRAILER > length {
            let reason = "a frame is shorter than its headers";
            return Err(FrameError::Broken { reason });
        }
        Ok(Some(length))
    }
}

/// A complete frame as an event: the payload, and the name of the event or exception.
fn event(frame: &[u8]) -> Result<SseEvent, FrameError> {
    let (content, checksum) = frame.split_at(frame.len() - TRAILER);
    if crc32fast::hash(content) != number(checksum) {
        let reason = "a frame's checksum is wrong";
        return Err(FrameError::Broken { reason });
    }
    let headers = number(&content[4..]) as usize;
    let (headers, payload) = content[PRELUDE..].split_at(headers);
    let reason = "a header is incomplete";
    let name = name(headers).ok_or(FrameError::Broken { reason })?;
    // An event can consist of its name alone.
    let payload = if payload.is_empty() && !name.is_empty() {
        b"{}"
    } else {
        payload
    };
    Ok(SseEvent {
        event: (!name.is_empty()).then_some(name),
        data: String::from_utf8_lossy(payload).into_owned(),
    })
}

/// The name of the frame in its headers; `None` when a header is truncated.
fn name(mut headers: &[u8]) -> Option<String> {
    let mut found = String::new();
    while let Some((length, rest)) = headers.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (kind, rest) = rest.split_first()?;
        let size = match kind {
            0 | 1 => 0,
            2 => 1,
            3 => 2,
            4 => 4,
            5 | 8 => 8,
            9 => 16,
            _ => 2 + usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?)),
        };
        let (value, rest) = rest.split_at_checked(size)?;
        let names = [
            b":event-type".as_slice(),
            b":exception-type",
            b":error-code",
        ];
        if *kind == TEXT && names.contains(&name) {
            found = String::from_utf8_lossy(&value[2..]).into_owned();
        }
        headers = rest;
    }
    Some(found)
}

/// The first four bytes as a number.
fn number(bytes: &[u8]) -> u32 {
    let first = bytes.first_chunk::<4>().copied();
    u32::from_be_bytes(first.unwrap_or_default())
}

/// Encodes a frame as servers do.
#[cfg(any(test, fuzzing))]
pub(crate) fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let mut written = Vec::new();
    for (name, value) in headers {
        written.push(name.len() as u8);
        written.extend_from_slice(name.as_bytes());
        written.push(TEXT);
        written.extend_from_slice(&(value.len() as u16).to_be_bytes());
        written.extend_from_slice(value.as_bytes());
    }
    let total = PRELUDE + written.len() + payload.len() + TRAILER;
    let mut frame = Vec::new();
    frame.extend_from_slice(&(total as u32).to_be_bytes());
    frame.extend_from_slice(&(written.len() as u32).to_be_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.extend_from_slice(&written);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Vec<u8> {
        let first = frame(
            &[
                (":event-type", "contentBlockDelta"),
                (":content-type", "application/json"),
                (":message-type", "event"),
            ],
            "{\"delta\":{\"text\":\"漢\"}}",
        );
        let second = frame(&[(":exception-type", "throttlingException")], "{}");
        [first, second, frame(&[], "")].concat()
    }

    fn expected() -> Vec<SseEvent> {
        let event = |name: Option<&str>, data: &str| SseEvent {
            event: name.map(str::to_owned),
            data: data.to_owned(),
        };
        vec![
            event(Some("contentBlockDelta"), "{\"delta\":{\"text\":\"漢\"}}"),
            event(Some("throttlingException"), "{}"),
            event(None, ""),
        ]
    }

    #[test]
    fn frames_are_read_at_every_split() {
        let stream = stream();
        for cut in 0..=stream.len() {
            let mut parser = AwsEventParser::default();
            let mut events = parser.push(&stream[..cut]).unwrap();
            events.extend(parser.push(&stream[cut..]).unwrap());
            assert_eq!(events, expected(), "{cut}");
        }
    }

    #[test]
    fn every_corrupted_byte_is_detected() {
        let stream = frame(&[(":event-type", "messageStop")], "{}");
        for position in 0..stream.len() {
            let mut changed = stream.clone();
            changed[position] ^= 0x10;
            assert!(
                AwsEventParser::default().push(&changed).is_err(),
                "{position}"
            );
        }
    }

    #[test]
    fn oversized_frame_is_rejected_by_its_header() {
        let stream = frame(&[], &"x".repeat(100));
        let mut parser = AwsEventParser::with_limit(64);
        assert_eq!(
            parser.push(&stream[..PRELUDE]),
            Err(FrameError::TooLarge(EventTooLarge { limit: 64 }))
        );
    }
}

//! A parser of server-sent events.
//!
//! The same bytes result in the same events however they are split into chunks, each byte is read once, and
//! the parser never buffers more than `MAX_EVENT_BYTES`.

use std::borrow::Cow;

use thiserror::Error;

/// Maximum bytes of an event; far above any real one.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One dispatched event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field. Some proxies remove it, so wire formats use the data instead.
    pub event: Option<String>,
    /// The `data:` lines, joined by newlines.
    pub data: String,
}

/// An event exceeds the limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("one event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    pub limit: usize,
}

/// A parser that receives a stream in chunks.
///
/// ```
/// use osier_llm::sse::SseParser;
///
/// let mut parser = SseParser::default();
/// assert!(parser.push(b"data: hel").expect("small").is_empty());
/// let events = parser.push(b"lo\n\n").expect("small");
/// assert_eq!(events[0].data, "hello");
/// ```
#[derive(Debug)]
pub struct SseParser {
    /// The incomplete last line.
    line: Vec<u8>,
    event: Option<String>,
    data: Option<String>,
    /// The last byte was a carriage return: a following newline is part of the same line end.
    after_return: bool,
    /// No line has ended yet, so a byte order mark is accepted.
    at_start: bool,
    limit: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// A parser that rejects events of more than `limit` bytes.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: None,
            data: None,
            after_return: false,
            at_start: true,
            limit,
        }
    }

    /// Parses the next bytes; returns the completed events. After an error the parser is unusable.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLarge> {
        let mut events = Vec::new();
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_return = true;
                    &[]
                }
                _ => &rest[1..],
            };
            self.check_size(line.len())?;
            if self.line.is_empty() {
                events.extend(self.end_line(line));
            } else {
                self.line.extend_from_slice(line);
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(&line));
            }
        }
        self.check_size(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(events)
    }

    /// Ends the stream; returns the last event if only its blank line was missing.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        self.end_line(&line).or_else(|| self.dispatch())
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        let buffered = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if buffered + more > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn end_line(&mut self, mut line: &[u8]) -> Option<SseEvent> {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                let value = text(value);
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&value);
                    }
                    None => self.data = Some(value.into_owned()),
                }
            }
            b"event" => self.event = Some(text(value).into_owned()),
            // Comments have an empty field name. `id` and `retry` are for reconnecting, which model calls do
            // not use.
            _ => {}
        }
        None
    }

    /// Events without data are ignored.
    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = self.event.take();
        let data = self.data.take()?;
        Some(SseEvent { event, data })
    }
}

/// Decodes UTF-8 lossily. Text is nearly always valid, and checking that first is faster.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(name: Option<&str>, data: &str) -> SseEvent {
        SseEvent {
            event: name.map(str::to_owned),
            data: data.to_owned(),
        }
    }

    fn parse(chunks: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            events.extend(parser.push(chunk).unwrap());
        }
        events.extend(parser.finish());
        events
    }

    #[test]
    fn every_line_ending_and_field_form_is_read() {
        let stream = "\u{feff}event: a\ndata: one\ndata:two\n\n: comment\r\n:\r\ndata: three\r\n\r\n\
                      id: 7\rretry: 10\rdata:  padded\r\rdata\n\nevent: nothing\n\ndata: last";
        assert_eq!(
            parse(&[stream.as_bytes()]),
            [
                event(Some("a"), "one\ntwo"),
                event(None, "three"),
                event(None, " padded"),
                event(None, ""),
                event(None, "last"),
            ]
        );
    }

    #[test]
    fn split_crlf_ends_one_line() {
        let chunks: [&[u8]; 4] = [b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"];
        assert_eq!(parse(&chunks), [event(None, "a\nb")]);
    }

    #[test]
    fn oversized_event_is_an_error() {
        let mut parser = SseParser::with_limit(16);
        assert_eq!(parser.push(b"data: 12345\n"), Ok(Vec::new()));
        assert_eq!(
            parser.push(b"data: 6789012345"),
            Err(EventTooLarge { limit: 16 })
        );
    }

    #[test]
    fn limit_applies_to_each_event() {
        let mut parser = SseParser::with_limit(16);
        for _ in 0..100 {
            assert_eq!(
                parser.push(b"data: 12345\n\n"),
                Ok(vec![event(None, "12345")])
            );
        }
    }

    proptest! {
        #[test]
        fn chunking_never_changes_the_events(
            lines in prop::collection::vec(
                ("(data|event|:|id|)", "[a-zé漢😀: ]{0,8}", "(\n|\r\n|\r|\n\n|\r\n\r\n)"), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let lines: Vec<String> = lines
                .iter()
                .map(|(field, value, end)| format!("{field}: {value}{end}"))
                .collect();
            let stream = lines.concat();
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(parse(&chunks), parse(&[bytes]));
        }
    }
}

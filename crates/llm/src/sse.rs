//! Server-sent events, parsed as the bytes come.
//!
//! Every vendor streams its answer this way, and every proxy between cuts it up differently. What stays
//! true: the same bytes give the same events however they are chunked, a byte is looked at once, and no
//! server can make the parser hold more than `MAX_EVENT_BYTES`.

use std::borrow::Cow;

use thiserror::Error;

/// Bytes one event may have: far above any real one, far below what hurts.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One dispatched event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field. Some proxies drop it, so wire formats decide on the data.
    pub event: Option<String>,
    /// The `data:` lines, joined by newlines.
    pub data: String,
}

/// An event that grew past the limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("one event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    pub limit: usize,
}

/// The parser's state between chunks.
#[derive(Debug)]
pub struct SseParser {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    event: Option<String>,
    data: Option<String>,
    /// The last byte was a carriage return: a newline that follows belongs to it.
    after_return: bool,
    /// No line has ended yet, so a byte order mark may still come.
    at_start: bool,
    limit: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// A parser that refuses events of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: None,
            data: None,
            after_return: false,
            at_start: true,
            limit,
        }
    }

    /// Takes the next bytes and gives the events they completed. After an error the stream is of no
    /// more use.
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

    /// The stream has ended. Gives the event that lacked only its blank line.
    pub fn finish(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        self.end_line(&line).or_else(|| self.dispatch())
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if held + more > self.limit {
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
            // Comments have an empty field name; `id` and `retry` are for reconnecting, which a model
            // call never does.
            _ => {}
        }
        None
    }

    /// An event without data is none.
    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = self.event.take();
        let data = self.data.take()?;
        Some(SseEvent { event, data })
    }
}

/// Text that is nearly always whole, which is found out faster than what is broken in it.
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
    fn a_return_split_from_its_newline_ends_one_line() {
        let chunks: [&[u8]; 4] = [b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"];
        assert_eq!(parse(&chunks), [event(None, "a\nb")]);
    }

    #[test]
    fn an_event_past_the_limit_is_refused() {
        let mut parser = SseParser::with_limit(16);
        assert_eq!(parser.push(b"data: 12345\n"), Ok(Vec::new()));
        assert_eq!(
            parser.push(b"data: 6789012345"),
            Err(EventTooLarge { limit: 16 })
        );
    }

    #[test]
    fn the_limit_counts_one_event_not_the_stream() {
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

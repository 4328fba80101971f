//! A parser of JSON lines.
//!
//! A value can extend over several lines, as some proxies format it. A line that ends within a
//! text, or before a line that is complete by itself, is broken and becomes a separate event, so
//! that no other line is lost. The same bytes result in the same events however they are split into
//! chunks, each byte is read once, and the parser never buffers more than its limit.

use super::sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent};

/// A parser that receives a stream in chunks.
#[derive(Debug)]
pub(crate) struct LineParser {
    /// The lines of an incomplete value.
    value: Vec<u8>,
    nesting: Nesting,
    /// The incomplete last line.
    line: Vec<u8>,
    limit: usize,
}

/// The nesting of objects and lists at the end of a text.
#[derive(Debug, Clone, Copy, Default)]
struct Nesting {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    fn add(&mut self, text: &[u8]) {
        for byte in text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_text => self.is_escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Whether the value continues on the next line. A text cannot continue there.
    fn continues(self) -> bool {
        self.depth > 0 && !self.in_text
    }
}

impl Default for LineParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl LineParser {
    /// A parser that rejects lines of more than `limit` bytes.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            value: Vec::new(),
            nesting: Nesting::default(),
            line: Vec::new(),
            limit,
        }
    }

    /// Parses the next bytes; returns each completed line as the data of an event. After an error the parser
    /// is unusable.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLarge> {
        let mut events = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            self.check_size(line.len())?;
            if self.line.is_empty() {
                self.end_line(line, &mut events);
            } else {
                self.line.extend_from_slice(line);
                let line = std::mem::take(&mut self.line);
                self.end_line(&line, &mut events);
            }
        }
        self.check_size(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(events)
    }

    /// Ends the stream; returns the last values if only their end was missing.
    pub(crate) fn finish(&mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.end_line(&line, &mut events);
        events.extend(self.finish_value());
        events
    }

    fn end_line(&mut self, line: &[u8], events: &mut Vec<SseEvent>) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let mut nesting = Nesting::default();
        nesting.add(line);
        let is_complete = line.starts_with(b"{") && nesting.depth == 0 && !nesting.in_text;
        if self.value.is_empty() || is_complete {
            events.extend(self.finish_value());
        } else {
            self.value.push(b'\n');
            nesting = self.nesting;
            nesting.add(line);
        }
        self.value.extend_from_slice(line);
        self.nesting = nesting;
        if !nesting.continues() {
            events.extend(self.finish_value());
        }
    }

    fn finish_value(&mut self) -> Option<SseEvent> {
        self.nesting = Nesting::default();
        event(&std::mem::take(&mut self.value))
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.value.len() + self.line.len() + more > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }
}

/// Blank lines only keep the connection open and are ignored.
fn event(line: &[u8]) -> Option<SseEvent> {
    let line = line.trim_ascii();
    (!line.is_empty()).then(|| SseEvent {
        event: None,
        data: String::from_utf8_lossy(line).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(chunks: &[&[u8]]) -> Vec<String> {
        let mut parser = LineParser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            events.extend(parser.push(chunk).unwrap());
        }
        events.extend(parser.finish());
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn line_endings_are_accepted_and_optional_at_the_end() {
        let stream = "\u{feff}{\"a\":1}\n\n  \r\n{\"b\":\"漢\"}\r\n {\"c\":3}";
        assert_eq!(
            parse(&[stream.as_bytes()]),
            ["{\"a\":1}", "{\"b\":\"漢\"}", "{\"c\":3}"]
        );
    }

    #[test]
    fn values_can_extend_over_lines() {
        let stream = "{\n  \"a\": [\n    {\"b\": \"}\\\"\"}\n  ]\n}\n{\"c\":1}\n{\"cut\": [\n{\"d\":1}\n{\"cut\": \"x\n{\"e\":1}\n}\n{\n\"f\":\n1";
        assert_eq!(
            parse(&[stream.as_bytes()]),
            [
                "{\n  \"a\": [\n    {\"b\": \"}\\\"\"}\n  ]\n}",
                "{\"c\":1}",
                "{\"cut\": [",
                "{\"d\":1}",
                "{\"cut\": \"x",
                "{\"e\":1}",
                "}",
                "{\n\"f\":\n1",
            ]
        );
    }

    #[test]
    fn limit_applies_to_each_line() {
        let mut parser = LineParser::with_limit(8);
        for _ in 0..100 {
            assert_eq!(parser.push(b"1234567\n").map(|events| events.len()), Ok(1));
        }
        assert_eq!(parser.push(b"12345"), Ok(Vec::new()));
        assert_eq!(parser.push(b"6789"), Err(EventTooLarge { limit: 8 }));
    }

    proptest! {
        #[test]
        fn chunking_never_changes_the_lines(
            lines in prop::collection::vec("[a-zé漢😀 ]{0,8}(\n|\r\n|\n\n|)", 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
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

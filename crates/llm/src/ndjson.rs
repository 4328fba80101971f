//! A parser of JSON lines.
//!
//! The same bytes result in the same lines however they are split into chunks, each byte is read once, and
//! the parser never buffers more than its limit.

use super::sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent};

/// A parser that receives a stream in chunks.
#[derive(Debug)]
pub(crate) struct LineParser {
    /// The incomplete last line.
    line: Vec<u8>,
    limit: usize,
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
                events.extend(event(line));
            } else {
                self.line.extend_from_slice(line);
                events.extend(event(&std::mem::take(&mut self.line)));
            }
        }
        self.check_size(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(events)
    }

    /// Ends the stream; returns the last line if only its line end was missing.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        event(&std::mem::take(&mut self.line))
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.line.len() + more > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }
}

/// Blank lines only keep the connection open and are ignored.
fn event(line: &[u8]) -> Option<SseEvent> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
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

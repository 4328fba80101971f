//! Lines of JSON, parsed as the bytes come: the other way in which answers are streamed.
//!
//! What stays true: the same bytes give the same lines however they are chunked, a byte is looked at once,
//! and no server can make the parser hold more than its limit.

use super::sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent};

/// The parser's state between chunks.
#[derive(Debug)]
pub struct LineParser {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    limit: usize,
}

impl Default for LineParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl LineParser {
    /// A parser that refuses lines of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            limit,
        }
    }

    /// Takes the next bytes and gives the lines they completed, each as the data of an event. After an
    /// error the stream is of no more use.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLarge> {
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

    /// The stream has ended. Gives the line that lacked only its end.
    pub fn finish(&mut self) -> Option<SseEvent> {
        event(&std::mem::take(&mut self.line))
    }

    fn check_size(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.line.len() + more > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }
}

/// A line that holds nothing but space keeps the connection open and says no more.
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
    fn lines_end_in_either_way_and_the_last_not_at_all() {
        let stream = "\u{feff}{\"a\":1}\n\n  \r\n{\"b\":\"漢\"}\r\n {\"c\":3}";
        assert_eq!(
            parse(&[stream.as_bytes()]),
            ["{\"a\":1}", "{\"b\":\"漢\"}", "{\"c\":3}"]
        );
    }

    #[test]
    fn the_limit_counts_one_line_not_the_stream() {
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

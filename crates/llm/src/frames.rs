//! Splits a response body into events. Decoders are independent of how the body is framed.

use super::aws_events::{AwsEventParser, FrameError};
use super::ndjson::LineParser;
use super::sse::{EventTooLarge, MAX_EVENT_BYTES, SseEvent, SseParser};
use serde_json::value::RawValue;

/// How an event of a server-sent stream can begin; comments have no name.
const SSE_FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// The framing of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
    /// AWS's binary frames.
    AwsEvents,
}

impl Framing {
    /// The content type for the `Accept` header.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/x-ndjson",
            Self::AwsEvents => "application/vnd.amazon.eventstream",
        }
    }

    pub(crate) fn parser(self) -> FrameParser {
        FrameParser {
            framing: self,
            start: Vec::new(),
            body: None,
        }
    }

    /// The parser for a body that begins with `byte`. Servers and gateways answer in other framings
    /// than they announce.
    fn parser_for(self, byte: u8) -> BodyParser {
        match (self, byte) {
            (Self::Events | Self::AwsEvents, b'{' | b'[') | (Self::Lines, b'[') => {
                BodyParser::Json(Vec::new())
            }
            // A web page has no events.
            (Self::Lines, b'd' | b'e' | b'i' | b':' | b'<')
            | (Self::AwsEvents, b'<')
            | (Self::Events, _) => BodyParser::Events(SseParser::default()),
            (Self::Lines, _) => BodyParser::Lines(LineParser::default()),
            (Self::AwsEvents, _) => BodyParser::AwsEvents(AwsEventParser::default()),
        }
    }
}

/// The parser of one response body. The first byte of the body determines the framing.
#[derive(Debug)]
pub(crate) struct FrameParser {
    framing: Framing,
    /// White space at the start of the body.
    start: Vec<u8>,
    body: Option<BodyParser>,
}

#[derive(Debug)]
enum BodyParser {
    Events(SseParser),
    Lines(LineParser),
    AwsEvents(AwsEventParser),
    /// JSON values instead of a stream.
    Json(Vec<u8>),
}

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl FrameParser {
    /// Parses the next bytes; returns the completed events. After an error the parser is unusable.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, FrameError> {
        if self.body.is_some() {
            return self.parse(bytes);
        }
        self.start.extend_from_slice(bytes);
        let is_mark_incomplete = self.start.len() < MARK.len() && MARK.starts_with(&self.start);
        let start = self.start.strip_prefix(MARK).unwrap_or(&self.start);
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        let Some(first) = first.filter(|_| !is_mark_incomplete) else {
            return Ok(Vec::new());
        };
        self.body = Some(self.framing.parser_for(*first));
        let start = std::mem::take(&mut self.start);
        self.parse(&start)
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, FrameError> {
        match &mut self.body {
            None => Ok(Vec::new()),
            Some(BodyParser::Events(parser)) => Ok(parser.push(bytes)?),
            Some(BodyParser::Lines(parser)) => Ok(parser.push(bytes)?),
            Some(BodyParser::AwsEvents(parser)) => parser.push(bytes),
            Some(BodyParser::Json(body)) => {
                if body.len() + bytes.len() > MAX_EVENT_BYTES {
                    let limit = MAX_EVENT_BYTES;
                    return Err(EventTooLarge { limit }.into());
                }
                body.extend_from_slice(bytes);
                Ok(Vec::new())
            }
        }
    }

    /// Whether the body is JSON instead of a stream.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.body, Some(BodyParser::Json(_)))
    }

    /// Whether `head`, a body without a complete event, begins one.
    pub(crate) fn has_begun(&self, head: &[u8]) -> bool {
        match &self.body {
            _ if head.is_empty() => false,
            Some(BodyParser::Events(_)) => SSE_FIELDS
                .iter()
                .any(|field| head.starts_with(field) || field.starts_with(head)),
            // Frames are shorter than 16 MiB.
            Some(BodyParser::AwsEvents(_)) => head.first() == Some(&0),
            // `finish` returns an incomplete line or value.
            Some(BodyParser::Lines(_) | BodyParser::Json(_)) | None => false,
        }
    }

    /// Ends the body; returns the last event if only its terminator was missing, and the values of a body that is JSON.
    pub(crate) fn finish(&mut self) -> Vec<SseEvent> {
        match &mut self.body {
            Some(BodyParser::Events(parser)) => parser.finish().into_iter().collect(),
            Some(BodyParser::Lines(parser)) => parser.finish(),
            // An incomplete frame is ignored.
            Some(BodyParser::AwsEvents(_)) | None => Vec::new(),
            Some(BodyParser::Json(body)) => values(&String::from_utf8_lossy(body)),
        }
    }
}

/// The values in `body`, those of a list one by one. A value that is no JSON is an event, too.
fn values(body: &str) -> Vec<SseEvent> {
    let body = body.trim_start_matches('\u{feff}').trim();
    let event = |data: &str| SseEvent {
        event: None,
        data: data.to_owned(),
    };
    let mut events = Vec::new();
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Box<RawValue>>();
    let mut end = 0;
    loop {
        match values.next() {
            Some(Ok(value)) => {
                end = values.byte_offset();
                match serde_json::from_str::<Vec<Box<RawValue>>>(value.get()) {
                    Ok(list) => events.extend(list.iter().map(|value| event(value.get()))),
                    Err(_) => events.push(event(value.get())),
                }
            }
            Some(Err(_)) => {
                events.push(event(&body[end..]));
                return events;
            }
            None => return events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(framing: Framing, body: &str, size: usize) -> (Vec<String>, bool) {
        let mut parser = framing.parser();
        let mut events = Vec::new();
        for chunk in body.as_bytes().chunks(size) {
            events.extend(parser.push(chunk).unwrap());
        }
        events.extend(parser.finish());
        let data = events.into_iter().map(|event| event.data).collect();
        (data, parser.is_json())
    }

    #[test]
    fn framing_is_found_by_content() {
        let (events, lines) = (Framing::Events, Framing::Lines);
        for (framing, body, data, is_json) in [
            (events, "data: {\"a\":1}\n\n", &["{\"a\":1}"][..], false),
            (events, "\u{feff}\r\n : x\n\ndata: 1\n\n", &["1"], false),
            (events, "  {\"a\": 1}\n", &["{\"a\": 1}"], true),
            (
                events,
                "\u{feff}[{\"a\":1},\n{\"b\":2}]",
                &["{\"a\":1}", "{\"b\":2}"],
                true,
            ),
            (
                events,
                "{\"a\":1}\n{\"b\":2}\n",
                &["{\"a\":1}", "{\"b\":2}"],
                true,
            ),
            (events, "{\"a\":1}{\"b", &["{\"a\":1}", "{\"b"], true),
            (events, "{\"a\":1e400}", &["{\"a\":1e400}"], true),
            (
                lines,
                "{\"a\":1}\n{\"b\":2}",
                &["{\"a\":1}", "{\"b\":2}"],
                false,
            ),
            (lines, "data: {\"a\":1}\n\n", &["{\"a\":1}"], false),
            (lines, "[{\"a\":1}]", &["{\"a\":1}"], true),
            (Framing::AwsEvents, "{\"a\":1}", &["{\"a\":1}"], true),
            (events, "", &[], false),
            (events, " \n", &[], false),
        ] {
            for size in [1, 3, 100] {
                let expected = data.iter().map(|data| (*data).to_owned()).collect();
                assert_eq!(
                    parsed(framing, body, size),
                    (expected, is_json),
                    "{body} {size}"
                );
            }
        }
    }
}

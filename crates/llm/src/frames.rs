//! Splits a response body into events. Decoders are independent of how the body is framed.

use super::aws_events::{AwsEventParser, FrameError};
use super::ndjson::LineParser;
use super::sse::{SseEvent, SseParser};

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
        match self {
            Self::Events => FrameParser::Events(SseParser::default()),
            Self::Lines => FrameParser::Lines(LineParser::default()),
            Self::AwsEvents => FrameParser::AwsEvents(AwsEventParser::default()),
        }
    }
}

/// The parser of one response body.
#[derive(Debug)]
pub(crate) enum FrameParser {
    Events(SseParser),
    Lines(LineParser),
    AwsEvents(AwsEventParser),
}

impl FrameParser {
    /// Parses the next bytes; returns the completed events. After an error the parser is unusable.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, FrameError> {
        match self {
            Self::Events(parser) => Ok(parser.push(bytes)?),
            Self::Lines(parser) => Ok(parser.push(bytes)?),
            Self::AwsEvents(parser) => parser.push(bytes),
        }
    }

    /// Whether `head`, a body without a complete event, begins one.
    pub(crate) fn has_begun(&self, head: &[u8]) -> bool {
        match self {
            _ if head.is_empty() => false,
            Self::Events(_) => SSE_FIELDS
                .iter()
                .any(|field| head.starts_with(field) || field.starts_with(head)),
            // `finish` returns an incomplete line.
            Self::Lines(_) => false,
            // Frames are shorter than 16 MiB.
            Self::AwsEvents(_) => head.first() == Some(&0),
        }
    }

    /// Ends the body; returns the last event if only its terminator was missing.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        match self {
            Self::Events(parser) => parser.finish(),
            Self::Lines(parser) => parser.finish(),
            // An incomplete frame is ignored.
            Self::AwsEvents(_) => None,
        }
    }
}

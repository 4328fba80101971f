//! How a body is cut into events: what differs between the ways of streaming ends here, so that decoders
//! see events only.

use super::aws_events::{AwsEventParser, FrameError};
use super::ndjson::LineParser;
use super::sse::{SseEvent, SseParser};

/// A way of streaming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
    /// AWS's binary frames.
    AwsEvents,
}

impl Framing {
    /// The content type that a request asks for.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/x-ndjson",
            Self::AwsEvents => "application/vnd.amazon.eventstream",
        }
    }

    pub fn parser(self) -> FrameParser {
        match self {
            Self::Events => FrameParser::Events(SseParser::default()),
            Self::Lines => FrameParser::Lines(LineParser::default()),
            Self::AwsEvents => FrameParser::AwsEvents(AwsEventParser::default()),
        }
    }
}

/// The state of one body.
#[derive(Debug)]
pub enum FrameParser {
    Events(SseParser),
    Lines(LineParser),
    AwsEvents(AwsEventParser),
}

impl FrameParser {
    /// Takes the next bytes and gives the events they completed. After an error the stream is of no
    /// more use.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, FrameError> {
        match self {
            Self::Events(parser) => Ok(parser.push(bytes)?),
            Self::Lines(parser) => Ok(parser.push(bytes)?),
            Self::AwsEvents(parser) => parser.push(bytes),
        }
    }

    /// The body has ended. Gives the event that lacked only its end.
    pub fn finish(&mut self) -> Option<SseEvent> {
        match self {
            Self::Events(parser) => parser.finish(),
            Self::Lines(parser) => parser.finish(),
            // A frame that is not whole is none.
            Self::AwsEvents(_) => None,
        }
    }
}

//! How a body is cut into events: what differs between the ways of streaming ends here, so that decoders
//! see events only.

use super::ndjson::LineParser;
use super::sse::{EventTooLarge, SseEvent, SseParser};

/// A way of streaming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
}

impl Framing {
    /// The content type that a request asks for.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/x-ndjson",
        }
    }

    pub fn parser(self) -> FrameParser {
        match self {
            Self::Events => FrameParser::Events(SseParser::default()),
            Self::Lines => FrameParser::Lines(LineParser::default()),
        }
    }
}

/// The state of one body.
#[derive(Debug)]
pub enum FrameParser {
    Events(SseParser),
    Lines(LineParser),
}

impl FrameParser {
    /// Takes the next bytes and gives the events they completed. After an error the stream is of no
    /// more use.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLarge> {
        match self {
            Self::Events(parser) => parser.push(bytes),
            Self::Lines(parser) => parser.push(bytes),
        }
    }

    /// The body has ended. Gives the event that lacked only its end.
    pub fn finish(&mut self) -> Option<SseEvent> {
        match self {
            Self::Events(parser) => parser.finish(),
            Self::Lines(parser) => parser.finish(),
        }
    }
}

//! Invariants that hold for every stream of a provider, for fuzzing.

mod events;

pub use events::wires;

use crate::aws_events::AwsEventParser;
use crate::ndjson::LineParser;
use crate::sse::{SseEvent, SseParser};
use crate::wire::WIRES;
use crate::wire::testing::{model, try_play};

/// Sizes of chunks that a stream is split into.
const SIZES: [usize; 3] = [1, 3, 64];
/// Maximum bytes of an event: small, so that small streams reach the limit.
const LIMIT: usize = 200;

/// Checks the body of a response: server-sent events, JSON lines or frames, and their decoding.
pub fn sse(data: &[u8]) {
    let all = data.len().max(1);
    for limit in [LIMIT, usize::MAX] {
        let whole = events(data, all, limit);
        for size in SIZES {
            assert_eq!(events(data, size, limit), whole, "chunks of {size}");
        }
        for event in whole.iter().flatten() {
            // An invalid byte is replaced by three.
            assert!(event.data.len() / 3 <= limit);
        }
        let lines_whole = lines(data, all, limit);
        for size in SIZES {
            assert_eq!(lines(data, size, limit), lines_whole, "chunks of {size}");
        }
        let frames_whole = frames(data, all, limit);
        for size in SIZES {
            assert_eq!(frames(data, size, limit), frames_whole, "chunks of {size}");
        }
    }
    if let Some(events) = events(data, all, usize::MAX) {
        let again = self::events(encoded(&events).as_bytes(), all, usize::MAX);
        assert_eq!(again.as_ref(), Some(&events), "encoded and read again");
    }
    for wire in WIRES {
        // Checks that exactly one event is the last, and that the message can be built.
        try_play(&model(wire.api), data, 7);
    }
}

/// The events of the stream; `None` if one exceeds the limit.
fn events(data: &[u8], size: usize, limit: usize) -> Option<Vec<SseEvent>> {
    let mut parser = SseParser::with_limit(limit);
    let mut events = Vec::new();
    for chunk in data.chunks(size) {
        events.extend(parser.push(chunk).ok()?);
    }
    events.extend(parser.finish());
    Some(events)
}

fn lines(data: &[u8], size: usize, limit: usize) -> Option<Vec<SseEvent>> {
    let mut parser = LineParser::with_limit(limit);
    let mut events = Vec::new();
    for chunk in data.chunks(size) {
        events.extend(parser.push(chunk).ok()?);
    }
    events.extend(parser.finish());
    Some(events)
}

fn frames(data: &[u8], size: usize, limit: usize) -> Option<Vec<SseEvent>> {
    let mut parser = AwsEventParser::with_limit(limit);
    let mut events = Vec::new();
    for chunk in data.chunks(size) {
        events.extend(parser.push(chunk).ok()?);
    }
    Some(events)
}

/// The events as a server writes them.
fn encoded(events: &[SseEvent]) -> String {
    let mut stream = String::new();
    for SseEvent { event, data } in events {
        if let Some(event) = event {
            stream.extend(["event: ", event, "\n"]);
        }
        for line in data.split('\n') {
            stream.extend(["data: ", line, "\n"]);
        }
        stream.push('\n');
    }
    stream
}

#[cfg(test)]
mod tests {
    #[test]
    fn saved_streams_are_read() {
        osier_testing::fuzz::run_cases("sse", super::sse);
    }

    #[test]
    fn saved_events_are_decoded_in_every_format() {
        osier_testing::fuzz::run_cases("wires", super::wires);
    }
}

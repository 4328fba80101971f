//! The replay buffer: the last numbered events of a session, limited by size.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_protocol::Event;

/// Size of the buffer, in bytes of JSON.
const CAPACITY: usize = 512 * 1024;

/// An event with its time, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    pub time: i64,
    pub event: Event,
}

/// An event with its number and time.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberedEvent {
    /// Increases by one with each event of a session, also across unloads and restarts. Not set for answers to
    /// one client, which are not replayed.
    pub number: Option<u64>,
    /// Milliseconds since the Unix epoch. A replay gives the same time.
    pub time: i64,
    pub event: Event,
}

/// The last events of a session.
#[derive(Debug)]
pub(super) struct ReplayBuffer {
    events: VecDeque<(Arc<NumberedEvent>, usize)>,
    bytes: usize,
    /// Number of the last event.
    last: u64,
}

impl ReplayBuffer {
    /// An empty buffer. The first event gets the number after `last`.
    pub(super) fn new(last: u64) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            last,
        }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Numbers an event and stores it. Drops the oldest events when the buffer is full.
    pub(super) fn push(&mut self, time: i64, event: Event) -> Arc<NumberedEvent> {
        if !event.delivery().is_replayed() {
            return Arc::new(NumberedEvent {
                number: None,
                time,
                event,
            });
        }
        self.last += 1;
        let size = size_of(&event);
        let event = Arc::new(NumberedEvent {
            number: Some(self.last),
            time,
            event,
        });
        self.events.push_back((Arc::clone(&event), size));
        self.bytes += size;
        while self.bytes > CAPACITY
            && let Some((_, size)) = self.events.pop_front()
        {
            self.bytes -= size;
        }
        event
    }

    /// Drops all events. A client that missed some of them gets a snapshot instead.
    pub(super) fn clear(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }

    /// The events after this number. `None` when some are no longer in the buffer, or the number is unknown.
    pub(super) fn events_after(&self, number: u64) -> Option<Vec<Arc<NumberedEvent>>> {
        let missed = self.last.checked_sub(number)?;
        let missed = usize::try_from(missed).ok()?;
        let start = self.events.len().checked_sub(missed)?;
        let events = self.events.iter().skip(start);
        Some(events.map(|(event, _)| Arc::clone(event)).collect())
    }
}

/// Bytes of an event as JSON.
fn size_of(event: &Event) -> usize {
    serde_json::to_vec(event).map_or(0, |json| json.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(name: &str) -> Event {
        let name = Some(name.to_owned());
        Event::SessionRenamed { name }
    }

    fn numbers(events: Option<Vec<Arc<NumberedEvent>>>) -> Option<Vec<u64>> {
        events.map(|events| events.iter().filter_map(|event| event.number).collect())
    }

    #[test]
    fn missed_events_are_returned_by_number() {
        let mut buffer = ReplayBuffer::new(100);
        for name in ["a", "b", "c"] {
            buffer.push(7, renamed(name));
        }
        let answer = Event::OpEnded {
            request: 1,
            with_agent: false,
        };
        assert_eq!(buffer.push(8, answer).number, None);
        let last = NumberedEvent {
            number: Some(103),
            time: 7,
            event: renamed("c"),
        };
        assert_eq!(buffer.events_after(102), Some(vec![Arc::new(last)]));
        assert_eq!(numbers(buffer.events_after(101)), Some(vec![102, 103]));
        assert_eq!(numbers(buffer.events_after(103)), Some(Vec::new()));
        assert_eq!(numbers(buffer.events_after(100)), Some(vec![101, 102, 103]));
        // Numbers before the first event and after the last one.
        assert_eq!(numbers(buffer.events_after(99)), None);
        assert_eq!(numbers(buffer.events_after(104)), None);
    }

    #[test]
    fn cleared_events_cannot_be_returned() {
        let mut buffer = ReplayBuffer::new(0);
        buffer.push(0, renamed("a"));
        buffer.push(0, renamed("b"));
        buffer.clear();
        assert_eq!(numbers(buffer.events_after(2)), Some(Vec::new()));
        assert_eq!(numbers(buffer.events_after(1)), None);
        buffer.push(0, renamed("c"));
        assert_eq!(numbers(buffer.events_after(2)), Some(vec![3]));
        assert_eq!(numbers(buffer.events_after(1)), None);
    }

    #[test]
    fn the_oldest_events_are_dropped() {
        let mut buffer = ReplayBuffer::new(0);
        let long = "x".repeat(CAPACITY / 2);
        for _ in 0..3 {
            buffer.push(0, renamed(&long));
        }
        assert_eq!(numbers(buffer.events_after(2)), Some(vec![3]));
        assert_eq!(numbers(buffer.events_after(1)), None);
    }
}

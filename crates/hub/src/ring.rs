//! The last events of a room, numbered, bounded by bytes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use osier_protocol::Event;

/// Bytes of events that are kept, as they are sent.
const KEPT: usize = 512 * 1024;

/// An event and its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Rises by one with each event of a room, and from one life of a session to the next. Not set for what
    /// only answers somebody: it is told once.
    pub number: Option<u64>,
    pub event: Event,
}

/// What was told last.
#[derive(Debug)]
pub(super) struct Ring {
    events: VecDeque<(Arc<Told>, usize)>,
    bytes: usize,
    /// Number of the last event.
    last: u64,
}

impl Ring {
    /// An empty one that counts from behind `last`.
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

    /// Numbers an event and keeps it; the oldest ones give way.
    pub(super) fn push(&mut self, event: Event) -> Arc<Told> {
        if !event.delivery().is_replayed() {
            return Arc::new(Told {
                number: None,
                event,
            });
        }
        self.last += 1;
        let size = size_of(&event);
        let told = Arc::new(Told {
            number: Some(self.last),
            event,
        });
        self.events.push_back((Arc::clone(&told), size));
        self.bytes += size;
        while self.bytes > KEPT
            && let Some((_, size)) = self.events.pop_front()
        {
            self.bytes -= size;
        }
        told
    }

    /// Keeps nothing of what was told so far: who missed some of it is told how everything stands instead.
    pub(super) fn forget(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }

    /// What came after the event with this number; `None` when some of it is gone, or when the number is not
    /// from here.
    pub(super) fn after(&self, number: u64) -> Option<Vec<Arc<Told>>> {
        let missed = self.last.checked_sub(number)?;
        let missed = usize::try_from(missed).ok()?;
        let start = self.events.len().checked_sub(missed)?;
        let events = self.events.iter().skip(start);
        Some(events.map(|(told, _)| Arc::clone(told)).collect())
    }
}

/// Bytes of an event as it is sent.
fn size_of(event: &Event) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut counter, event);
    counter.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(name: &str) -> Event {
        let name = Some(name.to_owned());
        Event::SessionRenamed { name }
    }

    fn numbers(events: Option<Vec<Arc<Told>>>) -> Option<Vec<u64>> {
        events.map(|events| events.iter().filter_map(|told| told.number).collect())
    }

    #[test]
    fn what_was_missed_is_told_by_number() {
        let mut ring = Ring::new(100);
        for name in ["a", "b", "c"] {
            ring.push(renamed(name));
        }
        let answer = ring.push(Event::OpEnded {
            request: 1,
            with_agent: false,
        });
        assert_eq!(answer.number, None);
        assert_eq!(numbers(ring.after(101)), Some(vec![102, 103]));
        assert_eq!(numbers(ring.after(103)), Some(Vec::new()));
        assert_eq!(numbers(ring.after(100)), Some(vec![101, 102, 103]));
        // From a life before this one, and from none.
        assert_eq!(numbers(ring.after(99)), None);
        assert_eq!(numbers(ring.after(104)), None);
    }

    #[test]
    fn what_was_forgotten_is_missed_by_who_had_not_heard_it() {
        let mut ring = Ring::new(0);
        ring.push(renamed("a"));
        ring.push(renamed("b"));
        ring.forget();
        assert_eq!(numbers(ring.after(2)), Some(Vec::new()));
        assert_eq!(numbers(ring.after(1)), None);
        ring.push(renamed("c"));
        assert_eq!(numbers(ring.after(2)), Some(vec![3]));
        assert_eq!(numbers(ring.after(1)), None);
    }

    #[test]
    fn the_oldest_give_way() {
        let mut ring = Ring::new(0);
        let long = "x".repeat(KEPT / 2);
        for _ in 0..3 {
            ring.push(renamed(&long));
        }
        assert_eq!(numbers(ring.after(2)), Some(vec![3]));
        assert_eq!(numbers(ring.after(1)), None);
    }
}

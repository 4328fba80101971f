//! Merges the events of a stream for clients on slow connections: events that arrive within a frame
//! of the screen become one.

use std::time::{Duration, Instant};

use osier_agent::Coalesce as _;
use osier_hub::NumberedEvent;

/// The time between two events of a stream: nobody sees more than 40 frames in a second.
const INTERVAL: Duration = Duration::from_millis(25);

/// The event that waits for later ones of its stream.
#[derive(Debug, Default)]
pub(super) struct MergedEvent {
    waiting: Option<NumberedEvent>,
    /// When the last event of a stream was sent.
    sent: Option<Instant>,
}

impl MergedEvent {
    /// Merges `next` with the event that waits, or lets it wait. Returns whether it did: an event that was not merged is sent
    /// at once, after the one that waits.
    pub(super) fn holds(&mut self, next: &NumberedEvent, now: Instant) -> bool {
        if let Some(waiting) = &mut self.waiting {
            if !waiting.event.coalesce(&next.event) {
                return false;
            }
            (waiting.number, waiting.time) = (next.number, next.time);
            return true;
        }
        if !next.event.is_deferrable() {
            return false;
        }
        if self.sent.is_none_or(|sent| now >= sent + INTERVAL) {
            self.sent = Some(now);
            return false;
        }
        self.waiting = Some(next.clone());
        true
    }

    /// The event that waits, which is sent now.
    pub(super) fn release(&mut self, now: Instant) -> Option<NumberedEvent> {
        let waiting = self.waiting.take()?;
        self.sent = Some(now);
        Some(waiting)
    }

    /// When the event that waits must be sent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.as_ref()?;
        Some(self.sent? + INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use osier_llm::Delta;
    use osier_protocol::Event;

    use super::*;

    fn delta(number: u64, text: &str) -> NumberedEvent {
        let (id, delta) = ("message_1".to_owned(), text.to_owned());
        let delta = Delta::TextDelta { index: 0, delta };
        NumberedEvent {
            number: Some(number),
            time: i64::try_from(number).unwrap(),
            event: Event::Agent(osier_agent::Event::MessageUpdate { id, delta }),
        }
    }

    #[test]
    fn deltas_within_a_frame_are_one_event_and_the_first_does_not_wait() {
        let start = Instant::now();
        let mut merged = MergedEvent::default();
        assert!(!merged.holds(&delta(1, "a"), start), "sent at once");
        assert_eq!(merged.deadline(), None);
        for (number, text) in [(2, "b"), (3, "c")] {
            assert!(merged.holds(&delta(number, text), start));
        }
        assert_eq!(merged.deadline(), Some(start + INTERVAL));
        let later = start + INTERVAL;
        assert_eq!(merged.release(later), Some(delta(3, "bc")));
        assert_eq!(merged.release(later), None);
        assert!(
            merged.holds(&delta(4, "d"), later),
            "a frame after the last"
        );
        assert_eq!(merged.deadline(), Some(later + INTERVAL));
        assert_eq!(merged.release(later + INTERVAL), Some(delta(4, "d")));
        assert!(!merged.holds(&delta(5, "e"), later + 2 * INTERVAL));
    }

    #[test]
    fn other_events_do_not_wait() {
        let now = Instant::now();
        let other = NumberedEvent {
            event: Event::Agent(osier_agent::Event::AgentStart),
            ..delta(3, "")
        };
        let mut merged = MergedEvent::default();
        assert!(!merged.holds(&delta(1, "a"), now));
        assert!(merged.holds(&delta(2, "b"), now));
        assert!(!merged.holds(&other, now));
        assert_eq!(merged.release(now), Some(delta(2, "b")));
        assert!(!merged.holds(&other, now));
    }
}

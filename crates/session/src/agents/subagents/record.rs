//! The conversation of a subagent in memory: the events that make it, without those that later ones replace.

use std::collections::VecDeque;
use std::io;

use osier_agent::{Coalesce as _, Event};
use serde::Serialize;

/// Bytes of events of one subagent that stay in memory.
const KEPT: usize = 512 * 1024;

/// The events so far. The oldest turns are removed when they get too large.
#[derive(Debug, Default)]
pub(super) struct Record {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    /// Messages that were removed.
    skipped: u64,
}

impl Record {
    /// Adds an event that [`is_recorded`].
    pub(super) fn add(&mut self, event: &Event) {
        match event {
            Event::MessageUpdate { .. } | Event::ToolExecutionUpdate { .. } => {
                let mut events = self.events.iter_mut().rev();
                if events.any(|(last, _)| last.coalesce(event)) {
                    return;
                }
            }
            Event::MessageEnd { id, .. } => {
                self.remove(|known| matches!(known, Event::MessageUpdate { id: of, .. } if of == id));
            }
            Event::MessageRetracted { id } => {
                return self.remove(|known| {
                    matches!(known, Event::MessageStart { id: of, .. } | Event::MessageUpdate { id: of, .. } if of == id)
                });
            }
            Event::ToolExecutionEnd { call_id, .. } => self.remove(
                |known| matches!(known, Event::ToolExecutionUpdate { call_id: of, .. } if of == call_id),
            ),
            Event::RetryScheduled { .. } => {
                self.remove(|known| matches!(known, Event::RetryScheduled { .. }));
            }
            Event::QueueUpdate { .. } => {
                self.remove(|known| matches!(known, Event::QueueUpdate { .. }));
            }
            _ => {}
        }
        let bytes = weight(event);
        self.bytes += bytes;
        self.events.push_back((event.clone(), bytes));
        self.shorten();
    }

    /// The events that make the conversation so far, and the number of messages that they lack.
    pub(super) fn events(&self) -> (Vec<Event>, u64) {
        let events = self.events.iter().map(|(event, _)| event.clone());
        (events.collect(), self.skipped)
    }

    fn remove(&mut self, which: impl Fn(&Event) -> bool) {
        let bytes = &mut self.bytes;
        self.events.retain(|(event, weight)| {
            let stays = !which(event);
            if !stays {
                *bytes -= weight;
            }
            stays
        });
    }

    /// Removes the oldest turns, but never the present one.
    fn shorten(&mut self) {
        while self.bytes > KEPT {
            let mut events = self.events.iter().skip(1);
            let next = events.position(|(event, _)| matches!(event, Event::TurnStart { .. }));
            let Some(next) = next else { return };
            for (event, weight) in self.events.drain(..=next) {
                self.bytes -= weight;
                self.skipped += u64::from(matches!(event, Event::MessageEnd { .. }));
            }
        }
    }
}

/// Whether an event is part of the conversation that clients follow.
pub(super) fn is_recorded(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnStart { .. }
            | Event::MessageStart { .. }
            | Event::MessageUpdate { .. }
            | Event::MessageEnd { .. }
            | Event::MessageRetracted { .. }
            | Event::ToolExecutionStart { .. }
            | Event::ToolExecutionUpdate { .. }
            | Event::ToolExecutionEnd { .. }
            | Event::TurnEnd { .. }
            | Event::AgentEnd { .. }
            | Event::QueueUpdate { .. }
            | Event::RetryScheduled { .. }
            | Event::ProviderSwitched { .. }
            | Event::Notice { .. }
    )
}

/// The bytes of an event as JSON. Deltas count nothing: the complete message replaces them.
fn weight(event: &Event) -> usize {
    if let Event::MessageUpdate { .. } | Event::ToolExecutionUpdate { .. } = event {
        return 0;
    }
    let mut counter = Counter(0);
    let mut writer = serde_json::Serializer::new(&mut counter);
    let _ = event.serialize(&mut writer);
    counter.0
}

/// Counts what is written.
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

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{AgentMessage, UserMessage};
    use osier_llm::{AssistantMessage, Delta};
    use std::sync::Arc;

    fn user(id: &str, text: &str) -> Event {
        let message = UserMessage {
            text: text.to_owned(),
            ..UserMessage::default()
        };
        Event::MessageEnd {
            id: id.to_owned(),
            message: Arc::new(AgentMessage::User(message)),
        }
    }

    fn text(id: &str, delta: &str) -> Event {
        Event::MessageUpdate {
            id: id.to_owned(),
            delta: Delta::TextDelta {
                index: 0,
                delta: delta.to_owned(),
            },
        }
    }

    #[test]
    fn deltas_merge_and_end_with_their_message() {
        let start = Event::MessageStart {
            id: "a".to_owned(),
            message: Arc::new(AgentMessage::Assistant(AssistantMessage::default())),
        };
        let mut record = Record::default();
        for event in [start.clone(), text("a", "one "), text("a", "two")] {
            record.add(&event);
        }
        assert_eq!(
            record.events(),
            (vec![start.clone(), text("a", "one two")], 0)
        );
        record.add(&user("a", "done"));
        assert_eq!(record.events(), (vec![start, user("a", "done")], 0));
    }

    #[test]
    fn the_oldest_turns_go_and_the_present_one_stays() {
        let large = "x".repeat(KEPT / 2);
        let mut record = Record::default();
        for turn in 1..4 {
            record.add(&Event::TurnStart { turn });
            record.add(&user("a", &large));
        }
        let last = vec![Event::TurnStart { turn: 3 }, user("a", &large)];
        assert_eq!(record.events(), (last, 2));
        record.add(&user("b", &large.repeat(3)));
        assert_eq!(record.events().0.len(), 3);
    }
}

//! The complete state of a session for a client that joins it.

use std::collections::HashMap;
use std::sync::Arc;

use super::replay::{NumberedEvent, TimedEvent};
use super::shared_session::{SharedSession, Subscriber};

use osier_protocol::{Event, Op, PageAt, StoredMessage, TreeEvent};

/// The state of a session after the event `number`. A client applies `events` in order; the first one contains the
/// last messages of the branch.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub number: u64,
    pub events: Vec<TimedEvent>,
}

impl SharedSession {
    /// Reads the current state; `None` when the session has ended.
    pub async fn snapshot(&self) -> Option<Snapshot> {
        let mut subscriber = self.subscribe();
        let mut number = subscriber.number;
        let mut request = self.request_page();
        let mut completed = CompletedMessages::default();
        loop {
            let received = subscriber.next().await?;
            number = received.number.unwrap_or(number);
            subscriber.retained.apply(received.time, &received.event);
            completed.on_event(&received.event);
            match &received.event {
                // The requested page belongs to another branch or session.
                Event::SessionOpened { .. } | Event::Tree(TreeEvent::Moved { .. }) => {
                    completed = CompletedMessages::default();
                    request = self.request_page();
                }
                Event::TranscriptPage { request: id, .. } if *id == request => {
                    return Some(finish(number, &subscriber, &received, completed));
                }
                _ => {}
            }
        }
    }

    fn request_page(&self) -> u64 {
        let request = self.handle().next_request();
        let page = PageAt::End;
        self.handle()
            .ask(request, Op::ReadTranscript { request, page });
        request
    }
}

fn finish(
    number: u64,
    subscriber: &Subscriber,
    page: &NumberedEvent,
    completed: CompletedMessages,
) -> Snapshot {
    let mut events = subscriber.retained();
    if let (
        Some(Event::SessionOpened {
            messages, at_start, ..
        }),
        Event::TranscriptPage {
            messages: read,
            at_start: from_start,
            found,
            ..
        },
    ) = (
        events.first_mut().map(|first| &mut first.event),
        &page.event,
    ) {
        messages.clone_from(read);
        let newer = completed.messages.into_iter();
        let is_new = |stored: &StoredMessage| read.iter().all(|r| r.entry_id != stored.entry_id);
        messages.extend(newer.filter(is_new));
        *at_start = *from_start || !found;
    }
    Snapshot { number, events }
}

/// Messages that were completed while the page was read.
#[derive(Default)]
struct CompletedMessages {
    entries: HashMap<String, String>,
    messages: Vec<StoredMessage>,
}

impl CompletedMessages {
    fn on_event(&mut self, event: &Event) {
        match event {
            Event::MessageStored { id, entry_id } => {
                self.entries.insert(id.clone(), entry_id.clone());
            }
            Event::Agent(osier_agent::Event::MessageEnd { id, message }) => {
                if let Some(entry_id) = self.entries.remove(id) {
                    let message = Arc::clone(message);
                    self.messages.push(StoredMessage { entry_id, message });
                }
            }
            _ => {}
        }
    }
}

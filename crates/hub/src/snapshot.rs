//! Everything somebody needs who comes into a room, at one moment.

use std::collections::HashMap;
use std::sync::Arc;

use super::ring::Told;
use super::room::{Room, Watch};

use osier_protocol::{Event, Op, PageAt, StoredMessage, TreeEvent};

/// How a room stood when the event `number` had been told. Applied in order, `events` say all of it; the
/// first one holds the last messages of the branch.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub number: u64,
    pub events: Vec<Event>,
}

impl Room {
    /// Reads how it stands; `None` when it has ended.
    pub async fn snapshot(&self) -> Option<Snapshot> {
        let mut watch = self.watch();
        let mut number = watch.number;
        let mut request = self.ask_for_page();
        let mut ended = Ended::default();
        loop {
            let told = watch.next().await?;
            number = told.number.unwrap_or(number);
            watch.standing.take(&told.event);
            ended.take(&told.event);
            match &told.event {
                // What is being read belongs to another place.
                Event::SessionOpened { .. } | Event::Tree(TreeEvent::Moved { .. }) => {
                    ended = Ended::default();
                    request = self.ask_for_page();
                }
                Event::TranscriptPage { request: of, .. } if *of == request => {
                    return Some(finish(number, &watch, &told, ended));
                }
                _ => {}
            }
        }
    }

    fn ask_for_page(&self) -> u64 {
        let request = self.host().next_request();
        let page = PageAt::End;
        self.host()
            .ask(request, Op::ReadTranscript { request, page });
        request
    }
}

fn finish(number: u64, watch: &Watch, page: &Told, ended: Ended) -> Snapshot {
    let mut events = watch.standing();
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
    ) = (events.first_mut(), &page.event)
    {
        messages.clone_from(read);
        let newer = ended.messages.into_iter();
        let is_new = |stored: &StoredMessage| read.iter().all(|r| r.entry_id != stored.entry_id);
        messages.extend(newer.filter(is_new));
        *at_start = *from_start || !found;
    }
    Snapshot { number, events }
}

/// Messages that were finished while a page was read.
#[derive(Default)]
struct Ended {
    entries: HashMap<String, String>,
    messages: Vec<StoredMessage>,
}

impl Ended {
    fn take(&mut self, event: &Event) {
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

//! What waits for one client. Events that do not fit are not taken: whoever has them tells the client later
//! how everything stands. Answers always are, until it is certain that nobody reads them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::frames::{Item, Kind};

/// Bytes that may wait before events are not taken any more.
const EVENTS_UNTIL: usize = 4 * 1024 * 1024;
/// Bytes below which they are taken again.
const EVENTS_FROM: usize = 256 * 1024;
/// Bytes that may wait at all.
const LIMIT: usize = 128 * 1024 * 1024;

/// The queue of one client. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Outbox(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
    drained: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    closed: bool,
    /// Nothing is added any more.
    finished: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::default(),
            arrived: Notify::new(),
            drained: Notify::new(),
        }))
    }

    /// Lets an item wait. False for an event that does not fit.
    pub(super) fn push(&self, item: Item) -> bool {
        let mut queue = self.lock();
        let can_be_lost = matches!(item.kind, Kind::Event | Kind::UiRequest | Kind::UiClosed);
        if can_be_lost && queue.bytes > EVENTS_UNTIL {
            return false;
        }
        queue.bytes += item.size();
        queue.closed |= queue.bytes > LIMIT;
        queue.items.push_back(item);
        drop(queue);
        self.0.arrived.notify_one();
        true
    }

    /// The next item; `None` when it was closed. For one reader. Cancel safe.
    pub(super) async fn next(&self) -> Option<Item> {
        loop {
            {
                let mut queue = self.lock();
                if queue.closed {
                    return None;
                }
                if let Some(item) = queue.items.pop_front() {
                    queue.bytes -= item.size();
                    if queue.bytes < EVENTS_FROM {
                        self.0.drained.notify_waiters();
                    }
                    return Some(item);
                }
                if queue.finished {
                    return None;
                }
            }
            self.0.arrived.notified().await;
        }
    }

    /// Waits until events fit well again. Cancel safe.
    pub(super) async fn drained(&self) {
        loop {
            let drained = self.0.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if self.lock().bytes < EVENTS_FROM {
                return;
            }
            drained.await;
        }
    }

    /// Nothing more comes: the reader hears the rest, and the end.
    pub(super) fn finish(&self) {
        self.lock().finished = true;
        self.0.arrived.notify_one();
    }

    /// Nobody reads any more.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.items.clear();
        drop(queue);
        self.0.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic elsewhere cannot leave these short critical sections half done.
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: Kind, bytes: usize) -> Item {
        Item {
            kind,
            session: None,
            number: None,
            payload: "x".repeat(bytes),
        }
    }

    #[tokio::test]
    async fn events_that_do_not_fit_are_refused_until_there_is_room() {
        let outbox = Outbox::new();
        assert!(outbox.push(item(Kind::Event, EVENTS_UNTIL)));
        assert!(!outbox.push(item(Kind::Event, 1)));
        assert!(outbox.push(item(Kind::Response, 1)));
        assert_eq!(outbox.next().await.map(|item| item.kind), Some(Kind::Event));
        outbox.drained().await;
        assert!(outbox.push(item(Kind::Event, 1)));
        outbox.close();
        assert_eq!(outbox.next().await, None);
    }
}

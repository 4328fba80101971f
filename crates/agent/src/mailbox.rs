//! One queue per subscriber: a slow one never blocks the agent or the others, and loses nothing.
//!
//! Text deltas of one block merge while they wait, so that what a lagging subscriber holds is bounded
//! by the text itself. Nothing else is merged or dropped; order is kept.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Events that an empty queue keeps room for.
const KEPT_ROOM: usize = 16;

/// An event that may absorb its successor.
pub trait Coalesce {
    /// Appends `next` to `self` and returns true, when one event can stand for both.
    fn coalesce(&mut self, next: &Self) -> bool;

    /// Whether this is a piece of something that goes on: who shows events may let it wait.
    fn is_piece(&self) -> bool;
}

/// Sends every event to every subscriber.
pub struct Publisher<E> {
    mailboxes: Mutex<Vec<Arc<Mailbox<E>>>>,
}

/// One subscriber's queue. Dropping it unsubscribes.
pub struct Subscription<E> {
    mailbox: Arc<Mailbox<E>>,
}

struct Mailbox<E> {
    queue: Mutex<Queue<E>>,
    arrived: Notify,
    /// Notified of events that are no piece of something.
    whole_arrived: Notify,
}

struct Queue<E> {
    events: VecDeque<E>,
    /// How many of them are no piece of something.
    whole: usize,
    closed: bool,
}

impl<E: Coalesce> Queue<E> {
    fn pop(&mut self) -> Option<E> {
        let event = self.events.pop_front()?;
        if self.events.is_empty() {
            // The room that a burst took is given back: hundreds of these wait in one process.
            self.events.shrink_to(KEPT_ROOM);
        }
        self.whole -= usize::from(!event.is_piece());
        Some(event)
    }
}

impl<E: Coalesce + Clone> Publisher<E> {
    pub fn new() -> Self {
        Self {
            mailboxes: Mutex::new(Vec::new()),
        }
    }

    /// A queue that receives every event published from now on.
    pub fn subscribe(&self) -> Subscription<E> {
        let queue = Queue {
            events: VecDeque::new(),
            whole: 0,
            closed: false,
        };
        let mailbox = Arc::new(Mailbox {
            queue: Mutex::new(queue),
            arrived: Notify::new(),
            whole_arrived: Notify::new(),
        });
        lock(&self.mailboxes).push(Arc::clone(&mailbox));
        Subscription { mailbox }
    }

    pub fn publish(&self, event: E) {
        let mut mailboxes = lock(&self.mailboxes);
        // A mailbox held by nobody but this list has lost its subscription.
        mailboxes.retain(|mailbox| Arc::strong_count(mailbox) > 1);
        let Some((last, others)) = mailboxes.split_last() else {
            return;
        };
        for mailbox in others {
            mailbox.push(event.clone());
        }
        last.push(event);
    }
}

impl<E: Coalesce + Clone> Default for Publisher<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Drop for Publisher<E> {
    fn drop(&mut self) {
        for mailbox in lock(&self.mailboxes).iter() {
            lock(&mailbox.queue).closed = true;
            mailbox.arrived.notify_one();
            mailbox.whole_arrived.notify_one();
        }
    }
}

impl<E: Coalesce> Mailbox<E> {
    fn push(&self, event: E) {
        let mut queue = lock(&self.queue);
        let merged = queue
            .events
            .back_mut()
            .is_some_and(|last| last.coalesce(&event));
        if merged {
            // Whoever reads was told of the event that has grown.
            return;
        }
        let whole = !event.is_piece();
        queue.whole += usize::from(whole);
        queue.events.push_back(event);
        drop(queue);
        self.arrived.notify_one();
        if whole {
            self.whole_arrived.notify_one();
        }
    }
}

impl<E: Coalesce> Subscription<E> {
    /// The next event; `None` when the publisher is gone and everything was received. Cancel safe.
    pub async fn recv(&mut self) -> Option<E> {
        loop {
            {
                let mut queue = lock(&self.mailbox.queue);
                if let Some(event) = queue.pop() {
                    return Some(event);
                }
                if queue.closed {
                    return None;
                }
            }
            self.mailbox.arrived.notified().await;
        }
    }

    /// The next event if one waits.
    pub fn try_recv(&mut self) -> Option<E> {
        lock(&self.mailbox.queue).pop()
    }

    /// Waits until an event waits or the publisher is gone. Cancel safe.
    pub async fn ready(&self) {
        loop {
            {
                let queue = lock(&self.mailbox.queue);
                if !queue.events.is_empty() || queue.closed {
                    return;
                }
            }
            self.mailbox.arrived.notified().await;
        }
    }

    /// Waits until an event waits that is no piece of something, or the publisher is gone. Cancel safe.
    pub async fn whole_ready(&self) {
        loop {
            {
                let queue = lock(&self.mailbox.queue);
                if queue.whole > 0 || queue.closed {
                    return;
                }
            }
            self.mailbox.whole_arrived.notified().await;
        }
    }

    /// Whether the publisher is gone and everything was received.
    pub fn is_closed(&self) -> bool {
        let queue = lock(&self.mailbox.queue);
        queue.closed && queue.events.is_empty()
    }
}

impl<E> fmt::Debug for Publisher<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Publisher").finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Subscription<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Subscription")
            .finish_non_exhaustive()
    }
}

/// A panic elsewhere cannot leave these short critical sections half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    enum Note {
        Text(String),
        Mark(u32),
    }

    impl Coalesce for Note {
        fn coalesce(&mut self, next: &Self) -> bool {
            match (self, next) {
                (Self::Text(text), Self::Text(more)) => {
                    text.push_str(more);
                    true
                }
                _ => false,
            }
        }

        fn is_piece(&self) -> bool {
            matches!(self, Self::Text(_))
        }
    }

    fn text(text: &str) -> Note {
        Note::Text(text.into())
    }

    #[tokio::test]
    async fn a_lagging_subscriber_gets_joined_deltas_and_every_other_event() {
        let publisher = Publisher::new();
        let mut slow = publisher.subscribe();
        let mut quick = publisher.subscribe();
        let mut seen = Vec::new();
        for note in [
            text("a"),
            text("b"),
            Note::Mark(1),
            Note::Mark(1),
            text("c"),
            text("d"),
        ] {
            publisher.publish(note);
            seen.push(quick.recv().await.unwrap());
        }
        drop(publisher);
        let mut late = Vec::new();
        while let Some(note) = slow.recv().await {
            late.push(note);
        }
        assert_eq!(late, [text("ab"), Note::Mark(1), Note::Mark(1), text("cd")]);
        assert_eq!(
            seen,
            [
                text("a"),
                text("b"),
                Note::Mark(1),
                Note::Mark(1),
                text("c"),
                text("d")
            ]
        );
        assert!(slow.is_closed());
    }

    #[tokio::test]
    async fn what_is_whole_is_told_apart_from_pieces() {
        let publisher = Publisher::new();
        let mut subscription = publisher.subscribe();
        let is_ready = |subscription: &Subscription<Note>| {
            let mut ready = std::pin::pin!(subscription.whole_ready());
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            ready.as_mut().poll(&mut cx).is_ready()
        };
        publisher.publish(text("a"));
        assert!(!is_ready(&subscription));
        publisher.publish(Note::Mark(1));
        publisher.publish(text("b"));
        assert!(is_ready(&subscription));
        assert_eq!(subscription.try_recv(), Some(text("a")));
        assert!(is_ready(&subscription));
        assert_eq!(subscription.recv().await, Some(Note::Mark(1)));
        assert!(!is_ready(&subscription));
        drop(publisher);
        assert!(is_ready(&subscription));
    }

    #[tokio::test]
    async fn a_dropped_subscription_is_forgotten() {
        let publisher = Publisher::<Note>::new();
        drop(publisher.subscribe());
        publisher.publish(Note::Mark(1));
        assert_eq!(lock(&publisher.mailboxes).len(), 0);
    }
}

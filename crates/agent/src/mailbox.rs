//! One queue per subscriber. A slow subscriber blocks neither the agent nor other subscribers, and loses no
//! events.
//!
//! Queued text deltas of one block are merged, so that the size of a queue is bounded by the text itself.
//! Nothing else is merged or dropped; the order is preserved. An event has the time at which it was published.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

use osier_base::clock;
use tokio::sync::Notify;

/// Capacity of an empty queue, in events.
const IDLE_CAPACITY: usize = 16;

/// An event that can be merged with its successor.
pub trait Coalesce {
    /// Appends `next` to `self` and returns true if one event can represent both.
    fn coalesce(&mut self, next: &Self) -> bool;

    /// Whether the event is one of a series, such as a delta, so that its display can be delayed.
    fn is_deferrable(&self) -> bool;
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
    /// Notified of events that are not deferrable.
    urgent_arrived: Notify,
}

struct Queue<E> {
    /// Events with their times, in milliseconds since the Unix epoch; a merged event has the time
    /// of its first part.
    events: VecDeque<(i64, E)>,
    /// Number of events that are not deferrable.
    urgent: usize,
    closed: bool,
}

impl<E: Coalesce> Queue<E> {
    fn pop(&mut self) -> Option<(i64, E)> {
        let (time, event) = self.events.pop_front()?;
        if self.events.is_empty() {
            // Releases the memory of a burst: a process can have hundreds of queues.
            self.events.shrink_to(IDLE_CAPACITY);
        }
        self.urgent -= usize::from(!event.is_deferrable());
        Some((time, event))
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
        Self::add(&mut lock(&self.mailboxes), VecDeque::new())
    }

    /// A queue with the events that still wait in `other`, and every event published from now on.
    pub fn subscribe_like(&self, other: &Subscription<E>) -> Subscription<E> {
        // No event is published meanwhile.
        let mut mailboxes = lock(&self.mailboxes);
        let waiting = lock(&other.mailbox.queue).events.clone();
        Self::add(&mut mailboxes, waiting)
    }

    fn add(mailboxes: &mut Vec<Arc<Mailbox<E>>>, waiting: VecDeque<(i64, E)>) -> Subscription<E> {
        let urgent = waiting
            .iter()
            .filter(|(_, event)| !event.is_deferrable())
            .count();
        let queue = Queue {
            events: waiting,
            urgent,
            closed: false,
        };
        let mailbox = Arc::new(Mailbox {
            queue: Mutex::new(queue),
            arrived: Notify::new(),
            urgent_arrived: Notify::new(),
        });
        mailboxes.push(Arc::clone(&mailbox));
        Subscription { mailbox }
    }

    /// Sends an event that happens now.
    pub fn publish(&self, event: E) {
        self.publish_at(clock::now_ms(), event);
    }

    /// Sends an event that happened at `time`, in milliseconds since the Unix epoch.
    pub fn publish_at(&self, time: i64, event: E) {
        Self::send(&mut lock(&self.mailboxes), time, event);
    }

    /// Sends two events that happen now. No other event comes between them.
    pub fn publish_pair(&self, first: E, second: E) {
        let mut mailboxes = lock(&self.mailboxes);
        let time = clock::now_ms();
        Self::send(&mut mailboxes, time, first);
        Self::send(&mut mailboxes, time, second);
    }

    fn send(mailboxes: &mut Vec<Arc<Mailbox<E>>>, time: i64, event: E) {
        // Only this list references the mailbox of a dropped subscription.
        mailboxes.retain(|mailbox| Arc::strong_count(mailbox) > 1);
        let Some((last, others)) = mailboxes.split_last() else {
            return;
        };
        for mailbox in others {
            mailbox.push(time, event.clone());
        }
        last.push(time, event);
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
            mailbox.urgent_arrived.notify_one();
        }
    }
}

impl<E: Coalesce> Mailbox<E> {
    fn push(&self, time: i64, event: E) {
        let mut queue = lock(&self.queue);
        let merged = queue
            .events
            .back_mut()
            .is_some_and(|(_, last)| last.coalesce(&event));
        if merged {
            // The subscriber was already notified of the event that absorbed this one.
            return;
        }
        let is_urgent = !event.is_deferrable();
        queue.urgent += usize::from(is_urgent);
        queue.events.push_back((time, event));
        drop(queue);
        self.arrived.notify_one();
        if is_urgent {
            self.urgent_arrived.notify_one();
        }
    }
}

impl<E: Coalesce> Subscription<E> {
    /// The next event; `None` when the publisher was dropped and all events were received. Cancel safe.
    pub async fn recv(&mut self) -> Option<E> {
        self.recv_timed().await.map(|(_, event)| event)
    }

    /// Like [`recv`](Self::recv), with the time of the event in milliseconds since the Unix epoch.
    pub async fn recv_timed(&mut self) -> Option<(i64, E)> {
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

    /// The next event if one is queued.
    pub fn try_recv(&mut self) -> Option<E> {
        lock(&self.mailbox.queue).pop().map(|(_, event)| event)
    }

    /// Waits until an event is queued or the publisher was dropped. Cancel safe.
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

    /// Waits until an event that is not deferrable is queued or the publisher was dropped. Cancel safe.
    pub async fn urgent_ready(&self) {
        loop {
            {
                let queue = lock(&self.mailbox.queue);
                if queue.urgent > 0 || queue.closed {
                    return;
                }
            }
            self.mailbox.urgent_arrived.notified().await;
        }
    }

    /// Whether the publisher was dropped and all events were received.
    pub fn is_closed(&self) -> bool {
        let queue = lock(&self.mailbox.queue);
        queue.closed && queue.events.is_empty()
    }
}

osier_base::opaque_debug!(Publisher<E>);

osier_base::opaque_debug!(Subscription<E>);

/// Ignores poisoning: a panic cannot interrupt these short critical sections.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
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

        fn is_deferrable(&self) -> bool {
            matches!(self, Self::Text(_))
        }
    }

    fn text(text: &str) -> Note {
        Note::Text(text.into())
    }

    #[tokio::test]
    async fn slow_subscriber_gets_merged_deltas_and_every_other_event() {
        let publisher = Publisher::new();
        let mut slow = publisher.subscribe();
        let mut fast = publisher.subscribe();
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
            seen.push(fast.recv().await.unwrap());
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
    async fn events_have_the_time_of_their_first_part() {
        let publisher = Publisher::new();
        let mut events = publisher.subscribe();
        publisher.publish_at(10, text("a"));
        publisher.publish_at(20, text("b"));
        publisher.publish_at(30, Note::Mark(1));
        let mut second = publisher.subscribe_like(&events);
        for queue in [&mut events, &mut second] {
            assert_eq!(queue.recv_timed().await, Some((10, text("ab"))));
            assert_eq!(queue.recv_timed().await, Some((30, Note::Mark(1))));
        }
    }

    #[tokio::test]
    async fn urgent_ready_ignores_deferrable_events() {
        let publisher = Publisher::new();
        let mut subscription = publisher.subscribe();
        let is_ready = |subscription: &Subscription<Note>| {
            let mut ready = std::pin::pin!(subscription.urgent_ready());
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
    async fn a_second_queue_has_what_waits_in_the_first() {
        let publisher = Publisher::new();
        let mut first = publisher.subscribe();
        publisher.publish(text("read"));
        first.recv().await.unwrap();
        publisher.publish(Note::Mark(1));
        let mut second = publisher.subscribe_like(&first);
        publisher.publish(text("later"));
        drop(publisher);
        for queue in [&mut first, &mut second] {
            let mut events = Vec::new();
            while let Some(event) = queue.recv().await {
                events.push(event);
            }
            assert_eq!(events, [Note::Mark(1), text("later")]);
        }
    }

    #[tokio::test]
    async fn dropped_subscription_is_removed() {
        let publisher = Publisher::<Note>::new();
        drop(publisher.subscribe());
        publisher.publish(Note::Mark(1));
        assert_eq!(lock(&publisher.mailboxes).len(), 0);
    }
}

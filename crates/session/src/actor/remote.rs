//! The handle of a session in another process: the other end receives the requests and publishes the events. Clients use it
//! like the handle of a local session.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::mpsc;

use super::handle::SessionHandle;
use super::run::Numbered;
use osier_agent::{Publisher, Subscription};
use osier_protocol::questions::Questions;
use osier_protocol::{Event, Op};

/// The other end of a remote handle.
#[derive(Debug)]
pub struct RemoteSession {
    ops: mpsc::UnboundedReceiver<Numbered>,
    publisher: Arc<Publisher<Event>>,
}

impl SessionHandle {
    /// A handle, its events from the first one on, and the other end.
    pub fn remote() -> (Self, Subscription<Event>, RemoteSession) {
        let publisher = Arc::new(Publisher::new());
        let events = publisher.subscribe();
        let (sender, ops) = mpsc::unbounded_channel();
        // Questions to the user come from the other process.
        let (questions, _) = Questions::new();
        let handle = Self {
            ops: sender,
            requests: Arc::new(AtomicU64::new(0)),
            publisher: Arc::clone(&publisher),
            questions,
        };
        (handle, events, RemoteSession { ops, publisher })
    }
}

impl RemoteSession {
    /// The next request; `None` when every handle is dropped. Cancel safe.
    pub async fn next(&mut self) -> Option<Op> {
        self.ops.recv().await.map(|(_, op)| op)
    }

    /// Publishes an event to all subscribers.
    pub fn publish(&self, event: Event) {
        self.publisher.publish(event);
    }

    /// Publishes an event that happened at `time`, in milliseconds since the Unix epoch.
    pub fn publish_at(&self, time: i64, event: Event) {
        self.publisher.publish_at(time, event);
    }
}

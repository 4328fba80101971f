//! The handle of a host that runs elsewhere: what is told it goes to whoever holds the other end, and what
//! that one hears comes out as events. A mode does not see the difference.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::mpsc;

use super::event::Event;
use super::host::Host;
use super::op::Op;
use osier_agent::{Publisher, Subscription};
use osier_protocol::questions::Questions;

/// The other end of such a handle.
#[derive(Debug)]
pub struct Elsewhere {
    ops: mpsc::UnboundedReceiver<(Option<u64>, Op)>,
    publisher: Arc<Publisher<Event>>,
}

impl Host {
    /// A handle, its events from the first one on, and the end that stands for the host.
    pub fn elsewhere() -> (Self, Subscription<Event>, Elsewhere) {
        let publisher = Arc::new(Publisher::new());
        let events = publisher.subscribe();
        let (sender, ops) = mpsc::unbounded_channel();
        // Nobody here asks the person: who asks is elsewhere.
        let (questions, _) = Questions::new();
        let host = Self {
            ops: sender,
            requests: Arc::new(AtomicU64::new(0)),
            publisher: Arc::clone(&publisher),
            questions,
        };
        (host, events, Elsewhere { ops, publisher })
    }
}

impl Elsewhere {
    /// What the host is told next; `None` when every handle is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<Op> {
        self.ops.recv().await.map(|(_, op)| op)
    }

    /// Tells every subscriber.
    pub fn publish(&self, event: Event) {
        self.publisher.publish(event);
    }
}

//! One client of a shared session: its presence and its write access.

use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::presence::{ClientIdentity, OccupiedError};
use super::shared_session::SharedSession;
use osier_protocol::{Event, Op};

/// One client of a shared session. Other clients see it after `join`. Dropping it leaves the session.
#[derive(Debug)]
pub struct ClientHandle {
    session: Arc<SharedSession>,
    /// The number among the clients; not set for a client that has not joined.
    id: Mutex<Option<u64>>,
    /// The client closed its connection itself: it was not lost.
    closed_cleanly: Arc<AtomicBool>,
}

impl ClientHandle {
    /// A client that has not joined. If `closed_cleanly` is set when the handle is dropped, the connection was
    /// closed by the client; otherwise it was lost and the client may reconnect.
    pub fn new(session: Arc<SharedSession>, closed_cleanly: Arc<AtomicBool>) -> Self {
        Self {
            session,
            id: Mutex::default(),
            closed_cleanly,
        }
    }

    /// The session.
    pub fn session(&self) -> &Arc<SharedSession> {
        &self.session
    }

    /// Makes the client visible to the others. Has no effect if it is already visible.
    pub fn join(&self, identity: ClientIdentity) {
        let mut id = self.id.lock();
        if id.is_none() {
            *id = Some(self.session.join(identity));
        }
    }

    /// Removes the client from the list that others see.
    pub fn leave(&self) {
        if let Some(id) = self.id.lock().take() {
            self.session.leave(id, false);
        }
    }

    /// Checks whether the client may send `op` with the number `request`. `Op::TakeOver` takes the write lock here.
    ///
    /// # Errors
    /// Another client holds the write lock.
    pub fn authorize(&self, op: &Op, request: u64) -> Result<(), OccupiedError> {
        let id = *self.id.lock();
        self.session.authorize(id, op, request)
    }

    /// The event as this client receives it: `Presence` names the client itself.
    pub fn personalize<'a>(&self, event: &'a Event) -> Cow<'a, Event> {
        match event {
            Event::Presence {
                clients, writer, ..
            } => Cow::Owned(Event::Presence {
                clients: clients.clone(),
                writer: *writer,
                you: *self.id.lock(),
            }),
            event => Cow::Borrowed(event),
        }
    }
}

impl Drop for ClientHandle {
    fn drop(&mut self) {
        let lost = !self.closed_cleanly.load(Ordering::Relaxed);
        if let Some(id) = self.id.lock().take() {
            self.session.leave(id, lost);
        }
    }
}

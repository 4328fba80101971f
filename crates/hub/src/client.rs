//! One client of a shared session: its presence and its write access.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
        let mut id = self.lock();
        if id.is_none() {
            *id = Some(self.session.join(identity));
        }
    }

    /// Removes the client from the list that others see.
    pub fn leave(&self) {
        if let Some(id) = self.lock().take() {
            self.session.leave(id, false);
        }
    }

    /// Checks whether the client may send `op` with the number `request`. `Op::TakeOver` takes the write lock here.
    ///
    /// # Errors
    /// Another client holds the write lock.
    pub fn authorize(&self, op: &Op, request: u64) -> Result<(), OccupiedError> {
        let id = *self.lock();
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
                you: *self.lock(),
            }),
            event => Cow::Borrowed(event),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        // The critical sections only copy a number, so a panic cannot leave it invalid.
        self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientHandle {
    fn drop(&mut self) {
        let lost = !self.closed_cleanly.load(Ordering::Relaxed);
        if let Some(id) = self.lock().take() {
            self.session.leave(id, lost);
        }
    }
}

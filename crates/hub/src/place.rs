//! What one client has in a room: it is known there, and what it asks for is done unless another writes.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::presence::{Introduction, Occupied};
use super::room::Room;
use osier_protocol::{Event, Op};

/// A client's place, which is given up with this. One that only passes by is not known to the others.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
    id: Mutex<Option<u64>>,
    /// Whoever goes now has said so: nothing was cut.
    farewell: Arc<AtomicBool>,
}

impl Place {
    /// Somebody passes by. When `farewell` is set at the end the line was not cut.
    pub fn new(room: Arc<Room>, farewell: Arc<AtomicBool>) -> Self {
        Self {
            room,
            id: Mutex::default(),
            farewell,
        }
    }

    /// The room it is in.
    pub fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// The client stays; again is as good as once.
    pub fn enter(&self, introduction: Introduction) {
        let mut id = self.lock();
        if id.is_none() {
            *id = Some(self.room.enter(introduction));
        }
    }

    /// The client passes by again.
    pub fn leave(&self) {
        if let Some(id) = self.lock().take() {
            self.room.leave(id, false);
        }
    }

    /// Whether the op may be done that the client asks for under `request`. Taking over happens here.
    ///
    /// # Errors
    /// Another client writes.
    pub fn admit(&self, op: &Op, request: u64) -> Result<(), Occupied> {
        let id = *self.lock();
        self.room.admit(id, op, request)
    }

    /// An event as this client is told it: who is there, with the client itself.
    pub fn told<'a>(&self, event: &'a Event) -> Cow<'a, Event> {
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
        // A panic elsewhere cannot leave a number half written.
        self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let cut = !self.farewell.load(Ordering::Relaxed);
        if let Some(id) = self.lock().take() {
            self.room.leave(id, cut);
        }
    }
}

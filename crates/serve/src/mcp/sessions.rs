//! The sessions of clients with a handshake over HTTP. A client that finds its session gone begins a new one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use super::client::{Call, Client};
use super::event_log::{EventId, EventLog};

/// The largest number of sessions. For a new one, the session that is unused for the longest time and has no call ends.
const SESSIONS: usize = 256;
/// The number of calls that have ended and whose events a session keeps.
const ENDED_CALLS: usize = 8;
/// From this version on, clients read an empty first event.
const FIRST_PRIMED: &str = "2025-11-25";

/// The sessions by their ids.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<String, Entry>,
    /// Counts uses, to order the sessions by their last one.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    last_used: u64,
}

/// The session of a client.
#[derive(Debug)]
pub(super) struct Session {
    pub client: Arc<Client>,
    is_primed: bool,
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    logs: VecDeque<EventLog>,
}

impl Sessions {
    /// Adds a session of `version`.
    pub(super) fn add(&self, id: String, client: Arc<Client>, version: &str) {
        let mut table = self.table.lock();
        table.clock += 1;
        let entry = Entry {
            session: Arc::new(Session {
                client,
                is_primed: version >= FIRST_PRIMED,
                calls: Mutex::default(),
            }),
            last_used: table.clock,
        };
        if table.open.len() >= SESSIONS {
            let idle = table.open.iter();
            let idle = idle.filter(|(_, entry)| !entry.session.client.has_calls());
            let oldest = idle.min_by_key(|(_, entry)| entry.last_used);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                table.open.remove(&oldest);
            }
        }
        table.open.insert(id, entry);
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let mut table = self.table.lock();
        table.clock += 1;
        let now = table.clock;
        let entry = table.open.get_mut(id)?;
        entry.last_used = now;
        Some(Arc::clone(&entry.session))
    }

    /// Ends a session and its calls. Returns whether there was one.
    pub(super) fn end(&self, id: &str) -> bool {
        let entry = self.table.lock().open.remove(id);
        if let Some(entry) = &entry {
            entry.session.client.cancel_all();
        }
        entry.is_some()
    }
}

impl Session {
    /// Records the messages of a call, so that the client can reconnect.
    pub(super) fn record(&self, call: Call) -> EventLog {
        let mut calls = self.calls.lock();
        calls.last += 1;
        let log = EventLog::record(calls.last, call.messages, self.is_primed);
        calls.logs.push_back(log.clone());
        let ended = calls.logs.iter().filter(|log| log.is_over()).count();
        if ended > ENDED_CALLS
            && let Some(oldest) = calls.logs.iter().position(EventLog::is_over)
        {
            calls.logs.remove(oldest);
        }
        log
    }

    /// The events of the call of `id`.
    pub(super) fn log(&self, id: EventId) -> Option<EventLog> {
        let calls = self.calls.lock();
        let found = calls.logs.iter().find(|log| log.number() == id.call);
        found.cloned()
    }
}

//! The clients of a session, and the write lock.
//!
//! A client that starts work while the write lock is free holds the lock until that work has ended. Other clients
//! can read, and stop the work; they can write when the lock is free, or after they have taken it over. A client
//! that is alone receives no presence events.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use osier_agent::Severity;
use osier_base::request::Effect;
use osier_base::text::{prefix_of_width, sanitize, single_line};
use osier_protocol::{Client, Event, Op};

/// How long a client with a lost connection remains present.
pub(super) const RECONNECT_GRACE: Duration = Duration::from_secs(30);
/// Longest name of a client, in columns.
const NAME_COLUMNS: usize = 40;
/// The name of a client that gives none.
const DEFAULT_NAME: &str = "a program";

/// How a client introduces itself to the other clients.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ClientIdentity {
    /// The name that other clients see, at most 40 columns of it.
    pub name: String,
    /// A secret of the client. A client that reconnects with the same key is the same client.
    pub key: Option<String>,
}

/// Another client holds the write lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} has control of this session; take control, or wait until the run has ended", .writer.name)]
pub struct OccupiedError {
    pub writer: Client,
}

/// The clients of a session.
#[derive(Debug, Default)]
pub(super) struct Presence {
    clients: Vec<PresentClient>,
    write_lock: Option<WriteLock>,
    last: u64,
    /// The last event that was published, while there were several clients.
    published: Option<Event>,
    /// Publish the event even if it has not changed.
    republish: bool,
}

#[derive(Debug)]
struct PresentClient {
    info: Client,
    key: Option<String>,
    /// Open connections.
    connections: usize,
    /// When the client is removed, while it has no connection.
    expires: Option<Instant>,
}

/// The write lock and its holder.
#[derive(Debug, Clone, Copy)]
struct WriteLock {
    client: u64,
    /// The number of the op that took the lock, until the op has ended.
    request: Option<u64>,
    /// The op was passed to the agent, which has not started yet.
    starting: bool,
}

impl Presence {
    /// Adds a client, or reconnects a known one. Returns its number.
    pub(super) fn join(&mut self, identity: ClientIdentity) -> u64 {
        let ClientIdentity { name, key } = identity;
        let returning = self
            .clients
            .iter_mut()
            .find(|client| key.is_some() && client.key == key);
        if let Some(client) = returning {
            client.connections += 1;
            client.expires = None;
            client.info.away = false;
            // The client may have reconnected before the others saw that it was away, and has missed its own events.
            self.republish = true;
            return client.info.id;
        }
        self.last += 1;
        let name = self.unique_name(&name);
        self.clients.push(PresentClient {
            info: Client {
                id: self.last,
                name,
                away: false,
            },
            key,
            connections: 1,
            expires: None,
        });
        self.last
    }

    /// Closes a connection of a client. When the connection was lost, a client with a key remains for a while.
    pub(super) fn leave(&mut self, id: u64, lost: bool, now: Instant) {
        let Some(index) = self.index(id) else {
            return;
        };
        let client = &mut self.clients[index];
        client.connections -= 1;
        if client.connections > 0 {
            return;
        }
        if lost && client.key.is_some() {
            client.info.away = true;
            client.expires = Some(now + RECONNECT_GRACE);
        } else {
            self.remove(index);
        }
    }

    /// Removes the clients that have not reconnected in time.
    pub(super) fn expire(&mut self, now: Instant) {
        let removed = |client: &PresentClient| client.expires.is_some_and(|expires| expires <= now);
        while let Some(index) = self.clients.iter().position(removed) {
            self.remove(index);
        }
    }

    /// When `expire` must run next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.clients
            .iter()
            .filter_map(|client| client.expires)
            .min()
    }

    /// Checks whether client `by` may send `op` with the number `request`; `by` is not set for requests without a
    /// joined client. `is_running`: whether the session works. Returns a notice for all clients, if any.
    pub(super) fn authorize(
        &mut self,
        by: Option<u64>,
        op: &Op,
        request: u64,
        is_running: bool,
    ) -> Result<Option<String>, OccupiedError> {
        if matches!(op, Op::TakeOver) {
            return Ok(self.pass_control(by));
        }
        match op.effect() {
            Effect::Stop if is_running && self.clients.len() > 1 => {
                return Ok(Some(format!("{} stopped the run", self.name(by))));
            }
            Effect::None | Effect::Stop => {}
            effect => {
                if let Some(write_lock) = self.write_lock
                    && Some(write_lock.client) != by
                    && let Some(index) = self.index(write_lock.client)
                {
                    let writer = self.clients[index].info.clone();
                    return Err(OccupiedError { writer });
                }
                // Further ops of the holder during its work do not replace the op that took the lock.
                let begins = effect == Effect::Begin && (self.write_lock.is_none() || !is_running);
                if let Some(client) = by.filter(|_| begins) {
                    self.write_lock = Some(WriteLock {
                        client,
                        request: Some(request),
                        starting: true,
                    });
                }
            }
        }
        Ok(None)
    }

    /// Passes the write lock to `by`. Has no effect while the lock is free.
    fn pass_control(&mut self, by: Option<u64>) -> Option<String> {
        let write_lock = self
            .write_lock
            .filter(|write_lock| Some(write_lock.client) != by)?;
        self.write_lock = by.map(|client| WriteLock {
            client,
            ..write_lock
        });
        Some(format!("{} took control", self.name(by)))
    }

    /// Releases the write lock when the work of its holder has ended. `is_running`: whether the session still works.
    pub(super) fn on_event(&mut self, event: &Event, is_running: bool) {
        let Some(write_lock) = &mut self.write_lock else {
            return;
        };
        write_lock.starting &= !is_running;
        match event {
            Event::OpEnded {
                request,
                with_agent,
            } if write_lock.request == Some(*request) => {
                write_lock.request = None;
                write_lock.starting &= with_agent;
            }
            Event::Notice {
                severity: Severity::Warning | Severity::Error,
                request: Some(request),
                ..
            } if write_lock.request == Some(*request) => write_lock.starting = false,
            // The agent had nothing to do.
            Event::Agent(
                osier_agent::Event::AgentSettled { .. } | osier_agent::Event::Notice { .. },
            ) => {
                write_lock.starting = false;
            }
            _ => {}
        }
        if write_lock.request.is_none() && !write_lock.starting && !is_running {
            self.write_lock = None;
        }
    }

    /// The presence event to publish: when it has changed and there are several clients, and once when only one
    /// client is left.
    pub(super) fn changed(&mut self) -> Option<Event> {
        let event = self.event();
        if self.clients.len() > 1 {
            let is_new =
                std::mem::take(&mut self.republish) || self.published.as_ref() != Some(&event);
            self.published = Some(event.clone());
            return is_new.then_some(event);
        }
        self.republish = false;
        self.published.take()?;
        (!self.is_empty()).then_some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    fn event(&self) -> Event {
        Event::Presence {
            clients: self
                .clients
                .iter()
                .map(|client| client.info.clone())
                .collect(),
            writer: self.write_lock.map(|write_lock| write_lock.client),
            you: None,
        }
    }

    fn index(&self, id: u64) -> Option<usize> {
        self.clients.iter().position(|client| client.info.id == id)
    }

    fn remove(&mut self, index: usize) {
        let removed = self.clients.remove(index);
        if self
            .write_lock
            .is_some_and(|write_lock| write_lock.client == removed.info.id)
        {
            self.write_lock = None;
        }
    }

    fn name(&self, id: Option<u64>) -> &str {
        let index = id.and_then(|id| self.index(id));
        index.map_or(DEFAULT_NAME, |index| &self.clients[index].info.name)
    }

    /// The name without control characters, shortened, with a number if another client has it.
    fn unique_name(&self, name: &str) -> String {
        let name = single_line(sanitize(name).trim());
        let name = prefix_of_width(&name, NAME_COLUMNS).trim_end();
        let name = if name.is_empty() { DEFAULT_NAME } else { name };
        let taken = |name: &str| self.clients.iter().any(|client| client.info.name == name);
        let others = (2..).map(|number| format!("{name} {number}"));
        let mut names = std::iter::once(name.to_owned()).chain(others);
        names.find(|name| !taken(name)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_agent::{Op as AgentOp, RunOutcome};

    fn identity(name: &str, key: Option<&str>) -> ClientIdentity {
        ClientIdentity {
            name: name.to_owned(),
            key: key.map(str::to_owned),
        }
    }

    fn client(id: u64, name: &str, away: bool) -> Client {
        Client {
            id,
            name: name.to_owned(),
            away,
        }
    }

    fn presence(clients: &[Client], writer: Option<u64>) -> Event {
        Event::Presence {
            clients: clients.to_vec(),
            writer,
            you: None,
        }
    }

    fn prompt() -> Op {
        Op::Agent(AgentOp::Prompt {
            text: "hello".to_owned(),
            attachments: Vec::new(),
            typed: None,
            once: None,
        })
    }

    fn settled() -> Event {
        let outcome = RunOutcome::Completed;
        Event::Agent(osier_agent::Event::AgentSettled { outcome })
    }

    const ENDED: Event = Event::OpEnded {
        request: 7,
        with_agent: true,
    };

    #[test]
    fn the_write_lock_is_held_until_the_work_has_ended() {
        let mut clients = Presence::default();
        let anna = clients.join(identity("anna", None));
        assert_eq!(clients.authorize(Some(anna), &prompt(), 7, false), Ok(None));
        assert_eq!(
            clients.changed(),
            None,
            "a client that is alone receives nothing"
        );
        let bob = clients.join(identity("bob", None));
        let both = [client(1, "anna", false), client(2, "bob", false)];
        assert_eq!(clients.changed(), Some(presence(&both, Some(anna))));
        let writer = both[0].clone();
        let occupied = OccupiedError { writer };
        assert_eq!(
            occupied.to_string(),
            "anna has control of this session; take control, or wait until the run has ended"
        );
        let answer = Op::AnswerQuestion {
            id: "q".to_owned(),
            answer: osier_protocol::questions::Answer::Yes,
        };
        for op in [prompt(), answer, Op::NewSession] {
            assert_eq!(
                clients.authorize(Some(bob), &op, 8, true),
                Err(occupied.clone())
            );
            assert_eq!(clients.authorize(None, &op, 8, true), Err(occupied.clone()));
        }
        assert_eq!(
            clients.authorize(Some(bob), &Op::GetUsage, 8, true),
            Ok(None)
        );
        let stopped = clients.authorize(Some(bob), &Op::Agent(AgentOp::Abort), 8, true);
        assert_eq!(stopped, Ok(Some("bob stopped the run".to_owned())));
        // Steering does not release the lock, and neither does the end of another op.
        assert_eq!(clients.authorize(Some(anna), &prompt(), 9, true), Ok(None));
        clients.on_event(&ENDED, false);
        assert_eq!(clients.changed(), None, "the agent has not started yet");
        clients.on_event(&Event::Agent(osier_agent::Event::AgentStart), true);
        clients.on_event(&settled(), false);
        assert_eq!(clients.changed(), Some(presence(&both, None)));
        assert_eq!(clients.authorize(Some(bob), &prompt(), 10, false), Ok(None));
        assert_eq!(clients.changed(), Some(presence(&both, Some(bob))));
        clients.leave(anna, false, Instant::now());
        assert_eq!(clients.changed(), Some(presence(&both[1..], Some(bob))));
        clients.leave(bob, false, Instant::now());
        assert_eq!((clients.changed(), clients.is_empty()), (None, true));
    }

    #[test]
    fn the_write_lock_is_taken_over_and_released_when_its_holder_leaves() {
        let mut clients = Presence::default();
        let (anna, bob) = (
            clients.join(identity("anna", None)),
            clients.join(identity("bob", None)),
        );
        assert_eq!(
            clients.authorize(Some(bob), &Op::TakeOver, 1, false),
            Ok(None)
        );
        assert_eq!(clients.authorize(Some(anna), &prompt(), 7, false), Ok(None));
        let notice = Some("bob took control".to_owned());
        assert_eq!(
            clients.authorize(Some(bob), &Op::TakeOver, 8, true),
            Ok(notice)
        );
        assert!(clients.authorize(Some(anna), &prompt(), 9, true).is_err());
        assert_eq!(clients.authorize(Some(bob), &prompt(), 9, true), Ok(None));
        clients.leave(bob, false, Instant::now());
        assert_eq!(clients.authorize(Some(anna), &prompt(), 10, true), Ok(None));
        // A request without a joined client takes the lock from its holder but does not keep it.
        let notice = Some("a program took control".to_owned());
        assert_eq!(clients.authorize(None, &Op::TakeOver, 11, true), Ok(notice));
        assert_eq!(clients.authorize(Some(anna), &prompt(), 12, true), Ok(None));
    }

    #[test]
    fn a_refused_op_leaves_the_write_lock_free() {
        let mut clients = Presence::default();
        let (anna, bob) = (
            clients.join(identity("anna", None)),
            clients.join(identity("bob", None)),
        );
        assert_eq!(clients.authorize(Some(anna), &prompt(), 7, false), Ok(None));
        let notice = Event::Notice {
            severity: Severity::Warning,
            text: "no session is open".to_owned(),
            request: Some(7),
        };
        clients.on_event(&notice, false);
        clients.on_event(&ENDED, false);
        assert_eq!(clients.authorize(Some(bob), &prompt(), 8, false), Ok(None));
    }

    #[test]
    fn a_client_with_a_lost_connection_remains_for_a_while() {
        let mut clients = Presence::default();
        let (now, key) = (Instant::now(), Some("secret"));
        let anna = clients.join(identity("anna", key));
        let bob = clients.join(identity("bob", None));
        clients.authorize(Some(anna), &prompt(), 7, false).unwrap();
        clients.changed();
        clients.leave(anna, true, now);
        let lost = [client(1, "anna", true), client(2, "bob", false)];
        assert_eq!(clients.changed(), Some(presence(&lost, Some(anna))));
        assert!(clients.authorize(Some(bob), &prompt(), 8, true).is_err());
        assert_eq!(clients.join(identity("anna", key)), anna);
        let both = [client(1, "anna", false), client(2, "bob", false)];
        assert_eq!(clients.changed(), Some(presence(&both, Some(anna))));
        // The new connection opens before the old one is closed.
        assert_eq!(clients.join(identity("anna", key)), anna);
        assert_eq!(
            clients.changed(),
            Some(presence(&both, Some(anna))),
            "the event is published again"
        );
        clients.leave(anna, true, now);
        assert_eq!((clients.changed(), clients.deadline()), (None, None));
        clients.leave(anna, true, now);
        assert_eq!(clients.deadline(), Some(now + RECONNECT_GRACE));
        clients.expire(now);
        assert_eq!(clients.changed(), Some(presence(&lost, Some(anna))));
        clients.expire(now + RECONNECT_GRACE);
        assert_eq!(clients.changed(), Some(presence(&both[1..], None)));
    }

    #[test]
    fn names_are_short_clean_and_unique() {
        let mut clients = Presence::default();
        for name in ["anna", "anna", " \u{1b}[31m\n", &"x".repeat(99)] {
            clients.join(identity(name, None));
        }
        let names: Vec<&str> = clients.clients.iter().map(|one| &*one.info.name).collect();
        assert_eq!(names, ["anna", "anna 2", "a program", &"x".repeat(40)]);
    }
}

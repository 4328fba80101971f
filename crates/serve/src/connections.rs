//! The open connections, at most a fixed number. For a new connection, another one closes: first a connection that sent
//! no token, then a connection of a user of the LLM proxy, then an idle connection of the owner. Among several, the
//! connection that is idle for the longest time closes. If users have more than half of the connections, theirs close
//! first.
//!
//! A connection that waits for the rest of a body is idle: otherwise clients that never end their bodies lock out all
//! others.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// Maximum number of connections. A process may have 1,024 files open on many systems.
pub(super) const MAX_CONNECTIONS: usize = 512;

/// A connection of this server. Each request has it as an extension.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionInfo {
    pub number: u64,
    /// The address that the client connected to; not set for a Unix socket.
    pub local: Option<SocketAddr>,
}

/// The connections of a server. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    table: Arc<Mutex<Table>>,
    max: usize,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<u64, Connection>,
    /// Counts what happens, to order the connections by their last use.
    clock: u64,
}

/// The most trusted client that sent a request on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trust {
    /// No request had a valid token.
    Unknown,
    /// A user of the LLM proxy.
    #[cfg(feature = "proxy")]
    User,
    Owner,
}

#[derive(Debug)]
struct Connection {
    trust: Trust,
    /// Requests whose responses are not complete.
    open: usize,
    /// Open requests whose bodies are not complete.
    arriving: usize,
    last_used: u64,
    /// Closes the connection.
    close: CancellationToken,
}

/// An open connection. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection {
    connections: Connections,
    number: u64,
    close: CancellationToken,
}

/// Records how a connection is used. Each request has it as an extension.
#[derive(Debug, Clone)]
pub(super) struct ConnectionUse {
    connections: Connections,
    number: u64,
}

/// A request of a connection, until its response is complete.
#[derive(Debug)]
pub(super) struct OpenRequest(ConnectionUse);

/// The body of a request, until it was read or dropped.
#[derive(Debug)]
struct ArrivingBody(ConnectionUse);

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self {
            table: Arc::default(),
            max,
        }
    }

    /// Adds a connection. Closes another one if there are too many; `None` if the owner uses all of them.
    pub(super) fn add(&self, number: u64) -> Option<OpenConnection> {
        let mut table = self.lock();
        if table.open.len() >= self.max {
            let closed = table.least_important()?;
            if let Some(closed) = table.open.remove(&closed) {
                closed.close.cancel();
            }
        }
        let close = CancellationToken::new();
        let connection = Connection {
            trust: Trust::Unknown,
            open: 0,
            arriving: 0,
            last_used: table.tick(),
            close: close.clone(),
        };
        table.open.insert(number, connection);
        Some(OpenConnection {
            connections: self.clone(),
            number,
            close,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // The critical sections do not panic half-way, so the table is valid.
        self.table.lock()
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The connection to close for another one.
    fn least_important(&self) -> Option<u64> {
        let closable = |open: &Connection| open.trust < Trust::Owner || !open.is_active();
        let open = self.open.iter().filter(|(_, open)| closable(open));
        // Otherwise users who take all connections leave none to a client that has not sent its token yet.
        let too_many = too_many(self);
        let least = open.min_by_key(|(_, open)| {
            let is_other = Some(open.trust) != too_many;
            (is_other, open.trust, open.is_active(), open.last_used)
        });
        least.map(|(number, _)| *number)
    }
}

/// Users of the LLM proxy if they have more than half of the connections.
#[cfg(feature = "proxy")]
fn too_many(table: &Table) -> Option<Trust> {
    let of_users = table.open.values().filter(|open| open.trust == Trust::User);
    (2 * of_users.count() > table.open.len()).then_some(Trust::User)
}

#[cfg(not(feature = "proxy"))]
fn too_many(_: &Table) -> Option<Trust> {
    None
}

impl Connection {
    /// Whether the server works on a request: its body is complete, its response is not.
    fn is_active(&self) -> bool {
        self.open > self.arriving
    }
}

impl OpenConnection {
    /// Waits until another connection needs this one.
    pub(super) async fn closed(&self) {
        self.close.cancelled().await;
    }

    /// A handle that records the use of this connection.
    pub(super) fn usage(&self) -> ConnectionUse {
        ConnectionUse {
            connections: self.connections.clone(),
            number: self.number,
        }
    }
}

impl ConnectionUse {
    /// Begins a request. The result is dropped when its response is complete.
    pub(super) fn begin(&self, request: Request) -> (OpenRequest, Request) {
        let arrives = !request.body().is_end_stream();
        self.update(|open| {
            open.open += 1;
            open.arriving += usize::from(arrives);
        });
        let mut request = request;
        if arrives {
            request = request.map(|body| until_complete(body, ArrivingBody(self.clone())));
        }
        request.extensions_mut().insert(self.clone());
        (OpenRequest(self.clone()), request)
    }

    /// Records who sent a request on this connection.
    pub(super) fn authenticated(&self, trust: Trust) {
        self.update(|open| open.trust = open.trust.max(trust));
    }

    fn update(&self, change: impl FnOnce(&mut Connection)) {
        let mut table = self.connections.lock();
        let now = table.tick();
        // A closed connection may still end its requests.
        if let Some(open) = table.open.get_mut(&self.number) {
            change(open);
            open.last_used = now;
        }
    }
}

impl OpenRequest {
    /// Ends the request with the body of its response.
    pub(super) fn until_sent(self, response: Response) -> Response {
        response.map(|body| until_complete(body, self))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.number);
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0
            .update(|open| open.open = open.open.saturating_sub(1));
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        self.0
            .update(|open| open.arriving = open.arriving.saturating_sub(1));
    }
}

/// A body that drops `guard` when it is dropped itself.
struct GuardedBody<G> {
    body: Body,
    _guard: G,
}

fn until_complete(body: Body, guard: impl Send + Unpin + 'static) -> Body {
    Body::new(GuardedBody {
        body,
        _guard: guard,
    })
}

impl<G: Unpin> HttpBody for GuardedBody<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins a request with a body; drops it unless it still arrives.
    fn begin(open: &OpenConnection, trust: Trust) -> (OpenRequest, Request) {
        open.usage().authenticated(trust);
        open.usage().begin(Request::new(Body::from("body")))
    }

    /// The numbers of `open` that are closed.
    fn closed(open: &[OpenConnection]) -> Vec<u64> {
        let closed = open.iter().filter(|open| open.close.is_cancelled());
        closed.map(|open| open.number).collect()
    }

    #[test]
    fn the_connection_that_is_idle_longest_closes_for_a_new_one() {
        let connections = Connections::new(3);
        let mut open: Vec<OpenConnection> =
            (1..=3).filter_map(|one| connections.add(one)).collect();
        let (first, _) = begin(&open[0], Trust::Owner);
        let response = first.until_sent(Response::new(Body::from("answer")));
        // The first has an active request, the second was used last.
        for used in &open[1..] {
            used.usage().authenticated(Trust::Owner);
        }
        drop(begin(&open[1], Trust::Owner));
        open.extend(connections.add(4));
        assert_eq!(closed(&open), [3]);
        let (fourth, _) = begin(&open[3], Trust::Owner);
        open.extend(connections.add(5));
        assert_eq!(closed(&open), [2, 3]);
        let (fifth, _) = begin(&open[4], Trust::Owner);
        // The owner uses every connection.
        assert!(connections.add(6).is_none());
        // A response that was read makes its connection idle.
        drop(response);
        open.extend(connections.add(7));
        assert_eq!(closed(&open), [1, 2, 3]);
        drop((open, fourth, fifth));
        assert_eq!(connections.lock().open.len(), 0);
    }

    #[test]
    fn a_connection_that_waits_for_a_body_is_idle() {
        let connections = Connections::new(1);
        let first = connections.add(1).unwrap();
        let (answering, arriving) = begin(&first, Trust::Owner);
        let second = connections.add(2).unwrap();
        assert!(first.close.is_cancelled());
        drop((first, answering, arriving));
        // With its complete body it is active.
        let (_answering, arriving) = begin(&second, Trust::Owner);
        drop(arriving);
        assert!(connections.add(3).is_none());
        assert!(!second.close.is_cancelled());
    }

    #[cfg(feature = "proxy")]
    #[test]
    fn users_leave_connections_to_clients_that_have_not_sent_their_token_yet() {
        let connections = Connections::new(4);
        let mut open: Vec<OpenConnection> =
            (1..=4).filter_map(|one| connections.add(one)).collect();
        let _waiting: Vec<_> = open[1..]
            .iter()
            .map(|open| begin(open, Trust::User))
            .collect();
        open.extend(connections.add(5));
        assert_eq!(closed(&open), [2]);
        // Now they have half of the connections.
        open.extend(connections.add(6));
        assert_eq!(closed(&open), [1, 2]);
    }

    #[cfg(feature = "proxy")]
    #[test]
    fn connections_without_a_token_close_first_and_those_of_the_owner_last() {
        let connections = Connections::new(5);
        let mut open: Vec<OpenConnection> =
            (1..=5).filter_map(|one| connections.add(one)).collect();
        let _waits = begin(&open[0], Trust::Owner);
        let (_user, _) = begin(&open[1], Trust::User);
        let (_stranger, _) = begin(&open[2], Trust::Unknown);
        let (_owner, _) = begin(&open[3], Trust::Owner);
        let mut order = Vec::new();
        for number in 6..10 {
            open.extend(connections.add(number));
            open.last().unwrap().usage().authenticated(Trust::Owner);
            drop(begin(open.last().unwrap(), Trust::Owner));
            let closed = closed(&open);
            order.extend(
                closed
                    .into_iter()
                    .filter(|one| !order.contains(one))
                    .collect::<Vec<_>>(),
            );
        }
        // An idle stranger, a working one, the user, then the owner's connection that waits for a body.
        assert_eq!(order, [5, 3, 2, 1]);
    }
}

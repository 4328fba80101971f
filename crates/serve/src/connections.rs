//! The open connections, at most a fixed number: when another one arrives, the one that is idle for the longest time
//! closes.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// Maximum number of connections. A process may have 1,024 files open on many systems.
pub(super) const MAX_CONNECTIONS: usize = 512;

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

#[derive(Debug)]
struct Connection {
    /// Requests whose responses are not complete.
    active: usize,
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

/// A request of a connection, until its response is complete.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    connections: Connections,
    number: u64,
}

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self {
            table: Arc::default(),
            max,
        }
    }

    /// Adds a connection. Closes an idle one if there are too many; `None` if all of them have active requests.
    pub(super) fn add(&self, number: u64) -> Option<OpenConnection> {
        let mut table = self.lock();
        if table.open.len() >= self.max {
            let idle = table.open.iter().filter(|(_, open)| open.active == 0);
            let oldest = idle.min_by_key(|(_, open)| open.last_used);
            let oldest = oldest.map(|(number, _)| *number)?;
            if let Some(closed) = table.open.remove(&oldest) {
                closed.close.cancel();
            }
        }
        let close = CancellationToken::new();
        let connection = Connection {
            active: 0,
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
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

impl OpenConnection {
    /// Waits until another connection needs this one.
    pub(super) async fn closed(&self) {
        self.close.cancelled().await;
    }

    /// What counts the requests of this connection.
    pub(super) fn requests(&self) -> impl Fn() -> ActiveRequest + Send + use<> {
        let (connections, number) = (self.connections.clone(), self.number);
        move || {
            if let Some(open) = connections.lock().open.get_mut(&number) {
                open.active += 1;
            }
            ActiveRequest {
                connections: connections.clone(),
                number,
            }
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.lock().open.remove(&self.number);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        let now = table.tick();
        if let Some(open) = table.open.get_mut(&self.number) {
            open.active = open.active.saturating_sub(1);
            open.last_used = now;
        }
    }
}

/// The body of a response, which ends its request.
struct CountedBody {
    body: Body,
    _request: ActiveRequest,
}

impl ActiveRequest {
    /// Ends the request with the body of its response.
    pub(super) fn until_sent(self, response: Response) -> Response {
        response.map(|body| {
            Body::new(CountedBody {
                body,
                _request: self,
            })
        })
    }
}

impl HttpBody for CountedBody {
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

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_closes_for_a_new_one() {
        let connections = Connections::new(3);
        let open: Vec<OpenConnection> = (1..=3).filter_map(|one| connections.add(one)).collect();
        let first = open[0].requests();
        let response = first().until_sent(Response::new(Body::from("answer")));
        // The first has an active request, the second was used last.
        drop(open[1].requests()());
        let fourth = connections.add(4).unwrap();
        open[2].closed().await;
        let fifth = connections.add(5).unwrap();
        open[1].closed().await;
        assert!(!open[0].close.is_cancelled() && !fifth.close.is_cancelled());
        // Every connection is active: there is no room.
        let _active = (fourth.requests()(), fifth.requests()());
        assert!(connections.add(6).is_none());
        // A response that was read makes its connection idle.
        drop(response);
        assert!(connections.add(7).is_some());
        open[0].closed().await;
        drop((open, fourth, fifth));
        assert_eq!(connections.lock().open.len(), 0);
    }
}

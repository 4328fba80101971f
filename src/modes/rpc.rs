//! RPC mode: the protocol of `osier_rpc` on standard input and output, for programs that start osier.
//!
//! The first SIGTERM, SIGINT or SIGHUP stops the run and shuts the session down.

use std::cell::Cell;

use tokio::io::stdin;

use osier_agent::Subscription;
use osier_protocol::Event;
use osier_rpc::{EndReason, serve};
use osier_session::SessionHandle;

use osier_base::signals::signalled;
use osier_base::terminal_output::async_stdout;

/// Serves the client until it disconnects or a signal arrives. Returns the signal.
pub async fn run(session: &SessionHandle, events: Subscription<Event>) -> Option<i32> {
    let signal = Cell::new(None);
    let stopped = async { signal.set(Some(signalled().await)) };
    let reason = serve(session, events, stdin(), async_stdout(), stopped).await;
    signal.get().filter(|_| reason == EndReason::Stopped)
}

//! The protocol of `osier_rpc` over standard input and output: for programs that start osier.
//!
//! The first SIGTERM, SIGINT or SIGHUP stops what runs and ends the agent in order.

use tokio::io::{stdin, stdout};

use osier_agent::Subscription;
use osier_rpc::{Ended, serve};
use osier_session::host::{Event, Host};

use osier_base::signals::signalled;

/// Serves the program at the other end until it goes or a signal comes.
pub async fn run(host: &Host, events: Subscription<Event>) -> Ended {
    serve(host, events, stdin(), stdout(), signalled()).await
}

//! The agent side of the [Agent Client Protocol], version 1, over standard input and output.
//!
//! An editor starts osier and sends JSON-RPC messages, one per line. One connection has several sessions. Each
//! runs its own session actor: its events become `session/update` notifications, its questions become requests
//! to the editor. The types of the protocol are those of the official schema crate.
//!
//! ```no_run
//! use osier_base::folders::Folders;
//! use osier_session::SessionSetup;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let setup = SessionSetup::new(Folders::find(None)?, std::env::current_dir()?);
//! let signal = osier_acp::run_on_stdio(setup).await;
//! # Ok(())
//! # }
//! ```
//!
//! [Agent Client Protocol]: https://agentclientprotocol.com
//!
//! # Design
//!
//! - An editor can provide files and terminals (`editor`): files are read and written through its buffers, and
//!   commands run in its terminals, as far as it supports them.

mod commands;
mod connection;
mod credentials;
mod editor;
mod elicitation;
mod jsonrpc;
mod mcp_servers;
mod options;
mod prompt;
mod questions;
mod session;
mod stored;
mod tool_calls;
mod updates;

use std::cell::Cell;

use osier_base::signals::signalled;
use osier_base::terminal_output::async_stdout;
use osier_session::SessionSetup;
use tokio::io::stdin;

/// Serves the editor that started osier until it closes standard input or a signal arrives. Sessions start
/// from `template`. Returns the signal that ended it.
pub async fn run_on_stdio(template: SessionSetup) -> Option<i32> {
    let signal = Cell::new(None);
    let stopped = async { signal.set(Some(signalled().await)) };
    let was_stopped = connection::run(template, stdin(), async_stdout(), stopped).await;
    signal.get().filter(|_| was_stopped)
}

//! osier as a server of the Model Context Protocol, over standard input and output or over streamable HTTP. `docs/mcp.md`
//! describes it.
//!
//! A server has one [`Tool`]. A `Client` answers the messages of one client, whatever transport they come
//! over: `stdio` has one client, `http` one for each session, and one for each request of a version without sessions.

mod client;
mod event_log;
mod headers;
mod http;
mod protocol;
mod sessions;
mod stdio;

pub use client::{CallContext, CallResult, Service, Tool};
pub use http::{McpOptions, McpServer};
pub use protocol::failed;
pub use stdio::serve_lines;

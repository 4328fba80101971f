//! Sessions over HTTP: REST and server-sent events for scripts, a WebSocket for interfaces, and the browser chat.
//! `docs/serve.md` describes the API.
//!
//! The server listens on a TCP address, or on a Unix socket that only its owner can open. Clients send a token.
//! `osier_hub` owns the sessions. A `SessionConnection` connects one client to one session with the dispatcher of
//! `osier rpc`. Each client has a bounded `SendQueue`: a client that reads too slowly loses events and gets a snapshot
//! instead.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use osier_serve::{Listen, Options, Server, read_token};
//! use osier_session::SessionSetup;
//!
//! async fn serve(setup: SessionSetup) -> Result<(), Box<dyn std::error::Error>> {
//!     let options = Options {
//!         listen: Listen::Address("127.0.0.1:0".parse()?),
//!         token: read_token(Path::new("serve.token"))?,
//!         allowed_hosts: Vec::new(),
//!         client_header: None,
//!         proxy: None,
//!         unload_after: None,
//!     };
//!     let server = Server::bind(setup, options).await?;
//!     println!("{}", server.url());
//!     server.run().await?;
//!     Ok(())
//! }
//! ```
//!
//! # Design
//!
//! - Each client has a bounded `SendQueue`; a snapshot replaces the events that it loses.

mod access;
mod browser_chat;
mod browser_sign_in;
mod client_environment;
mod compression;
mod connections;
mod error;
mod frames;
mod headers;
#[cfg(feature = "transfer")]
mod highlighter;
#[cfg_attr(not(feature = "transfer"), path = "html_disabled.rs")]
mod html;
mod listen;
pub mod mcp;
mod merged_event;
#[cfg(test)]
#[cfg(all(feature = "schema", feature = "transfer"))]
mod openapi;
#[cfg(feature = "proxy")]
mod proxy;
mod rate_limit;
mod request_body;
mod request_check;
mod routes;
mod send_queue;
mod server;
mod server_routes;
mod session_connection;
mod session_routes;
mod state;
mod websocket;

pub use access::read_token;
#[cfg(feature = "transfer")]
pub use highlighter::SyntaxHighlighter;
pub use listen::{Listen, ListenError};
pub use server::{Options, Server};

//! The client of the Model Context Protocol: servers that give the agent tools, and the person resources
//! and prompts.
//!
//! A session has its own servers, each a task (`server`) that starts it, lists what it has, and starts
//! it again when it dies. [`Mcp`] keeps them and is the agent's source of their tools. Nothing waits for
//! a server but what asked for it: a server that is not there answers a call at once with an error, and
//! its tools join the request after the one during which it came up. What servers say is untrusted: it
//! is bounded and cleaned before anyone sees it.

mod client;
pub mod config;
mod connection;
mod elicitation;
mod entry;
mod expand;
mod file;
mod lists;
mod log;
mod login;
mod manager;
mod mentions;
mod names;
mod result;
mod server;
pub mod status;
mod stdio;
mod tools;

pub use config::{Launch, ServerConfig, Servers, load};
pub use file::{FileError, NewServer, add, remove};
pub use login::{Login, Logins};
pub use manager::{Mcp, McpSetup, Told};
pub use mentions::{Mentions, PROMPT_PREFIX, prompt_command};
pub use names::tool_name;
pub use status::{ServerAction, ServerInfo, ServerState};

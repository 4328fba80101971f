//! The Model Context Protocol client: servers provide tools to the agent, and resources and prompts to the user.
//!
//! Start at [`Mcp`], the servers of a session and the agent's source of their tools; [`config`], which reads
//! `mcp.json`; and [`Mentions`], which resolves `@server:uri` and `/mcp__server__prompt` in prompts.
//!
//! Every server has a task that starts it, lists what it offers and restarts it when it dies. Only a call to a
//! server waits for it: a call to an unavailable server fails immediately, and its tools are part of the
//! next request after it is ready. Data from servers is untrusted: it is limited and sanitized.
//!
//! The crate does not know permissions, sessions or the screen.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use osier_mcp::{Launch, config};
//!
//! let text = r#"{"mcpServers": {"git": {"url": "https://example.org/${PART:-mcp}"}}}"#;
//! let parsed = config::parse("mcp.json".as_ref(), text, &BTreeMap::new());
//! let Launch::Url { url, .. } = &parsed.servers["git"].launch else {
//!     unreachable!("the entry has a url");
//! };
//! assert_eq!(url, "https://example.org/mcp");
//! assert_eq!(osier_base::server_tool::tool_name("git", "log"), "git__log");
//! ```
//!
//! # Design
//!
//! - Each server has a task, managed by `Mcp`. Only a call to a server waits for it.

mod answers;
mod attached;
mod body;
mod changes;
mod client;
mod completion;
pub mod config;
mod connect;
mod connection;
mod elicitation;
mod entry;
mod expand;
mod file;
mod hidden;
mod http;
mod instruction_text;
mod instructions;
mod lists;
mod log;
mod login;
mod manager;
mod mentions;
mod messages;
mod probe;
mod program;
mod repair;
mod result;
mod root_metadata;
mod sampling;
mod server;
mod server_config;
mod sign_in_server;
mod size;
mod sse;
mod stdio;
mod tasks;
mod tools;
mod working_directory;

pub use config::{
    HttpProtocol, Launch, OAuthConfig, SamplingRule, ServerConfig, Servers, load, parse,
};
pub use elicitation::{ElicitationAnswer, ElicitationRules};
pub use file::{FileError, NewServer, add, remove};
pub use instructions::Instructions;
pub use log::last_lines;
pub use login::{Login, Logins};
pub use manager::{Mcp, McpSetup, ServerEvent, ServerNames};
pub use mentions::{Mentions, PROMPT_PREFIX, prompt_command};
pub use program::{ProgramLink, ServerCall};
pub use sampling::{Sampler, SamplingAnswer, SamplingRequest};
pub use working_directory::StartGuard;

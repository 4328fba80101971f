//! The modes of the program without a screen.

mod asked;
mod command;
pub mod json;
pub mod log;
pub mod mcp_server;
mod prompt_request;
pub mod rpc;
pub mod run;
pub mod schema;
pub mod text;

pub use asked::AskedRequests;

//! The modes of the program without a screen.

mod command;
pub mod json;
pub mod log;
mod prompt_request;
pub mod rpc;
pub mod run;
pub mod schema;
pub mod text;

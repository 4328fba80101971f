//! The modes of the program without a screen.

pub mod json;
pub mod print;
mod prompt_request;
pub mod rpc;
pub mod script;

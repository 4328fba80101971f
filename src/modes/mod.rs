//! The faces of the agent. Each subscribes to the host's events and sends it ops; none knows another.

pub mod acp;
pub mod json;
mod painter;
pub mod print;
pub mod prompt;
pub mod rpc;
pub mod serve;
mod signals;
pub mod tui;

pub use painter::Painter;

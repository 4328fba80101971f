//! What makes the agent a coding agent: tools, sessions, context, settings. `host` wires them and is
//! the one thing a mode receives.

pub mod session;
pub mod tools;

//! Stages for the tests: one agent with a scripted model, the real program in a fresh home, a server
//! that waits for the test.

pub(crate) mod agent;
pub(crate) mod authority;
pub(crate) mod cable;
pub(crate) mod cli;
pub(crate) mod held;
pub(crate) mod host;
pub(crate) mod oauth;
pub(crate) mod outline;
pub(crate) mod routed;
pub(crate) mod server;
#[path = "../../../benches/support/session_fixture.rs"]
pub(crate) mod session_fixture;

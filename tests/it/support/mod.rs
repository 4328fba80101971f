//! Helpers of the tests: an agent with a scripted model, the real program with an empty home, and test servers.

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_osier");

pub(crate) mod agent;
pub(crate) mod certificate;
pub(crate) mod cli;
pub(crate) mod connection;
pub(crate) mod event_lines;
pub(crate) mod model_server;
pub(crate) mod oauth;
pub(crate) mod peers;
pub(crate) mod session;
#[path = "../../../benches/support/session_fixture.rs"]
pub(crate) mod session_fixture;
pub(crate) mod sshd;
pub(crate) mod stalled_proxy;
pub(crate) mod web_server;

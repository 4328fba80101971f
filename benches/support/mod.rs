//! Helpers of the benchmarks: a scripted model server, a program in a terminal, and measured values.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod figure;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod replies;
pub(crate) mod scenario;
pub(crate) mod server;
#[allow(
    clippy::single_match_else,
    dead_code,
    unreachable_pub,
    reason = "shared by programs that each use a part of it"
)]
pub(crate) mod session_fixture;
pub(crate) mod table;
pub(crate) mod wire;

//! What the benchmarks share: a scripted model server, a program in a terminal, and figures.

pub mod agent;
pub mod answer;
pub mod figure;
pub mod options;
pub mod plan;
pub mod process;
pub mod program;
pub mod replies;
pub mod scenario;
pub mod server;
pub mod wire;

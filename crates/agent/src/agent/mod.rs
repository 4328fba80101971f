//! The handle of an agent, its task, and the results of its runs.

mod handle;
mod ops;
mod result;
mod task;

pub use handle::Agent;
pub use result::RunResult;

//! Work in addition to the main agent: subagents and lanes, background jobs, terminals and the user's shell.

pub(crate) mod fan;
pub(crate) mod jobs;
pub(crate) mod lost_work;
mod requests;
pub(crate) mod shell;
pub mod subagents;
pub(crate) mod terminals;

pub(crate) use requests::Work;

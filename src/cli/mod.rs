//! The command line: what was typed becomes what is meant, a mode is chosen, and the way it ended
//! becomes an exit code.

mod args;
mod attach;
mod commands;
mod dispatch;
mod exit;
mod input;
mod look;
mod meant;
mod serve;

pub use dispatch::run;

//! Terminal sessions: programs on a pseudo-terminal that the model and the user type into and read. `bash` starts one;
//! the tool `terminal`, which is offered from then on, does the rest. Each is a task that owns its program and ends with
//! the session at the latest.

mod change;
mod emulator;
mod flood;
#[cfg(test)]
mod flood_tests;
mod keys;
mod list;
mod output;
mod secrets;
mod session;
mod typed;

pub use self::change::{TerminalChange, TerminalObserver};
pub(crate) use self::emulator::to_text;
pub(crate) use self::list::Terminals;
pub(crate) use self::output::Search;
pub(crate) use self::session::TerminalSession;
pub(crate) use self::typed::Typed;

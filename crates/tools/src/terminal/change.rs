//! Notifications of a terminal to the session.

use std::sync::Arc;

use osier_protocol::TerminalScreen;

/// A change of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalChange {
    /// The terminals changed.
    List,
    /// The terminal with this id shows something else.
    Screen(String, Box<TerminalScreen>),
    /// A watcher has a message for the model.
    Watched(String),
}

/// Called when something happens to a terminal. Must not block.
pub type TerminalObserver = Arc<dyn Fn(TerminalChange) + Send + Sync>;

//! The editor that osier is embedded in (ACP). As far as the editor offers it, files are read with unsaved
//! changes, written through its buffers, and commands run in its terminals.
//!
//! The client passes the editor in `SessionSetup::editor`. Without one, files are read from disk and commands
//! are child processes. Text from an editor is untrusted.

use std::fmt;
use std::path::Path;

use futures_util::future::BoxFuture;

use osier_base::process::{Exit, Invocation};

/// An editor. Its errors are messages for a model; an editor that is disconnected or does not answer returns
/// one.
pub trait Editor: fmt::Debug + Send + Sync {
    /// Whether this file is both read and written through the editor. Both are required, so that the text
    /// that is read is the text that is changed.
    fn has_file(&self, path: &Path) -> bool;

    /// Whether commands run in its terminals.
    fn has_terminals(&self) -> bool;

    /// The complete text of a file as the editor has it, saved or not.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>>;

    /// Replaces the text of a file and saves it. Creates the file if it does not exist.
    fn write<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// Starts a command in a new terminal, which stores the last `kept` bytes of its output.
    fn open<'a>(
        &'a self,
        invocation: &'a Invocation,
        kept: usize,
    ) -> BoxFuture<'a, Result<Box<dyn Terminal>, String>>;
}

/// A command in an editor's terminal.
pub trait Terminal: fmt::Debug + Send + Sync {
    /// The terminal's id in the editor.
    fn id(&self) -> &str;

    /// Waits for the end of the command.
    fn exited(&self) -> BoxFuture<'_, Result<Exit, String>>;

    /// Kills the command; the terminal stays open.
    fn kill(&self) -> BoxFuture<'_, ()>;

    /// The output so far, and whether its start was truncated.
    fn output(&self) -> BoxFuture<'_, Result<(String, bool), String>>;

    /// Releases the terminal, which kills a running command.
    fn release(&self) -> BoxFuture<'_, ()>;
}

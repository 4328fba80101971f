//! An editor that osier works in, as far as it offers its files and terminals: what its person has not
//! stored yet is read, what is written shows at once, and commands run where they can be watched.
//!
//! Whoever drives osier brings it in `HostSetup::editor`. Without one files are those on the disk and
//! commands are children. What an editor says is untrusted text.

use std::fmt;
use std::path::Path;

use futures_util::future::BoxFuture;

use osier_base::process::{Exit, Invocation};

/// An editor. Its errors are sentences for a model; an editor that has gone, or does not answer, gives one.
pub trait Editor: fmt::Debug + Send + Sync {
    /// Whether the text of this file is read and written through it: both, or what is read is not what is
    /// changed.
    fn has_file(&self, path: &Path) -> bool;

    /// Whether commands run in its terminals.
    fn has_terminals(&self) -> bool;

    /// The whole text of a file as the editor has it, stored or not.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>>;

    /// Replaces the text of a file, which is stored then. It is made when it does not exist.
    fn write<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// Starts a command in a new terminal, which keeps the last `kept` bytes of what it writes.
    fn open<'a>(
        &'a self,
        invocation: &'a Invocation,
        kept: usize,
    ) -> BoxFuture<'a, Result<Box<dyn Terminal>, String>>;
}

/// A command in a terminal of an editor.
pub trait Terminal: fmt::Debug + Send + Sync {
    /// Its name at the editor.
    fn id(&self) -> &str;

    /// Waits for the end of the command.
    fn exited(&self) -> BoxFuture<'_, Result<Exit, String>>;

    /// Ends the command; the terminal stays.
    fn kill(&self) -> BoxFuture<'_, ()>;

    /// What was written so far, and whether its start is missing.
    fn output(&self) -> BoxFuture<'_, Result<(String, bool), String>>;

    /// Gives the terminal up, which ends a command that still runs.
    fn release(&self) -> BoxFuture<'_, ()>;
}

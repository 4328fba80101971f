//! The editor that osier is embedded in (ACP). As far as the editor offers it, files are read with unsaved
//! changes, written through its buffers, and commands run in its terminals.
//!
//! The client passes the editor in `SessionSetup::editor`. Without one, files are read from disk and commands
//! are child processes. Text from an editor is untrusted.

use async_trait::async_trait;
use std::fmt;
use std::path::Path;

use osier_base::process::{Exit, Invocation};

/// An editor. Its errors are messages for a model; an editor that is disconnected or does not answer returns
/// one.
#[async_trait]
pub trait Editor: fmt::Debug + Send + Sync {
    /// Whether this file is both read and written through the editor. Both are required, so that the text
    /// that is read is the text that is changed.
    fn has_file(&self, path: &Path) -> bool;

    /// Whether commands run in its terminals.
    fn has_terminals(&self) -> bool;

    /// The complete text of a file as the editor has it, saved or not.
    async fn read(&self, path: &Path) -> Result<String, String>;

    /// Replaces the text of a file and saves it. Creates the file if it does not exist.
    async fn write(&self, path: &Path, text: &str) -> Result<(), String>;

    /// Starts a command in a new terminal, which stores the last `kept` bytes of its output.
    async fn open(&self, invocation: &Invocation, kept: usize)
    -> Result<Box<dyn Terminal>, String>;
}

/// A command in an editor's terminal.
#[async_trait]
pub trait Terminal: fmt::Debug + Send + Sync {
    /// The terminal's id in the editor.
    fn id(&self) -> &str;

    /// Waits for the end of the command.
    async fn exited(&self) -> Result<Exit, String>;

    /// Kills the command; the terminal stays open.
    async fn kill(&self);

    /// The output so far, and whether its start was truncated.
    async fn output(&self) -> Result<(String, bool), String>;

    /// Releases the terminal, which kills a running command.
    async fn release(&self);
}

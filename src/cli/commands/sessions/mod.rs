//! `osier sessions`: lists, searches, shows, renames, deletes and restores stored sessions. One file per
//! subcommand.

mod check;
mod context;
mod delete;
mod filter;
mod info;
mod list;
pub(in crate::cli) mod log;
mod mark;
mod path;
mod reindex;
mod rename;
mod restore;
mod search;
mod show;
mod stats;
pub(in crate::cli) mod tree;

use std::io;
use std::path::Path;

use clap::Subcommand;

use crate::cli::commands::table;
use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_base::terminal_output::StyledWrite;
use osier_index::SessionIndex;
use osier_protocol::Mark;
use osier_store::SessionDirectory;

use self::context::{CommandError, SessionsContext};

#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum SessionsCommand {
    /// List sessions, the most recently used first; the default command
    List(list::Options),
    /// Search the text of all sessions: messages, tool calls and output
    Search(search::Options),
    /// Print a conversation
    Show(show::Options),
    /// Show the details of a session: file, counts, models and cost
    Info(info::Options),
    /// Show the tokens and the cost of all sessions by model
    Stats(stats::Options),
    /// Print the log of a session: warnings, errors, retries and failed calls
    Log(log::Options),
    /// Print the tree of a session: its entries on all branches, with their ids
    Tree(tree::Options),
    /// Rename a session
    Rename(rename::Options),
    /// Pin a session to the top of lists
    Pin(mark::Options),
    /// Archive a session: hide it from lists without deleting it
    Archive(mark::Options),
    /// Move sessions to the trash
    #[command(visible_alias = "rm")]
    Delete(delete::Options),
    /// Restore a session from the trash, or list the trash
    Restore(restore::Options),
    /// Print the path of a session, of all sessions, of the index or of the trash
    Path(path::Options),
    /// Rebuild the session index
    Reindex(reindex::Options),
    /// Check every session file and report damage
    Check(check::Options),
}

/// Runs an `osier sessions` command. The inner error is a failed write to `out`.
///
/// # Errors
/// There is no such session, or it cannot be read or written.
pub(in crate::cli) fn run(
    command: Option<&SessionsCommand>,
    folders: &Folders,
    cwd: &Path,
    out: &mut dyn StyledWrite,
) -> Result<io::Result<Exit>, String> {
    let mut context = SessionsContext {
        library: SessionIndex::new(&folders.data),
        directory: SessionDirectory::new(&folders.data),
        marks: folders.marks(),
        cwd,
        out,
        width: table::terminal_width(),
    };
    let result = match command {
        None => list::run(&list::Options::default(), &mut context),
        Some(SessionsCommand::List(options)) => list::run(options, &mut context),
        Some(SessionsCommand::Search(options)) => search::run(options, &mut context),
        Some(SessionsCommand::Show(options)) => show::run(options, &mut context),
        Some(SessionsCommand::Info(options)) => info::run(options, &mut context),
        Some(SessionsCommand::Stats(options)) => stats::run(options, &mut context),
        Some(SessionsCommand::Log(options)) => log::run(options, folders, &mut context),
        Some(SessionsCommand::Tree(options)) => tree::run(options, &mut context),
        Some(SessionsCommand::Rename(options)) => rename::run(options, &mut context),
        Some(SessionsCommand::Pin(options)) => mark::run(options, Mark::Pinned, &mut context),
        Some(SessionsCommand::Archive(options)) => mark::run(options, Mark::Archived, &mut context),
        Some(SessionsCommand::Delete(options)) => delete::run(options, &mut context),
        Some(SessionsCommand::Restore(options)) => restore::run(options, &mut context),
        Some(SessionsCommand::Path(options)) => path::run(options, &mut context),
        Some(SessionsCommand::Reindex(options)) => reindex::run(*options, &mut context),
        Some(SessionsCommand::Check(options)) => check::run(*options, &mut context),
    };
    match result {
        Ok(exit) => Ok(Ok(exit)),
        Err(CommandError::Io(error)) => Ok(Err(error)),
        Err(CommandError::Message(message)) => Err(message),
    }
}

//! `osier sessions`: the stored sessions, listed, searched, looked at, named, deleted and brought back. One
//! file a subcommand.

mod check;
mod delete;
mod filter;
mod info;
mod list;
mod mark;
mod path;
mod reindex;
mod rename;
mod restore;
mod search;
mod show;
mod stats;
mod table;

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Subcommand;
use tokio_util::sync::CancellationToken;

use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_index::{Depth, Index, Library, LibraryError, Outcome, Progress};
use osier_session::marks::Mark;
use osier_store::{SessionDirectory, SessionError};

/// How long another process that indexes is waited for when there is no index to look at meanwhile.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Subcommand)]
pub(in crate::cli) enum SessionsCommand {
    /// Last used first; the same as no command
    List(list::Options),
    /// Find what was said, called or printed in any session
    Search(search::Options),
    /// Print a conversation
    Show(show::Options),
    /// What is known of a session: file, counts, models, cost
    Info(info::Options),
    /// Tokens and cost of all sessions, by model
    Stats(stats::Options),
    /// Name a session
    Rename(rename::Options),
    /// Have a session stand first in lists
    Pin(mark::Options),
    /// Take a session out of sight; nothing of it is deleted
    Archive(mark::Options),
    /// Move a session to the trash
    #[command(visible_alias = "rm")]
    Delete(delete::Options),
    /// List the trash, or bring a session back from it
    Restore(restore::Options),
    /// Print where a session, the sessions or the index are
    Path(path::Options),
    /// Make the index of all sessions anew
    Reindex(reindex::Options),
    /// Read every session and tell what is damaged
    Check(check::Options),
}

/// Why there is no answer.
enum Failed {
    /// One sentence for the person.
    Told(String),
    /// Nobody reads any more, or the like.
    Out(io::Error),
}

type Answer = Result<Exit, Failed>;

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Out(error)
    }
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self::Told(message)
    }
}

impl From<SessionError> for Failed {
    fn from(error: SessionError) -> Self {
        Self::Told(match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }
}

impl From<LibraryError> for Failed {
    fn from(error: LibraryError) -> Self {
        Self::Told(format!(
            "{error}; `osier sessions reindex` makes the index anew"
        ))
    }
}

impl From<serde_json::Error> for Failed {
    fn from(error: serde_json::Error) -> Self {
        Self::Out(error.into())
    }
}

/// What every subcommand works with.
struct Desk<'a> {
    library: Library,
    directory: SessionDirectory,
    /// The file that says which sessions are set apart.
    marks: PathBuf,
    cwd: &'a Path,
    out: &'a mut dyn Write,
    /// Columns of the terminal; not set when something else reads.
    width: Option<usize>,
}

/// Answers one `osier sessions` command. The outer error is for the person; the inner one says that nobody
/// reads.
///
/// # Errors
/// One sentence: there is no such session, or it cannot be read or written.
pub(in crate::cli) fn run(
    what: Option<&SessionsCommand>,
    (folders, cwd): (&Folders, &Path),
    out: &mut dyn Write,
) -> Result<io::Result<Exit>, String> {
    let mut desk = Desk {
        library: Library::new(&folders.data),
        directory: SessionDirectory::new(&folders.data),
        marks: folders.marks(),
        cwd,
        out,
        width: table::terminal_width(),
    };
    let answer = match what {
        None => list::run(&list::Options::default(), &mut desk),
        Some(SessionsCommand::List(options)) => list::run(options, &mut desk),
        Some(SessionsCommand::Search(options)) => search::run(options, &mut desk),
        Some(SessionsCommand::Show(options)) => show::run(options, &mut desk),
        Some(SessionsCommand::Info(options)) => info::run(options, &mut desk),
        Some(SessionsCommand::Stats(options)) => stats::run(options, &mut desk),
        Some(SessionsCommand::Rename(options)) => rename::run(options, &mut desk),
        Some(SessionsCommand::Pin(options)) => mark::run(options, Mark::Pinned, &mut desk),
        Some(SessionsCommand::Archive(options)) => mark::run(options, Mark::Archived, &mut desk),
        Some(SessionsCommand::Delete(options)) => delete::run(options, &mut desk),
        Some(SessionsCommand::Restore(options)) => restore::run(options, &mut desk),
        Some(SessionsCommand::Path(options)) => path::run(options, &mut desk),
        Some(SessionsCommand::Reindex(options)) => reindex::run(*options, &mut desk),
        Some(SessionsCommand::Check(options)) => check::run(*options, &mut desk),
    };
    match answer {
        Ok(exit) => Ok(Ok(exit)),
        Err(Failed::Out(error)) => Ok(Err(error)),
        Err(Failed::Told(message)) => Err(message),
    }
}

impl Desk<'_> {
    /// The file of the session that `query` means.
    fn find(&self, query: &str) -> Result<PathBuf, Failed> {
        Ok(self.directory.find(query)?)
    }

    /// The index, up to date.
    fn index(&self, depth: Depth) -> Result<Index, Failed> {
        let cancel = CancellationToken::new();
        let mut meter = Meter::default();
        let began = Instant::now();
        loop {
            let outcome = self
                .library
                .refresh(depth, &cancel, &mut |progress| meter.tell(progress));
            match outcome {
                Ok(Outcome::Done { .. }) => break,
                Ok(Outcome::Busy) if self.library.open()?.is_some() => {
                    meter.note("another osier is indexing: the newest words may be missing");
                    break;
                }
                Ok(Outcome::Busy) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                // A directory that cannot be written, or an index that cannot: read what there is.
                Ok(Outcome::Busy) | Err(_) => {
                    return Ok(self.library.read_all(depth, &cancel, &mut |_| {})?);
                }
            }
        }
        meter.end();
        match self.library.open()? {
            Some(index) => Ok(index),
            // There are no sessions yet.
            None => Ok(self.library.read_all(depth, &cancel, &mut |_| {})?),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Failed> {
        Ok(writeln!(self.out, "{line}")?)
    }

    fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failed> {
        let line = serde_json::to_string(value)?;
        self.line(&line)
    }
}

/// Tells on standard error how far a long reading is, when somebody watches.
#[derive(Default)]
struct Meter {
    began: Option<Instant>,
    last: Option<Instant>,
}

/// What is done sooner is not told of.
const QUIET: Duration = Duration::from_millis(500);

impl Meter {
    fn tell(&mut self, progress: Progress) {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        let due = self.last.is_none_or(|last| now - last > QUIET / 5);
        if now - began < QUIET || !due || !io::stderr().is_terminal() {
            return;
        }
        self.last = Some(now);
        let Progress { done, total } = progress;
        // A closed standard error leaves nobody to tell.
        let _ = write!(io::stderr(), "\rindexing: {done} of {total} sessions\x1b[K");
    }

    fn note(&mut self, text: &str) {
        self.end();
        let _ = writeln!(io::stderr(), "[WRN] {text}");
    }

    fn end(&mut self) {
        if self.last.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

//! The index, the directories and the output of every subcommand.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::cli::exit::Exit;
use osier_base::terminal_output::{self, StyledWrite};
use osier_index::{Depth, IndexError, IndexReader, Outcome, Progress, SessionIndex};
use osier_store::{SessionDirectory, SessionError};

/// How long to wait for another process that creates the index.
const INDEX_TIMEOUT: Duration = Duration::from_mins(1);

/// Why a command failed.
pub(super) enum CommandError {
    /// An error message for the user.
    Message(String),
    /// The output cannot be written.
    Io(io::Error),
}

pub(super) type CommandResult = Result<Exit, CommandError>;

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<String> for CommandError {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<SessionError> for CommandError {
    fn from(error: SessionError) -> Self {
        Self::Message(match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }
}

impl From<IndexError> for CommandError {
    fn from(error: IndexError) -> Self {
        Self::Message(match error {
            IndexError::Database(_) => {
                format!("{error}; rebuild the index with `osier sessions reindex`")
            }
            error => error.to_string(),
        })
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}

/// The index, the directories and the output of a subcommand.
pub(super) struct SessionsContext<'a> {
    pub library: SessionIndex,
    pub directory: SessionDirectory,
    /// The file with the pinned and archived sessions.
    pub marks: PathBuf,
    pub cwd: &'a Path,
    pub out: &'a mut dyn StyledWrite,
    /// Columns of the terminal; `None` when the output is not a terminal.
    pub width: Option<usize>,
}

impl SessionsContext<'_> {
    /// The file of the session that matches `query`.
    pub(super) fn find(&self, query: &str) -> Result<PathBuf, CommandError> {
        Ok(self.directory.find(query)?)
    }

    /// Runs a query of the index, up to date. A damaged index is rebuilt, or read into memory where it cannot be stored.
    pub(super) fn query<T>(
        &self,
        depth: Depth,
        run: impl Fn(&IndexReader) -> Result<T, IndexError>,
    ) -> Result<T, CommandError> {
        match run(&self.index(depth)?) {
            Err(error) if error.is_damage() => {
                let index = match self.library.discard() {
                    Ok(()) => self.index(depth)?,
                    Err(_) => self.read_all(depth)?,
                };
                Ok(run(&index)?)
            }
            ended => Ok(ended?),
        }
    }

    fn read_all(&self, depth: Depth) -> Result<IndexReader, CommandError> {
        let cancel = CancellationToken::new();
        Ok(self.library.read_all(depth, &cancel, &mut |_| {})?)
    }

    /// The index, up to date.
    fn index(&self, depth: Depth) -> Result<IndexReader, CommandError> {
        let cancel = CancellationToken::new();
        let mut meter = ProgressMeter::default();
        let began = Instant::now();
        loop {
            let outcome = self
                .library
                .refresh(depth, &cancel, &mut |progress| meter.update(progress));
            match outcome {
                Ok(Outcome::Done { .. }) => break,
                Ok(Outcome::Busy) if self.library.open()?.is_some() => {
                    meter.warn(
                        "another osier process is indexing; the newest messages may be missing",
                    );
                    break;
                }
                Ok(Outcome::Busy) if began.elapsed() < INDEX_TIMEOUT => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                // The directory or the index is not writable: read the session files instead.
                Ok(Outcome::Busy) | Err(_) => return self.read_all(depth),
            }
        }
        meter.end();
        match self.library.open() {
            Ok(Some(index)) => Ok(index),
            // There are no sessions yet, or the disk is too full to open the index.
            Ok(None) | Err(_) => self.read_all(depth),
        }
    }

    pub(super) fn print(&mut self, line: &str) -> Result<(), CommandError> {
        Ok(writeln!(self.out, "{line}")?)
    }

    pub(super) fn print_json(&mut self, value: &impl serde::Serialize) -> Result<(), CommandError> {
        let line = serde_json::to_string(value)?;
        self.print(&line)
    }
}

/// Shows the progress of a long refresh on standard error when it is a terminal.
#[derive(Default)]
pub(super) struct ProgressMeter {
    began: Option<Instant>,
    last: Option<Instant>,
}

/// A shorter refresh shows no progress.
const PROGRESS_DELAY: Duration = Duration::from_millis(500);

impl ProgressMeter {
    pub(super) fn update(&mut self, progress: Progress) {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        let due = self.last.is_none_or(|last| now - last > PROGRESS_DELAY / 5);
        if now - began < PROGRESS_DELAY || !due || !io::stderr().is_terminal() {
            return;
        }
        self.last = Some(now);
        let Progress { done, total } = progress;
        Self::show(&format!("indexing: {done} of {total} sessions"));
    }

    /// Replaces the line.
    fn show(line: &str) {
        let mut out = terminal_output::stderr();
        // A failed write to standard error cannot be reported.
        let _ = out.styled("\r", line, "\x1b[K").and_then(|()| out.flush());
    }

    fn warn(&mut self, text: &str) {
        self.end();
        let _ = writeln!(terminal_output::stderr(), "[WRN] {text}");
    }

    pub(super) fn end(&mut self) {
        if self.last.take().is_some() {
            Self::show("");
        }
    }
}

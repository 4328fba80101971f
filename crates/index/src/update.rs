//! Updates the index: reads new files, removes deleted ones, and reads only the new end of files that have grown.

use osier_base::file_stamp::FileStamp;
use osier_base::sort;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use tokio_util::sync::CancellationToken;

use super::error::IndexError;
use super::facts::Facts;
use super::reading::{self, Span};
use super::schema::{IndexReader, SessionIndex};
use super::walk::{SessionFile, walk};
use osier_base::{clock, regular_file};
use osier_protocol::{ModelCost, UsageDay};
use osier_store::summarize;

/// Bytes of text per transaction, so that other processes do not wait long.
const BATCH_TEXT: usize = 1 << 20;
/// Sessions per transaction, after which progress is reported.
const BATCH_SESSIONS: usize = 64;
/// Maximum bytes that are indexed before a list is shown; with more, the rows come first.
const AT_ONCE: u64 = 16 << 20;
/// Maximum bytes of text that [`Depth::Soon`] indexes.
const SOON_TEXT: usize = 2 << 20;

/// How much to index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// A row for every session; long new files are read only at both ends.
    Rows,
    /// The text of every session.
    Words,
    /// The text of every session, if that is quick. Otherwise only a part is indexed, and a search
    /// reads the files.
    Soon,
}

/// The progress of an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of sessions whose text is indexed.
    pub done: usize,
    /// Number of sessions.
    pub total: usize,
}

/// The result of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Complete, with the number of sessions that were read.
    Done { read: usize },
    /// Another process is updating the index.
    Busy,
}

impl SessionIndex {
    /// Updates the index. Calls `tell` with the progress; `cancel` stops the update, and completed work remains.
    pub fn refresh(
        &self,
        depth: Depth,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, IndexError> {
        if !self.data.is_dir() {
            return Ok(Outcome::Done { read: 0 });
        }
        let Some(_lock) = self.lock()? else {
            return Ok(Outcome::Busy);
        };
        let mut run = |library: &Self| {
            let connection = library.writer()?;
            library.fill(&connection, depth, cancel, tell)
        };
        match run(self) {
            Err(error) if error.is_damage() => {
                self.remove_index()?;
                run(self)
            }
            ended => ended,
        }
    }

    /// Removes all rows and reads every session again.
    pub fn rebuild(
        &self,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, IndexError> {
        match self.lock()? {
            None => return Ok(Outcome::Busy),
            Some(_lock) => self.remove_index()?,
        }
        self.refresh(Depth::Words, cancel, tell)
    }

    /// An index in memory, for a directory where no index can be stored.
    pub fn read_all(
        &self,
        depth: Depth,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<IndexReader, IndexError> {
        let index = self.in_memory()?;
        self.fill(&index.connection, depth, cancel, tell)?;
        Ok(index)
    }

    fn fill(
        &self,
        connection: &Connection,
        depth: Depth,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, IndexError> {
        let found = walk(self.directory.root(), cancel)?;
        let total = found.len();
        let mut update = Update {
            library: self,
            connection,
            now: clock::now_ms(),
            text: 0,
            left: usize::MAX,
        };
        let mut wanted = update.compare(found)?;
        // Newest files last: search returns the rows that were added last first.
        sort::by_key(&mut wanted, |file| file.found.state.modified);
        let unread: u64 = wanted.iter().map(FileToRead::unread).sum();
        let rows_first = wanted.iter().any(|file| file.known.is_none()) && unread > AT_ONCE;
        if rows_first {
            update.rows(&mut wanted, cancel)?;
        }
        let mut progress = Progress {
            done: total - wanted.len(),
            total,
        };
        tell(progress);
        if depth == Depth::Rows && unread > AT_ONCE {
            return Ok(Outcome::Done { read: 0 });
        }
        if depth == Depth::Soon && unread > AT_ONCE {
            update.left = SOON_TEXT;
        }
        let read = wanted.len();
        for batch in wanted.chunks(BATCH_SESSIONS) {
            update.batch(batch, cancel)?;
            if update.left == 0 {
                break;
            }
            progress.done += batch.len();
            tell(progress);
        }
        Ok(Outcome::Done { read })
    }
}

/// A file that differs from the index.
struct FileToRead {
    found: SessionFile,
    known: Option<Known>,
}

/// A file's row in the index.
#[derive(Debug, Clone)]
struct Known {
    number: i64,
    state: FileStamp,
    seen: u64,
    mark: u32,
}

impl FileToRead {
    fn unread(&self) -> u64 {
        let seen = self.known.as_ref().map_or(0, |known| known.seen);
        self.found.state.size.saturating_sub(seen)
    }
}

struct Update<'a> {
    library: &'a SessionIndex,
    connection: &'a Connection,
    /// Later times come from a wrong clock.
    now: i64,
    /// Bytes of text in the current transaction.
    text: usize,
    /// Bytes of text that may still be indexed.
    left: usize,
}

impl Update<'_> {
    fn path(&self, relative: &[u8]) -> PathBuf {
        let root = self.library.directory.root();
        root.join(Path::new(std::ffi::OsStr::from_bytes(relative)))
    }

    /// Finds the files to read. Removes the rows of deleted files and moves the rows of renamed files.
    fn compare(&mut self, found: Vec<SessionFile>) -> Result<Vec<FileToRead>, IndexError> {
        let mut known = self.known()?;
        let mut wanted = Vec::new();
        for found in found {
            match known.remove(&found.path) {
                Some(row) if row.state == found.state && row.seen > 0 => {}
                row => wanted.push(FileToRead { found, known: row }),
            }
        }
        let all_gone: Vec<i64> = known.values().map(|row| row.number).collect();
        let mut gone: HashMap<u64, Known> = known
            .into_values()
            .map(|row| (row.state.inode, row))
            .collect();
        if !all_gone.is_empty() {
            self.in_transaction(|update| {
                let mut kept = Vec::new();
                for file in &mut wanted {
                    let inode = file.found.state.inode;
                    if file.known.is_none()
                        && let Some(row) = gone.remove(&inode)
                    {
                        update.connection.execute(
                            "UPDATE sessions SET path = ?1 WHERE number = ?2",
                            params![file.found.path, row.number],
                        )?;
                        kept.push(row.number);
                        file.known = Some(row);
                    }
                }
                let forgotten = all_gone.iter().filter(|number| !kept.contains(number));
                forgotten
                    .copied()
                    .try_for_each(|number| update.forget(number))
            })?;
            wanted.retain(|file| {
                let known = file.known.as_ref();
                known.is_none_or(|row| row.state != file.found.state || row.seen == 0)
            });
        }
        Ok(wanted)
    }

    fn known(&self) -> Result<HashMap<Vec<u8>, Known>, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT path, number, inode, size, written, seen, mark FROM sessions",
        )?;
        let rows = statement.query_map([], |row| {
            let state = FileStamp {
                inode: row.get::<_, i64>(2)? as u64,
                size: row.get::<_, i64>(3)? as u64,
                modified: row.get(4)?,
                changed: 0,
            };
            let known = Known {
                number: row.get(1)?,
                state,
                seen: row.get::<_, i64>(5)? as u64,
                mark: row.get(6)?,
            };
            Ok((row.get(0)?, known))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds rows from both ends of new files, so that a list is complete before all text is indexed.
    fn rows(
        &mut self,
        wanted: &mut [FileToRead],
        cancel: &CancellationToken,
    ) -> Result<(), IndexError> {
        for batch in wanted.chunks_mut(1024) {
            self.in_transaction(|update| {
                for file in batch.iter_mut().filter(|file| file.known.is_none()) {
                    if cancel.is_cancelled() {
                        return Err(IndexError::Cancelled);
                    }
                    let Ok(summary) = summarize(&update.path(&file.found.path)) else {
                        continue;
                    };
                    let facts = Facts {
                        id: summary.id,
                        cwd: summary.cwd,
                        parent: summary.parent_session,
                        name: summary.name,
                        first_prompt: summary.first_prompt,
                        created: summary.created,
                        active: summary.modified.min(update.now),
                        entries: summary.messages,
                        ..Facts::default()
                    };
                    let known = update.store(None, &file.found, &facts, 0, 0)?;
                    file.known = Some(known);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        files: &[FileToRead],
        cancel: &CancellationToken,
    ) -> Result<(), IndexError> {
        self.text = 0;
        self.in_transaction(|update| {
            for file in files {
                if cancel.is_cancelled() || update.left == 0 {
                    return Ok(());
                }
                match update.read(file, cancel) {
                    // An unreadable file does not stop the update; the next one tries it again.
                    Ok(()) | Err(IndexError::Io { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })?;
        if cancel.is_cancelled() {
            return Err(IndexError::Cancelled);
        }
        Ok(())
    }

    fn read(&mut self, wanted: &FileToRead, cancel: &CancellationToken) -> Result<(), IndexError> {
        let path = self.path(&wanted.found.path);
        let file = regular_file::open_plain(&path)
            .map_err(|error| IndexError::io("read", &path, error))?;
        let (mut facts, mut seen, mut known) = (Facts::default(), 0, wanted.known.clone());
        if let Some(row) = &known {
            let continues = row.seen > 0
                && wanted.found.state.size >= row.seen
                && reading::mark(&file, row.seen).is_ok_and(|mark| mark == row.mark);
            if continues {
                (facts, seen) = (self.facts(row.number)?, row.seen);
            } else {
                self.forget_words(row.number)?;
            }
        }
        if known.is_none() {
            // The spans refer to the row, so it must exist.
            known = Some(self.store(None, &wanted.found, &facts, 0, 0)?);
        }
        let number = known.as_ref().map_or(0, |row| row.number);
        let found = &wanted.found;
        let now = self.now;
        let seen = reading::read(&file, &path, &mut facts, seen, now, &mut |facts, span| {
            if cancel.is_cancelled() || self.left == 0 {
                return Err(IndexError::Cancelled);
            }
            self.add_span(number, &span)?;
            if self.text >= BATCH_TEXT {
                let mark = reading::mark(&file, span.finish).unwrap_or_default();
                self.store(Some(number), &unfinished(found), facts, span.finish, mark)?;
                self.next_transaction()?;
            }
            Ok(())
        });
        let seen = match seen {
            Ok(seen) => seen,
            // The indexed part remains, and so do the other sessions of this transaction.
            Err(IndexError::Cancelled) => return self.forget_unfinished(number),
            Err(error) => {
                self.forget_unfinished(number)?;
                return Err(error);
            }
        };
        if facts.active == 0 {
            facts.active = wanted.found.state.modified / 1_000_000;
        }
        let mark = reading::mark(&file, seen).unwrap_or_default();
        self.store(Some(number), found, &facts, seen, mark)?;
        Ok(())
    }

    fn add_span(&mut self, session: i64, span: &Span<'_>) -> Result<(), IndexError> {
        let mut statement = self
            .connection
            .prepare_cached("INSERT INTO spans (session, start, finish) VALUES (?1, ?2, ?3)")?;
        let number = statement.insert(params![
            session,
            span.start.cast_signed(),
            span.finish.cast_signed()
        ])?;
        let mut statement = self
            .connection
            .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        let text = if span.text.contains('\0') {
            // SQLite ends a text at NUL.
            std::borrow::Cow::Owned(span.text.replace('\0', " "))
        } else {
            std::borrow::Cow::Borrowed(span.text)
        };
        statement.execute(params![number, text])?;
        self.text += span.text.len();
        self.left = self.left.saturating_sub(span.text.len());
        Ok(())
    }

    /// Removes the spans after the position in the row.
    fn forget_unfinished(&self, session: i64) -> Result<(), IndexError> {
        for sql in [
            "DELETE FROM words WHERE rowid IN (SELECT number FROM spans WHERE session = ?1
                AND finish > (SELECT seen FROM sessions WHERE number = ?1))",
            "DELETE FROM spans WHERE session = ?1
                AND finish > (SELECT seen FROM sessions WHERE number = ?1)",
        ] {
            self.connection.prepare_cached(sql)?.execute([session])?;
        }
        Ok(())
    }

    fn forget_words(&self, session: i64) -> Result<(), IndexError> {
        for sql in [
            "DELETE FROM words WHERE rowid IN (SELECT number FROM spans WHERE session = ?1)",
            "DELETE FROM spans WHERE session = ?1",
        ] {
            self.connection.prepare_cached(sql)?.execute([session])?;
        }
        Ok(())
    }

    fn forget(&self, session: i64) -> Result<(), IndexError> {
        self.forget_words(session)?;
        let sql = "DELETE FROM sessions WHERE number = ?1";
        self.connection.prepare_cached(sql)?.execute([session])?;
        Ok(())
    }

    /// Writes the row of a session with its indexed position and checksum.
    fn store(
        &self,
        number: Option<i64>,
        found: &SessionFile,
        facts: &Facts,
        seen: u64,
        mark: u32,
    ) -> Result<Known, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
                ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)
             ON CONFLICT (number) DO UPDATE SET inode = ?3, size = ?4, written = ?5, seen = ?6, mark = ?7,
                id = ?8, cwd = ?9, parent = ?10, name = ?11, prompt = ?12, created = ?13, active = ?14,
                entries = ?15, prompts = ?16, answers = ?17, calls = ?18, damaged = ?19, tokens = ?20,
                cost = ?21, models = ?22, labels = ?23, last_prompt = ?24, days = ?25",
        )?;
        let state = found.state;
        statement.execute(params![
            number,
            found.path,
            state.inode.cast_signed(),
            state.size.cast_signed(),
            state.modified,
            seen.cast_signed(),
            mark,
            facts.id,
            facts.cwd,
            facts.parent,
            facts.name,
            facts.first_prompt,
            facts.created,
            facts.active,
            facts.entries.cast_signed(),
            facts.prompts.cast_signed(),
            facts.answers.cast_signed(),
            facts.calls.cast_signed(),
            facts.damaged.cast_signed(),
            facts.tokens().cast_signed(),
            facts.cost(),
            json(&facts.models),
            json(&facts.labels),
            facts.last_prompt,
            json(&facts.days),
        ])?;
        Ok(Known {
            number: number.unwrap_or_else(|| self.connection.last_insert_rowid()),
            state,
            seen,
            mark,
        })
    }

    fn facts(&self, number: i64) -> Result<Facts, IndexError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, cwd, parent, name, prompt, created, active, entries, prompts, answers, calls, damaged,
                models, labels, last_prompt, days FROM sessions WHERE number = ?1",
        )?;
        let facts = statement.query_row([number], |row| {
            let count = |place| row.get::<_, i64>(place).map(|count| count as u64);
            Ok(Facts {
                id: row.get(0)?,
                cwd: row.get(1)?,
                parent: row.get(2)?,
                name: row.get(3)?,
                first_prompt: row.get(4)?,
                created: row.get(5)?,
                active: row.get(6)?,
                entries: count(7)?,
                prompts: count(8)?,
                answers: count(9)?,
                calls: count(10)?,
                damaged: count(11)?,
                models: models(&row.get::<_, String>(12)?),
                labels: serde_json::from_str(&row.get::<_, String>(13)?).unwrap_or_default(),
                last_prompt: row.get(14)?,
                days: days(&row.get::<_, String>(15)?),
                counts_copies: false,
            })
        })?;
        Ok(facts)
    }

    fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = work(self);
        match &done {
            Ok(_) => self.connection.execute_batch("COMMIT")?,
            // SQLite may already have rolled back.
            Err(_) => drop(self.connection.execute_batch("ROLLBACK")),
        }
        done
    }

    /// Commits, so that other processes can write, and starts the next transaction.
    fn next_transaction(&mut self) -> Result<(), IndexError> {
        self.text = 0;
        Ok(self.connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?)
    }
}

/// A file state for a file that was not read completely.
fn unfinished(found: &SessionFile) -> SessionFile {
    SessionFile {
        path: found.path.clone(),
        state: FileStamp {
            modified: 0,
            ..found.state
        },
    }
}

pub(super) fn models(text: &str) -> Vec<ModelCost> {
    serde_json::from_str(text).unwrap_or_default()
}

pub(super) fn days(text: &str) -> Vec<UsageDay> {
    serde_json::from_str(text).unwrap_or_default()
}

fn json(value: &impl serde::Serialize) -> String {
    // Encoding strings and numbers cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

//! The index file: opening, creating and rebuilding it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::IndexError;
use osier_base::locked_file::{self, LockedFile};
use osier_base::{private, regular_file};
use osier_store::SessionDirectory;

/// Version of the tables; a file with another version is rebuilt.
const VERSION: i64 = 6;

/// How long to wait for a transaction of another process. Transactions are short.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Paths are relative to the directory of the sessions. `words` stores no text, only which spans contain which
/// trigrams; a span is a run of complete lines of a session file.
const TABLES: &str = "
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    written INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    mark INTEGER NOT NULL,
    id TEXT NOT NULL,
    cwd TEXT NOT NULL,
    parent TEXT,
    name TEXT,
    prompt TEXT,
    created INTEGER NOT NULL,
    active INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    prompts INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    damaged INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    models TEXT NOT NULL,
    labels TEXT NOT NULL,
    last_prompt TEXT,
    days TEXT NOT NULL
);
CREATE INDEX sessions_by_place ON sessions (cwd, active);
CREATE INDEX sessions_by_time ON sessions (active);
CREATE INDEX sessions_by_id ON sessions (id);
CREATE TABLE spans (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    start INTEGER NOT NULL,
    finish INTEGER NOT NULL
);
CREATE INDEX spans_by_session ON spans (session);
CREATE VIRTUAL TABLE words USING fts5(
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = 'trigram case_sensitive 0'
);
";

/// The index of all stored sessions of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionIndex {
    pub(super) directory: SessionDirectory,
    pub(super) data: PathBuf,
}

/// An open index for queries.
#[derive(Debug)]
pub struct IndexReader {
    pub(super) library: SessionIndex,
    pub(super) connection: Connection,
}

impl SessionIndex {
    /// `data` is osier's data directory. Opens and creates nothing.
    pub fn new(data: &Path) -> Self {
        Self {
            directory: SessionDirectory::new(data),
            data: data.to_owned(),
        }
    }

    pub fn index_file(&self) -> PathBuf {
        self.data.join("index.sqlite")
    }

    /// The lock file of the process that updates the index.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.data.join("index.lock")
    }

    /// A connection for reading; `None` without an index of this version.
    pub(super) fn reader(&self) -> Result<Option<Connection>, IndexError> {
        let file = self.index_file();
        if !file.is_file() || !regular_file::is_database(&file) {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.index_file(), flags).or_else(|_| {
            // A directory without write permission allows only a connection for reading.
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(self.index_file(), flags)
        });
        let ready = opened.and_then(|connection| {
            connection.busy_timeout(LOCK_TIMEOUT)?;
            let version = version(&connection)?;
            Ok((version == VERSION).then_some(connection))
        });
        match ready.map_err(IndexError::from) {
            // The next update rebuilds it.
            Err(error) if error.is_damage() => Ok(None),
            ready => ready,
        }
    }

    /// A connection for writing, with the tables of this version. The caller holds the lock.
    pub(super) fn writer(&self) -> Result<Connection, IndexError> {
        if !regular_file::is_database(&self.index_file()) {
            self.remove_index()?;
        }
        match self.open_writer() {
            Err(error) if error.is_damage() => {
                self.remove_index()?;
                self.open_writer()
            }
            opened => opened,
        }
    }

    fn open_writer(&self) -> Result<Connection, IndexError> {
        let mut connection = Connection::open(self.index_file())?;
        connection.busy_timeout(LOCK_TIMEOUT)?;
        // WAL lets readers continue during writes; a power failure only loses the newest rows, which are indexed
        // again.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
        prepare(&mut connection)?;
        // Conversations can be private. The data directory already is: this is additional protection.
        let _ = private::restrict(&self.index_file());
        Ok(connection)
    }

    /// Opens the index; `None` if there is none of this version.
    pub fn open(&self) -> Result<Option<IndexReader>, IndexError> {
        let connection = self.reader()?;
        Ok(connection.map(|connection| IndexReader {
            library: self.clone(),
            connection,
        }))
    }

    /// Runs a query. A damaged index is deleted: until the next update rebuilds it, it counts as missing.
    pub fn query<T: Default>(
        &self,
        run: impl FnOnce(&IndexReader) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let Some(index) = self.open()? else {
            return Ok(T::default());
        };
        match run(&index) {
            Err(error) if error.is_damage() => {
                drop(index);
                self.discard()?;
                Ok(T::default())
            }
            ended => ended,
        }
    }

    /// Deletes the index, unless another process updates it; the next update rebuilds it.
    pub fn discard(&self) -> Result<(), IndexError> {
        match self.lock()? {
            Some(_lock) => self.remove_index(),
            None => Ok(()),
        }
    }

    /// An index in memory, for a directory without write permission.
    pub(super) fn in_memory(&self) -> Result<IndexReader, IndexError> {
        let mut connection = Connection::open_in_memory()?;
        prepare(&mut connection)?;
        let library = self.clone();
        Ok(IndexReader {
            library,
            connection,
        })
    }

    /// Deletes the index but no session. The caller holds the lock.
    pub(super) fn remove_index(&self) -> Result<(), IndexError> {
        for ending in ["", "-journal", "-wal", "-shm"] {
            let mut path = self.index_file().into_os_string();
            path.push(ending);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(IndexError::io("delete", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Locks the index for updates until the file is dropped; `None` while another process has the lock.
    pub(super) fn lock(&self) -> Result<Option<LockedFile>, IndexError> {
        let path = self.lock_file();
        let failed = |error| IndexError::io("open", &path, error);
        let file = regular_file::open_append(&path, private::FILE_MODE).map_err(failed)?;
        let is_locked = locked_file::try_lock(&file).map_err(failed)?;
        Ok(is_locked.then(|| file.into()))
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Creates the tables unless the file has this version.
fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for table in ["words", "spans", "sessions"] {
        transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

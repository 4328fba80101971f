//! The index's file: opened, made, and made anew.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::LibraryError;
use osier_base::locked_file::HeldFile;
use osier_store::SessionDirectory;

/// Version of the tables; another one in the file means that it is made anew.
const VERSION: i64 = 1;

/// How long one process waits for another's transaction. Those are short.
const PATIENCE: Duration = Duration::from_secs(10);

/// Paths are kept relative to the directory of the sessions. `words` holds no text, only which spans have
/// which three letters in a row; a span is a stretch of whole lines in a session's file.
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
    labels TEXT NOT NULL
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

/// All stored sessions of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    pub(super) directory: SessionDirectory,
    pub(super) data: PathBuf,
}

/// The index, open for questions.
#[derive(Debug)]
pub struct Index {
    pub(super) library: Library,
    pub(super) connection: Connection,
}

impl Library {
    /// `data` is osier's data directory. Nothing is opened or created.
    pub fn new(data: &Path) -> Self {
        Self {
            directory: SessionDirectory::new(data),
            data: data.to_owned(),
        }
    }

    pub fn index_file(&self) -> PathBuf {
        self.data.join("index.sqlite")
    }

    /// The file whose lock the process that indexes holds.
    pub(super) fn lock_file(&self) -> PathBuf {
        self.data.join("index.lock")
    }

    /// A connection for reading; `None` when there is no index yet, or none of this version.
    pub(super) fn reader(&self) -> Result<Option<Connection>, LibraryError> {
        if !self.index_file().is_file() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.index_file(), flags).or_else(|_| {
            // A directory that cannot be written.
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(self.index_file(), flags)
        });
        let ready = opened.and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            let version = version(&connection)?;
            Ok((version == VERSION).then_some(connection))
        });
        match ready.map_err(LibraryError::from) {
            // Whoever indexes next makes it anew.
            Err(error) if error.is_damage() => Ok(None),
            ready => ready,
        }
    }

    /// A connection for writing, with the tables of this version. The caller holds the lock.
    pub(super) fn writer(&self) -> Result<Connection, LibraryError> {
        match self.open_writer() {
            Err(error) if error.is_damage() => {
                self.remove_index()?;
                self.open_writer()
            }
            opened => opened,
        }
    }

    fn open_writer(&self) -> Result<Connection, LibraryError> {
        let mut connection = Connection::open(self.index_file())?;
        connection.busy_timeout(PATIENCE)?;
        // Many can read while one writes; a power cut costs the index its newest rows, which come again.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
        prepare(&mut connection)?;
        restrict(&self.index_file());
        Ok(connection)
    }

    /// The index as it is; `None` when there is none yet, or none of this version.
    pub fn open(&self) -> Result<Option<Index>, LibraryError> {
        let connection = self.reader()?;
        Ok(connection.map(|connection| Index {
            library: self.clone(),
            connection,
        }))
    }

    /// An index that is kept nowhere: for a directory that cannot be written.
    pub(super) fn unkept(&self) -> Result<Index, LibraryError> {
        let mut connection = Connection::open_in_memory()?;
        prepare(&mut connection)?;
        let library = self.clone();
        Ok(Index {
            library,
            connection,
        })
    }

    /// Deletes the index; the sessions are untouched. The caller holds the lock.
    pub(super) fn remove_index(&self) -> Result<(), LibraryError> {
        for ending in ["", "-wal", "-shm"] {
            let mut path = self.index_file().into_os_string();
            path.push(ending);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(LibraryError::io("delete", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The right to index, given up with the file; `None` while another process has it.
    pub(super) fn lock(&self) -> Result<Option<HeldFile>, LibraryError> {
        let path = self.lock_file();
        let failed = |error| LibraryError::io("open", &path, error);
        let mut options = File::options();
        let file = options
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file.into())),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            // A file system without locks: two that index at once do the same work twice, no more.
            Err(std::fs::TryLockError::Error(error))
                if error.kind() == std::io::ErrorKind::Unsupported =>
            {
                Ok(Some(file.into()))
            }
            Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the tables where they are not those of this version.
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

/// Conversations hold what people show to nobody else.
fn restrict(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    // The data directory itself is closed to others; this is a second fence.
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
}

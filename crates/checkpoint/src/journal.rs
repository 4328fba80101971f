//! The journal of a change of several files: a small file in the data directory, synced before the first file changes
//! and removed after the last one. If the process ends in between, the next one finds it and continues.
//!
//! The process that changes the files has the journal locked.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::fault;
use super::state::StateId;
use osier_base::locked_file::{self, LockedFile};
use osier_base::pending_file::PendingFile;
use osier_base::regular_file::{self, ReadError};
use osier_base::{atomic_file, private};

/// Number of attempts to lock a journal, and the time between them. A child that is just starting briefly has the locks
/// of a process that was killed.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(10);

/// Maximum bytes of a journal: enough for some million files.
const LIMIT: u64 = 1 << 30;

/// The record of a running restore. The states `from` and `to` contain only the files that change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Occurs in the names of temporary files.
    pub id: String,
    /// The process that changes the files.
    pub process: u32,
    /// The working directory, for people.
    pub directory: String,
    /// The file of the session that asked for the change.
    pub session: Option<String>,
    /// The recorded state of all files before the change.
    pub before: Option<StateId>,
    pub from: StateId,
    pub to: StateId,
    /// The journal reverts an incomplete change.
    #[serde(default)]
    pub undo: bool,
}

/// A journal that this process has locked. Dropping it leaves the file for the next process.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    pub(super) record: Record,
    _lock: LockedFile,
}

impl Journal {
    /// Creates the journal; an error of the kind `AlreadyExists` if there is one.
    pub(super) fn create(path: &Path, record: Record) -> io::Result<Self> {
        Self::write(path, record, PendingFile::persist_new)
    }

    /// Replaces the journal.
    pub(super) fn replace(self, record: Record) -> io::Result<Self> {
        Self::write(&self.path, record, PendingFile::persist)
    }

    fn write(
        path: &Path,
        record: Record,
        name: impl FnOnce(PendingFile, &Path) -> io::Result<File>,
    ) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        private::create_folder(folder)?;
        let pending = PendingFile::create(folder, private::FILE_MODE)?;
        let mut file = pending.file();
        // The journal is locked before it has its name, so that no process finds it without a lock.
        locked_file::try_lock(file)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        file.sync_all()?;
        fault::point();
        let file = name(pending, path)?;
        atomic_file::sync_directory(folder);
        fault::point();
        Ok(Self {
            path: path.to_owned(),
            record,
            _lock: file.into(),
        })
    }

    /// Locks the journal that another process left; `None` if there is none, or if its process is running.
    pub(super) fn adopt(path: &Path) -> io::Result<Option<Self>> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(BETWEEN);
            }
            let mut file = match regular_file::open_own(path, None) {
                Err(ReadError::Missing) => return Ok(None),
                file => file?,
            };
            // Another process may have removed the journal before it was locked.
            if !locked_file::try_lock(&file)? || !is_at(&file, path) {
                continue;
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let lock = LockedFile::from(file);
            let record: Record = match serde_json::from_slice(&bytes) {
                Ok(record) => record,
                Err(error) => {
                    // Only a fault of the disk damages a journal; no process can continue from it.
                    let aside = path.with_extension("damaged");
                    fs::rename(path, &aside)?;
                    let aside = aside.display();
                    let text = format!("its journal is damaged ({error}); it is in `{aside}` now");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            };
            if locked_file::are_missing() && is_running(record.process) {
                return Ok(None);
            }
            return Ok(Some(Self {
                path: path.to_owned(),
                record,
                _lock: lock,
            }));
        }
        Ok(None)
    }

    /// Removes the journal: the change has ended.
    pub(super) fn remove(self) {
        fault::point();
        // If that fails, the next process finds that every file is changed, and removes the
        // journal.
        let _ = fs::remove_file(&self.path);
        atomic_file::sync_directory(self.path.parent().unwrap_or(Path::new("/")));
        fault::point();
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: io::Result<Metadata>| {
        let metadata = metadata.ok();
        metadata.map(|metadata| (metadata.dev(), metadata.ino()))
    };
    let here = id(file.metadata());
    here.is_some() && here == id(fs::metadata(path))
}

/// Whether another process of this number is running.
fn is_running(process: u32) -> bool {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    process != std::process::id() && id.is_some_and(|id| test_kill_process(id).is_ok())
}

/// The records of all journals in `folder`, for pruning: the objects that they name stay.
pub(super) fn records(folder: &Path) -> impl Iterator<Item = Record> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let bytes = regular_file::read(&entry.path(), LIMIT).ok()?;
        serde_json::from_slice(&bytes).ok()
    })
}

//! The append-only file of a session: created late, repaired before the first write. Only a deletion
//! and a new directory write it again.
//!
//! The first `length` bytes are complete and acknowledged. Bytes after them belong to an unfinished write; they are
//! moved to `<file>.torn-N` before the next record is written.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::error::SessionError;
use super::lock;
use super::moved;
use osier_base::jsonl;
use osier_base::locked_file::LockedFile;
use osier_base::{private, regular_file};

/// Bytes of an unfinished write that are kept.
const MOST_TORN: u64 = 256 << 20;

/// How a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// With a newline.
    Whole,
    /// With a complete record without newline.
    Unterminated,
    /// With an incomplete record, from `length`.
    Torn,
}

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    /// Unset until the first write creates the file.
    file: Option<LockedFile>,
    length: u64,
    tail: Tail,
    /// The directory entry may not be on disk yet.
    name_unsynced: bool,
    copy_sync: CopySync,
}

/// The first sync of a copied session, which writes all of it. No prompt waits for that: until it is complete, the source has the
/// conversation.
#[derive(Debug, Default)]
enum CopySync {
    /// The session is no new copy.
    #[default]
    None,
    Due,
    /// The thread that syncs.
    Runs(JoinHandle<()>),
}

impl LogFile {
    /// A file that its first write creates.
    pub(super) fn planned(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            length: 0,
            tail: Tail::Whole,
            name_unsynced: true,
            copy_sync: CopySync::None,
        }
    }

    /// Opens and locks the file at `path` without changing it. Call `set_end` before the first write.
    pub(super) fn open(path: &Path) -> Result<Self, SessionError> {
        let file = options()
            .open(path)
            .map_err(|error| SessionError::io("open", path, error))?;
        let file = lock::acquire(file, path)?;
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            length: 0,
            tail: Tail::Torn,
            // A copy is not synced before its first prompt.
            name_unsynced: true,
            copy_sync: CopySync::None,
        })
    }

    /// Marks the file as a new copy, whose first sync runs in the background. The system starts to write the copied lines at once, so that
    /// this sync takes less time.
    pub(super) fn of_copy(self) -> Self {
        drop(sync_in_background(self.path.clone()));
        Self {
            copy_sync: CopySync::Due,
            ..self
        }
    }

    /// Sets how the file ends, as found by reading it.
    pub(super) fn set_end(&mut self, length: u64, tail: Tail) {
        self.length = length;
        self.tail = tail;
    }

    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_deref()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn exists(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes that are complete and acknowledged.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends complete lines: all of them, or none and an error. Returns their offset.
    pub(super) fn write(&mut self, records: Vec<u8>) -> Result<u64, SessionError> {
        if self.file.is_none() {
            return self.create(&records, |_| Ok(())).map(|()| 0);
        }
        if let Some(file) = &self.file {
            self.check_unchanged(file)?;
        }
        self.repair_torn_tail()?;
        let (records, begin) = match self.tail {
            Tail::Unterminated => ([b"\n".as_slice(), &records].concat(), self.length + 1),
            Tail::Whole | Tail::Torn => (records, self.length),
        };
        let Some(file) = &self.file else {
            return Err(SessionError::Closed);
        };
        match jsonl::append(file, self.length, &records) {
            Ok(length) => {
                self.length = length;
                self.tail = Tail::Whole;
                Ok(begin)
            }
            Err(error) => {
                if error.torn {
                    self.tail = Tail::Torn;
                }
                Err(self.error("write", error.source))
            }
        }
    }

    /// Fails if another program changed the file: an entry that is written then might be lost or unreadable.
    fn check_unchanged(&self, file: &File) -> Result<(), SessionError> {
        let changed = |change| {
            Err(SessionError::Changed {
                path: self.path.clone(),
                change,
            })
        };
        let open = file.metadata().map_err(|error| self.error("read", error))?;
        let named = std::fs::metadata(&self.path).ok();
        let id = |metadata: &Metadata| (metadata.dev(), metadata.ino());
        let state = |metadata: &Metadata| {
            let written = (metadata.mtime(), metadata.mtime_nsec());
            (metadata.len(), written, metadata.nlink())
        };
        // Some file systems give one file several numbers.
        let is_other = |named: &Metadata| id(named) != id(&open) && state(named) != state(&open);
        // A moved file is still the session.
        match named.as_ref().map(is_other) {
            Some(true) => return changed("was replaced"),
            None if open.nlink() == 0 => {
                return Err(SessionError::Removed {
                    path: self.path.clone(),
                });
            }
            _ => {}
        }
        let mut last = [0];
        if open.len() < self.length {
            return changed("was shortened");
        }
        // After a failed write of this process, the file has more.
        if open.len() > self.length && self.tail != Tail::Torn {
            return changed("was appended to");
        }
        if self.tail == Tail::Whole
            && self.length > 0
            && file.read_exact_at(&mut last, self.length - 1).is_ok()
            && last != *b"\n"
        {
            return changed("was overwritten");
        }
        Ok(())
    }

    /// Syncs the written data to disk.
    pub(super) fn sync(&mut self) -> Result<(), SessionError> {
        match std::mem::take(&mut self.copy_sync) {
            CopySync::None => {}
            CopySync::Due => {
                if let Ok(thread) = sync_in_background(self.path.clone()) {
                    self.copy_sync = CopySync::Runs(thread);
                    return Ok(());
                }
            }
            // Its errors are those of the next sync, too.
            CopySync::Runs(thread) => drop(thread.join()),
        }
        let Some(file) = &self.file else {
            return Ok(());
        };
        file.sync_data()
            .map_err(|error| self.error("sync", error))?;
        if self.name_unsynced
            && let Some(directory) = self.path.parent()
        {
            // Some file systems cannot sync a directory; the data itself is already safe.
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
            self.name_unsynced = false;
        }
        Ok(())
    }

    /// Creates the file with `records`, and with the complete lines that `more` adds to it.
    pub(super) fn create(
        &mut self,
        records: &[u8],
        more: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), SessionError> {
        if let Some(directory) = self.path.parent() {
            create_directory(directory)?;
        }
        // Create the file with its first records, then name it: a kill in between leaves no empty session.
        let unnamed = with_suffix(&self.path, "new");
        let _ = std::fs::remove_file(&unnamed);
        let file = options()
            .create_new(true)
            .open(&unnamed)
            .map_err(|error| self.error("create", error))?;
        let written = lock::acquire(file, &self.path).and_then(|file| {
            jsonl::append(&file, 0, records).map_err(|error| self.error("write", error.source))?;
            let length = Self::add(&unnamed, more);
            let length = length.map_err(|error| self.error("write", error))?;
            let named = name_new(&unnamed, &self.path);
            named.map_err(|error| self.error("create", error))?;
            Ok((file, length))
        });
        match written {
            Ok((file, length)) => {
                self.length = length;
                self.file = Some(file);
                if let Some(directory) = self.path.parent() {
                    moved::remember(directory, records);
                }
                Ok(())
            }
            Err(error) => {
                // Nothing was acknowledged; the next attempt starts over.
                let _ = std::fs::remove_file(&unnamed);
                Err(error)
            }
        }
    }

    /// Replaces the file by another one, which `write` writes and this process locks before it gets the name. A kill leaves
    /// either the old file or the new one.
    pub(super) fn replace(
        &mut self,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), SessionError> {
        if let Some(file) = &self.file {
            self.check_unchanged(file)?;
        }
        self.repair_torn_tail()?;
        let target = std::fs::canonicalize(&self.path);
        let target = target.map_err(|error| self.error("read", error))?;
        let unnamed = with_suffix(&target, "new");
        let _ = std::fs::remove_file(&unnamed);
        let file = options()
            .create_new(true)
            .open(&unnamed)
            .map_err(|error| self.error("create", error))?;
        let written = lock::acquire(file, &self.path).and_then(|file| {
            let length = Self::add(&unnamed, write).and_then(|length| {
                file.sync_all()?;
                std::fs::rename(&unnamed, &target)?;
                Ok(length)
            });
            let length = length.map_err(|error| self.error("write", error))?;
            Ok((file, length))
        });
        match written {
            Ok((file, length)) => {
                self.file = Some(file);
                self.set_end(length, Tail::Whole);
                self.name_unsynced = true;
                self.sync()
            }
            Err(error) => {
                let _ = std::fs::remove_file(&unnamed);
                Err(error)
            }
        }
    }

    /// Lets `more` write after the end of the file at `path`; returns its length. The system copies no bytes to a file that
    /// is open for appending.
    fn add(path: &Path, more: impl FnOnce(&File) -> io::Result<()>) -> io::Result<u64> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::End(0))?;
        more(&file)?;
        file.stream_position()
    }

    fn repair_torn_tail(&mut self) -> Result<(), SessionError> {
        let (Tail::Torn, Some(file)) = (self.tail, &self.file) else {
            return Ok(());
        };
        let mut reader: &File = file;
        let size = file.metadata().map(|data| data.len());
        let size = size
            .and_then(|size| reader.seek(SeekFrom::Start(self.length)).map(|_| size))
            .map_err(|error| self.error("read", error))?;
        if size > self.length {
            save_torn(&self.path, &mut reader.take(MOST_TORN))?;
        }
        file.set_len(self.length)
            .map_err(|error| self.error("truncate", error))?;
        self.tail = Tail::Whole;
        Ok(())
    }

    fn error(&self, action: &'static str, source: io::Error) -> SessionError {
        SessionError::io(action, &self.path, source)
    }
}

/// Syncs a file that this process has open, too, so that it reports an error again.
fn sync_in_background(path: PathBuf) -> io::Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name("session-sync".into());
    thread.spawn(move || {
        let _ = regular_file::open_plain(&path).and_then(|file| file.sync_data());
    })
}

/// Renames a new file unless the name is taken.
pub(super) fn name_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system has no atomic rename without replacement: check first.
        Err(Errno::INVAL | Errno::NOSYS) if !to.exists() => std::fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        named => Ok(named?),
    }
}

/// `path` with `.suffix` appended to its full name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates `directory` and its missing parents, accessible only to the owner.
pub fn create_directory(directory: &Path) -> Result<(), SessionError> {
    private::create_folder(directory).map_err(|error| SessionError::io("create", directory, error))
}

/// Options to open every file of a session. Conversations can be private.
pub(super) fn options() -> OpenOptions {
    let mut options = File::options();
    options.read(true).append(true).mode(private::FILE_MODE);
    options
}

fn save_torn(path: &Path, torn: &mut impl Read) -> Result<(), SessionError> {
    for number in 1_u32.. {
        let torn_file = with_suffix(path, &format!("torn-{number}"));
        match options().create_new(true).open(&torn_file) {
            Ok(mut file) => {
                let written = io::copy(torn, &mut file).and_then(|_| file.sync_all());
                return written.map_err(|error| {
                    let _ = std::fs::remove_file(&torn_file);
                    SessionError::io("write", &torn_file, error)
                });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(SessionError::io("create", &torn_file, error)),
        }
    }
    Ok(())
}

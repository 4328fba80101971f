//! A private directory for long outputs, created on demand. The outputs of all sessions of the user have a maximum of
//! bytes. When it is reached, the session deletes its oldest complete outputs.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use osier_base::leftovers::{self, FolderKind, TemporaryFolder};

/// Maximum bytes of the outputs of all sessions.
const LIMIT: u64 = 2 << 30;
/// Written bytes after which the outputs of other sessions are counted again.
const COUNT_AGAIN: u64 = 256 << 20;

/// The directory of a session.
#[derive(Debug)]
pub(crate) struct OutputDirectory {
    limit: u64,
    stored: Mutex<Stored>,
}

#[derive(Debug, Default)]
struct Stored {
    folder: Option<TemporaryFolder>,
    /// Oldest first.
    files: VecDeque<Output>,
    /// The bytes of other sessions.
    others: u64,
    /// The bytes that were written since the others were counted.
    uncounted: u64,
}

#[derive(Debug)]
struct Output {
    path: PathBuf,
    bytes: u64,
    is_complete: bool,
}

impl Default for OutputDirectory {
    fn default() -> Self {
        Self::limited(LIMIT)
    }
}

impl OutputDirectory {
    fn limited(limit: u64) -> Self {
        let stored = Mutex::default();
        Self { limit, stored }
    }

    /// The path of the directory if it exists.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let stored = self.lock();
        stored
            .folder
            .as_ref()
            .map(|folder| folder.path().to_owned())
    }

    /// The path of a new output file.
    pub(crate) fn new_path(&self) -> io::Result<PathBuf> {
        let mut stored = self.lock();
        if stored.folder.is_none() {
            stored.folder = Some(TemporaryFolder::new(FolderKind::Outputs)?);
        }
        let name = uuid::Uuid::new_v4().simple().to_string();
        let parent = stored
            .folder
            .as_ref()
            .map_or(Path::new(""), TemporaryFolder::path);
        let path = parent.join(format!("{}.log", &name[..12]));
        stored.files.push_back(Output {
            path: path.clone(),
            bytes: 0,
            is_complete: false,
        });
        stored.count_others();
        Ok(path)
    }

    /// Counts up to `wanted` bytes that will be written to an output. Returns how many may be.
    pub(crate) fn reserve(&self, path: &Path, wanted: u64) -> u64 {
        let mut stored = self.lock();
        stored.uncounted += wanted;
        if stored.uncounted >= COUNT_AGAIN {
            stored.count_others();
        }
        let free = stored.make_room(self.limit, wanted).min(wanted);
        if let Some(output) = stored.find(path) {
            output.bytes += free;
        }
        free
    }

    /// The output is complete: it can be deleted to make room for newer output.
    pub(crate) fn complete(&self, path: &Path) {
        if let Some(output) = self.lock().find(path) {
            output.is_complete = true;
        }
    }

    /// The file was deleted.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().files.retain(|output| output.path != path);
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stored {
    fn find(&mut self, path: &Path) -> Option<&mut Output> {
        self.files.iter_mut().find(|output| output.path == path)
    }

    fn own(&self) -> u64 {
        self.files.iter().map(|output| output.bytes).sum()
    }

    fn count_others(&mut self) {
        let parent = self
            .folder
            .as_ref()
            .and_then(|folder| folder.path().parent());
        let all = parent.map_or(0, |parent| leftovers::bytes_of(FolderKind::Outputs, parent));
        self.others = all.saturating_sub(self.own());
        self.uncounted = 0;
    }

    /// Deletes the oldest complete outputs until `wanted` bytes fit. Returns the free bytes.
    fn make_room(&mut self, limit: u64, wanted: u64) -> u64 {
        loop {
            let free = limit.saturating_sub(self.own() + self.others);
            let oldest = self.files.iter().position(|output| output.is_complete);
            let (true, Some(oldest)) = (free < wanted, oldest) else {
                return free;
            };
            if let Some(output) = self.files.remove(oldest) {
                // A file that cannot be deleted is counted with the others later.
                let _ = std::fs::remove_file(output.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_complete_outputs_are_deleted_for_newer_ones() {
        let directory = OutputDirectory::default();
        let new = |directory: &OutputDirectory| {
            let path = directory.new_path().unwrap();
            osier_base::atomic_file::write(&path, b"").unwrap();
            path
        };
        let (first, second, third) = (new(&directory), new(&directory), new(&directory));
        // Output of other processes is not part of this test.
        let room = |path: &Path, wanted| {
            let mut stored = directory.lock();
            stored.others = 0;
            let free = stored.make_room(100, wanted).min(wanted);
            stored.find(path).unwrap().bytes += free;
            free
        };
        assert_eq!((room(&first, 60), room(&second, 30)), (60, 30));
        // Nothing is complete.
        assert_eq!(room(&third, 20), 10);
        directory.complete(&second);
        assert_eq!(room(&third, 20), 20);
        let exist = [&first, &second, &third].map(|path| path.exists());
        assert_eq!(exist, [true, false, true]);
        directory.forget(&first);
        assert_eq!(room(&third, 60), 60);
    }
}

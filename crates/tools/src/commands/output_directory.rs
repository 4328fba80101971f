//! A private directory for long outputs, created on demand. The outputs of a stored session are kept as long as the
//! session, because its messages name the files; the outputs of other sessions are temporary. The outputs of all sessions of
//! the user have a maximum of bytes. When it is reached, the oldest complete outputs are deleted, those of the session first.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use osier_base::leftovers::{self, FolderKind, TemporaryFolder};
use osier_base::{atomic_file, private, sort};

use super::output::OutputLimits;

/// Maximum bytes of the outputs of all sessions.
const LIMIT: u64 = 2 << 30;
/// Written bytes after which the outputs of other sessions are counted again.
const COUNT_AGAIN: u64 = 256 << 20;

/// An output that was not written for so long belongs to no running command.
const UNUSED: Duration = Duration::from_hours(1);
/// The name of the file that has the path of the session, in the directory of kept outputs. If the
/// session is gone, its outputs are swept.
pub const OWNER: &str = "session";

/// Where the outputs of a session go, and how much of them the model gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputOptions {
    /// The directory, and the file of the session; temporary if not set.
    pub kept: Option<(PathBuf, PathBuf)>,
    pub limits: OutputLimits,
}

/// The directory of a session.
#[derive(Debug)]
pub(crate) struct OutputDirectory {
    limit: u64,
    options: OutputOptions,
    stored: Mutex<Stored>,
}

#[derive(Debug)]
enum Folder {
    Temporary(TemporaryFolder),
    Kept(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

#[derive(Debug, Default)]
struct Stored {
    folder: Option<Folder>,
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
        Self::new(OutputOptions::default())
    }
}

impl OutputDirectory {
    pub(crate) fn new(options: OutputOptions) -> Self {
        Self {
            limit: LIMIT,
            options,
            stored: Mutex::default(),
        }
    }

    pub(crate) fn limits(&self) -> OutputLimits {
        self.options.limits
    }

    /// The path of the directory if it exists.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let stored = self.lock();
        let open = stored.folder.as_ref();
        let kept = || self.options.kept.as_ref().map(|(folder, _)| folder.clone());
        open.map(|folder| folder.path().to_owned())
            .or_else(|| kept().filter(|folder| folder.is_dir()))
    }

    /// The path of a new output file.
    pub(crate) fn new_path(&self) -> io::Result<PathBuf> {
        let mut stored = self.lock();
        if stored.folder.is_none() {
            stored.folder = Some(match &self.options.kept {
                Some((folder, session)) => {
                    stored.files = keep(folder, session)?;
                    Folder::Kept(folder.clone())
                }
                None => Folder::Temporary(TemporaryFolder::new(FolderKind::Outputs)?),
            });
        }
        let name = uuid::Uuid::new_v4().simple().to_string();
        let parent = stored.folder.as_ref().map_or(Path::new(""), Folder::path);
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
        let all = match &self.folder {
            Some(Folder::Temporary(folder)) => {
                let parent = folder.path().parent();
                parent.map_or(0, |parent| leftovers::bytes_of(FolderKind::Outputs, parent))
            }
            Some(Folder::Kept(folder)) => {
                let all = folder.parent().map(outputs_below).unwrap_or_default();
                all.iter().map(|found| found.bytes).sum()
            }
            None => 0,
        };
        self.others = all.saturating_sub(self.own());
        self.uncounted = 0;
    }

    /// Deletes the oldest unused kept output of another session. Whether there was one.
    fn delete_other(&mut self) -> bool {
        let Some(Folder::Kept(own)) = &self.folder else {
            return false;
        };
        let mut all = own.parent().map(outputs_below).unwrap_or_default();
        all.retain(|found| found.is_unused && !found.path.starts_with(own));
        let Some(oldest) = all.first() else {
            return false;
        };
        self.others = self.others.saturating_sub(oldest.bytes);
        fs::remove_file(&oldest.path).is_ok()
    }

    /// Deletes the oldest complete outputs until `wanted` bytes fit. Returns the free bytes.
    fn make_room(&mut self, limit: u64, wanted: u64) -> u64 {
        loop {
            let free = limit.saturating_sub(self.own() + self.others);
            let oldest = self.files.iter().position(|output| output.is_complete);
            if free >= wanted || (oldest.is_none() && !self.delete_other()) {
                return free;
            }
            if let Some(oldest) = oldest
                && let Some(output) = self.files.remove(oldest)
            {
                // A file that cannot be deleted is counted with the others later.
                let _ = std::fs::remove_file(output.path);
            }
        }
    }
}

/// A stored output.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
    is_unused: bool,
}

/// The outputs in a directory, oldest first.
fn outputs_in(folder: &Path) -> Vec<Found> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let path = entry.path();
        path.extension().filter(|ending| *ending == "log")?;
        let metadata = entry.metadata().ok()?;
        let changed = metadata.modified().ok()?;
        Some(Found {
            bytes: metadata.len(),
            is_unused: changed.elapsed().is_ok_and(|age| age > UNUSED),
            path,
            changed,
        })
    });
    let mut found: Vec<Found> = found.collect();
    sort::by_key(&mut found, |found| found.changed);
    found
}

/// The kept outputs of all sessions, oldest first.
fn outputs_below(parent: &Path) -> Vec<Found> {
    let folders = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<Found> = folders
        .flat_map(|folder| outputs_in(&folder.path()))
        .collect();
    sort::by_key(&mut found, |found| found.changed);
    found
}

/// Creates the directory of a session that keeps its outputs. Returns the outputs of earlier runs.
fn keep(folder: &Path, session: &Path) -> io::Result<VecDeque<Output>> {
    private::create_folder(folder)?;
    let owner = folder.join(OWNER);
    if !owner.exists() {
        let session = session.to_string_lossy();
        atomic_file::write(&owner, session.as_bytes()).map_err(io::Error::other)?;
    }
    let earlier = outputs_in(folder).into_iter().map(|found| Output {
        path: found.path,
        bytes: found.bytes,
        is_complete: found.is_unused,
    });
    Ok(earlier.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_of_a_stored_session_outlive_it_and_name_it() {
        let place = tempfile::tempdir().unwrap();
        let session = place.path().join("s.jsonl");
        let kept = place.path().join("outputs/0199");
        let options = || OutputOptions {
            kept: Some((kept.clone(), session.clone())),
            ..OutputOptions::default()
        };
        let directory = OutputDirectory::new(options());
        assert_eq!(directory.path(), None);
        let output = directory.new_path().unwrap();
        atomic_file::write(&output, b"all of it").unwrap();
        directory.complete(&output);
        drop(directory);
        assert_eq!(fs::read(&output).unwrap(), b"all of it");
        let owner = fs::read_to_string(kept.join(OWNER)).unwrap();
        assert_eq!(Path::new(&owner), session);
        // The next run of the session shows them to commands, and counts them.
        let again = OutputDirectory::new(options());
        assert_eq!(again.path(), Some(kept));
        again.new_path().unwrap();
        let stored = again.lock();
        let bytes: Vec<u64> = stored.files.iter().map(|output| output.bytes).collect();
        assert_eq!((bytes, stored.others), (vec![9, 0], 0));
    }

    #[test]
    fn unused_outputs_of_other_sessions_make_room() {
        let place = tempfile::tempdir().unwrap();
        let options = |id: &str| OutputOptions {
            kept: Some((place.path().join(id), place.path().join("s.jsonl"))),
            ..OutputOptions::default()
        };
        let other = OutputDirectory::new(options("other"));
        let [old, new] = [(); 2].map(|()| other.new_path().unwrap());
        for path in [&old, &new] {
            atomic_file::write(path, &[b'x'; 60]).unwrap();
        }
        let past = SystemTime::now() - 2 * UNUSED;
        let file = fs::File::options().write(true).open(&old).unwrap();
        file.set_modified(past).unwrap();
        let own = OutputDirectory::new(options("own"));
        own.new_path().unwrap();
        let mut stored = own.lock();
        assert_eq!(stored.others, 120);
        assert_eq!(stored.make_room(100, 30), 40);
        assert_eq!([&old, &new].map(|path| path.exists()), [false, true]);
    }

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

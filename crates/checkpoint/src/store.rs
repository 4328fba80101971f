//! The states of one working directory: record, compare and restore. Every function blocks.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::Cache;
use super::error::CheckpointError;
use super::lock_wait::LockWait;
use super::objects::{Hash, Objects};
use super::plan::{self, Difference, Ignored, Plan};
use super::scan::{ScanError, scan};
use super::state::{Content, State, StateId};
use osier_base::locked_file::LockedFile;
use osier_base::working_folder::WorkingFolder;
use osier_base::{clock, private, regular_file};
use osier_protocol::FileChange;
use osier_tools::{diff, encoding};

/// A recorded state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub id: StateId,
    pub files: usize,
    /// Files that were found but not recorded.
    pub not_recorded: Vec<PathBuf>,
}

/// The folder of checkpoints in the data directory.
pub(super) const CHECKPOINTS: &str = "checkpoints";
/// The folder of journals in the folder of checkpoints.
pub(super) const JOURNALS: &str = "pending";

const LOCK: &str = "lock";

/// The file by which recording and pruning exclude each other.
pub(super) fn lock_file(folder: &Path) -> io::Result<File> {
    private::create_folder(folder)?;
    Ok(regular_file::open_own(
        &folder.join(LOCK),
        Some(private::FILE_MODE),
    )?)
}

/// The states of the directory `root`, in `<data>/checkpoints`. A directory that another program moves is followed.
#[derive(Debug, Clone)]
pub struct CheckpointStore {
    folder_of_files: Arc<WorkingFolder>,
    folder: PathBuf,
    pub(super) objects: Objects,
    cache: PathBuf,
    /// The journal of the change of files that is in progress.
    pub(super) journal: PathBuf,
    wait: LockWait,
}

impl CheckpointStore {
    /// `root` must be absolute. Nothing is created before the first recording.
    pub fn new(data: &Path, root: &Path) -> Self {
        let folder = data.join(CHECKPOINTS);
        let name = Hash::of(root.as_os_str().as_encoded_bytes()).to_string();
        Self {
            folder_of_files: Arc::new(WorkingFolder::new(root)),
            objects: Objects::new(folder.join("objects")),
            cache: folder.join("seen").join(&name[..16]),
            journal: folder.join(JOURNALS).join(&name[..16]),
            folder,
            wait: LockWait::default(),
        }
    }

    /// Where the directory is now.
    pub(super) fn root(&self) -> PathBuf {
        self.folder_of_files.path()
    }

    /// This store for a copy of the directory.
    #[must_use]
    pub fn elsewhere(&self, root: &Path) -> Self {
        let data = self.folder.parent().unwrap_or(&self.folder);
        Self::new(data, root)
    }

    /// This store, waiting for other processes as `wait` says.
    #[must_use]
    pub fn waiting(mut self, wait: LockWait) -> Self {
        self.wait = wait;
        self
    }

    /// Deletes the scan cache, for directories that are about to be deleted.
    pub fn delete_cache(&self) {
        // The cache is created again when it is needed.
        let _ = fs::remove_file(&self.cache);
    }

    /// Records the current files.
    pub fn capture(&self) -> Result<Captured, CheckpointError> {
        let (captured, _) = self.scan()?;
        Ok(captured)
    }

    /// Excludes pruning until the lock is dropped.
    pub(super) fn share(&self) -> Result<LockedFile, CheckpointError> {
        let lock = lock_file(&self.folder)?;
        self.wait.share(&lock, &self.folder.join(LOCK))?;
        Ok(lock.into())
    }

    pub(super) fn scan(&self) -> Result<(Captured, State), CheckpointError> {
        // A home directory or the root of a disk is not a project.
        let root = self.root();
        if root.parent().is_none() || dirs::home_dir().as_ref() == Some(&root) {
            return Err(CheckpointError::NoProject { root });
        }
        let _lock = self.share()?;
        let started = clock::now_ms().saturating_mul(1_000_000);
        let known = Cache::load(&self.cache);
        let scanned = scan(&root, &known, &self.objects).map_err(|error| match error {
            ScanError::TooMany => CheckpointError::TooMany { root },
            ScanError::Io(error) => CheckpointError::Io(error),
        })?;
        let id = scanned.state.store(&self.objects)?;
        // Synced before the cache is written, which names objects that are not read again.
        self.objects.sync()?;
        scanned.cache.save(&self.cache, started, &known);
        let captured = Captured {
            id,
            files: scanned.state.paths.len(),
            not_recorded: scanned.not_recorded,
        };
        Ok((captured, scanned.state))
    }

    /// The plan to restore `target`. A file was changed outside of osier if it differs from `known`, the state
    /// recorded last, or is in `by_hand`.
    pub fn plan(
        &self,
        target: StateId,
        known: Option<StateId>,
        by_hand: &BTreeSet<PathBuf>,
    ) -> Result<Plan, CheckpointError> {
        let (captured, present) = self.scan()?;
        let mut by_hand = by_hand.clone();
        if let Some(known) = known.filter(|known| *known != captured.id) {
            let known = State::load(&self.objects, known).map_err(CheckpointError::Lost)?;
            let since = plan::differences(&known, &present);
            by_hand.extend(since.into_iter().map(|difference| difference.path));
        }
        let wanted = State::load(&self.objects, target).map_err(CheckpointError::Lost)?;
        let ignored = Ignored::of(&wanted, &self.objects);
        Ok(Plan {
            target,
            present: captured.id,
            partial: false,
            steps: plan::steps(&self.root(), &present, &wanted, &by_hand, &ignored),
        })
    }

    /// The files that differ between two states.
    pub fn changes(&self, old: StateId, new: StateId) -> Result<Vec<FileChange>, CheckpointError> {
        let differences = self.differences(old, new)?;
        let changes = differences
            .into_iter()
            .map(|Difference { path, from, to }| FileChange {
                path: path.to_string_lossy().into_owned(),
                kind: plan::kind(from, to),
                by_hand: false,
                obstacle: None,
            });
        Ok(changes.collect())
    }

    /// The differences of two states as unified diffs, by path. The diff is empty for files that are not text or not
    /// recorded.
    pub fn diffs(
        &self,
        old: StateId,
        new: StateId,
    ) -> Result<Vec<(FileChange, String)>, CheckpointError> {
        let changes = self.changes(old, new)?;
        let differences = self.differences(old, new)?;
        let diffs = differences
            .into_iter()
            .map(|Difference { path, from, to }| {
                let name = path.to_string_lossy().into_owned();
                match (self.text(from), self.text(to)) {
                    (Ok(old), Ok(new)) => {
                        diff::unified(&name, old.as_deref(), new.as_deref().unwrap_or_default())
                            .text
                    }
                    _ => String::new(),
                }
            });
        Ok(changes.into_iter().zip(diffs).collect())
    }

    pub(super) fn differences(
        &self,
        old: StateId,
        new: StateId,
    ) -> Result<Vec<Difference>, CheckpointError> {
        if old == new {
            return Ok(Vec::new());
        }
        let old = State::load(&self.objects, old).map_err(CheckpointError::Lost)?;
        let new = State::load(&self.objects, new).map_err(CheckpointError::Lost)?;
        Ok(plan::differences(&old, &new))
    }

    /// The content of a path as text; `None` if it has none.
    pub(super) fn text(&self, content: Option<Content>) -> io::Result<Option<String>> {
        let (Content::File { content: hash, .. } | Content::Link { target: hash }) = (match content
        {
            None => return Ok(None),
            Some(Content::NotRecorded { .. }) => return Err(io::ErrorKind::Unsupported.into()),
            Some(content) => content,
        }) else {
            return Ok(None);
        };
        let bytes = self.objects.get(hash)?;
        let text = encoding::exact_text(bytes).map(|(text, _)| Some(text));
        text.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The paths that differ between two states.
    pub fn paths_between(
        &self,
        old: StateId,
        new: StateId,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let differences = self.differences(old, new)?;
        Ok(differences
            .into_iter()
            .map(|difference| difference.path)
            .collect())
    }
}

//! The states of one working directory: recorded, compared, gone back to. Everything here blocks.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::hunk;
use super::objects::{Hash, Objects};
use super::plan::{self, Difference, FileChange, Ignored, Plan};
use super::restore::{Restored, restore};
use super::scan::{MAX_FILES, ScanError, scan};
use super::state::{Held, State, StateId};
use osier_base::clock;
use osier_tools::diff;

/// Why the files cannot be recorded or gone back to.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error(
        "checkpoints are disabled: `{}` contains more than {MAX_FILES} files that are not ignored",
        root.display()
    )]
    TooMany { root: PathBuf },
    #[error("checkpoints are disabled in `{}`: it is not a project", root.display())]
    NoProject { root: PathBuf },
    #[error("the files could not be recorded: {0}")]
    Io(#[from] io::Error),
    #[error("the earlier state of the files is unknown: {0}; they were not changed")]
    Lost(io::Error),
}

/// A state that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub id: StateId,
    pub files: usize,
    /// Files that are seen and not kept.
    pub not_kept: Vec<PathBuf>,
}

/// The file by which recording and pruning exclude each other.
pub(super) fn lock_file(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(folder.join("lock"))
}

/// The states of the directory `root`, in `<data>/checkpoints`.
#[derive(Debug, Clone)]
pub struct CheckpointStore {
    root: PathBuf,
    folder: PathBuf,
    objects: Objects,
    cache: PathBuf,
}

impl CheckpointStore {
    /// `root` must be absolute. Nothing is made before something is recorded.
    pub fn new(data: &Path, root: &Path) -> Self {
        let folder = data.join("checkpoints");
        let name = Hash::of(root.as_os_str().as_encoded_bytes()).to_string();
        Self {
            root: root.to_path_buf(),
            objects: Objects::new(folder.join("objects")),
            cache: folder.join("seen").join(&name[..16]),
            folder,
        }
    }

    /// The same store for another directory with the same files: a copy.
    #[must_use]
    pub fn elsewhere(&self, root: &Path) -> Self {
        let data = self.folder.parent().unwrap_or(&self.folder);
        Self::new(data, root)
    }

    /// Forgets what is only kept to look at the files faster. For directories that are about to go.
    pub fn forget_seen(&self) {
        // It is made anew when it is missed.
        let _ = fs::remove_file(&self.cache);
    }

    /// Records the files as they are.
    pub fn capture(&self) -> Result<Captured, CheckpointError> {
        let (captured, _) = self.look()?;
        Ok(captured)
    }

    fn look(&self) -> Result<(Captured, State), CheckpointError> {
        // A home directory or a disk is not what anybody wants back.
        if self.root.parent().is_none() || dirs::home_dir().as_ref() == Some(&self.root) {
            let root = self.root.clone();
            return Err(CheckpointError::NoProject { root });
        }
        // Pruning waits until this has ended, and this until that has.
        let lock = lock_file(&self.folder)?;
        lock.lock_shared()?;
        let started = i128::from(clock::now_ms()) * 1_000_000;
        let known = Cache::load(&self.cache);
        let scanned = scan(&self.root, &known, &self.objects).map_err(|error| match error {
            ScanError::TooMany => CheckpointError::TooMany {
                root: self.root.clone(),
            },
            ScanError::Io(error) => CheckpointError::Io(error),
        })?;
        let id = scanned.state.store(&self.objects)?;
        scanned.cache.save(&self.cache, started, &known);
        let captured = Captured {
            id,
            files: scanned.state.paths.len(),
            not_kept: scanned.not_kept,
        };
        Ok((captured, scanned.state))
    }

    /// What going to `target` would do now. A file is somebody else's when it is not as in `known`, the
    /// state recorded last, or one of `by_hand`.
    pub fn plan(
        &self,
        target: StateId,
        known: Option<StateId>,
        by_hand: &BTreeSet<PathBuf>,
    ) -> Result<Plan, CheckpointError> {
        let (captured, present) = self.look()?;
        let mut by_hand = by_hand.clone();
        if let Some(known) = known.filter(|known| *known != captured.id) {
            let known = State::load(&self.objects, known).map_err(CheckpointError::Lost)?;
            let since = plan::differences(&known, &present);
            by_hand.extend(since.into_iter().map(|(path, ..)| path));
        }
        let wanted = State::load(&self.objects, target).map_err(CheckpointError::Lost)?;
        let ignored = Ignored::of(&wanted, &self.objects);
        Ok(Plan {
            target,
            present: captured.id,
            steps: plan::steps(&self.root, &present, &wanted, &by_hand, &ignored),
        })
    }

    /// Carries `plan` out; files changed by hand only with `by_hand`. What is overwritten is in the
    /// store: `plan.present` brings it back.
    pub fn restore(&self, plan: &Plan, by_hand: bool) -> Restored {
        restore(&self.root, &self.objects, plan, by_hand)
    }

    /// Takes pieces of diffs back, each `(path, piece)` as `hunks` gives them, in the files as they are now.
    /// Those that `present`, the state they are in, does not keep stay: that could not be undone.
    pub fn take_back(
        &self,
        present: StateId,
        pieces: &[(String, String)],
    ) -> Result<Restored, CheckpointError> {
        let present = State::load(&self.objects, present).map_err(CheckpointError::Lost)?;
        let is_kept = |path: &Path| matches!(present.paths.get(path), Some(Held::File { .. }));
        Ok(hunk::take_back(&self.root, pieces, &is_kept))
    }

    /// The files in which two states differ.
    pub fn changes(&self, old: StateId, new: StateId) -> Result<Vec<FileChange>, CheckpointError> {
        let differences = self.differences(old, new)?;
        let changes = differences.into_iter().map(|(path, from, to)| FileChange {
            path: path.to_string_lossy().into_owned(),
            kind: plan::kind(from, to),
            by_hand: false,
            obstacle: None,
        });
        Ok(changes.collect())
    }

    /// The differences of two states as unified diffs, by path. Files that are no text, or not kept, come
    /// with an empty diff.
    pub fn diffs(
        &self,
        old: StateId,
        new: StateId,
    ) -> Result<Vec<(FileChange, String)>, CheckpointError> {
        let changes = self.changes(old, new)?;
        let differences = self.differences(old, new)?;
        let diffs = differences.into_iter().map(|(path, from, to)| {
            let name = path.to_string_lossy().into_owned();
            match (self.text(from), self.text(to)) {
                (Ok(old), Ok(new)) => {
                    diff::unified(&name, old.as_deref(), new.as_deref().unwrap_or_default()).text
                }
                _ => String::new(),
            }
        });
        Ok(changes.into_iter().zip(diffs).collect())
    }

    fn differences(&self, old: StateId, new: StateId) -> Result<Vec<Difference>, CheckpointError> {
        if old == new {
            return Ok(Vec::new());
        }
        let old = State::load(&self.objects, old).map_err(CheckpointError::Lost)?;
        let new = State::load(&self.objects, new).map_err(CheckpointError::Lost)?;
        Ok(plan::differences(&old, &new))
    }

    /// What a path holds as text; `None` when it holds nothing.
    fn text(&self, held: Option<Held>) -> io::Result<Option<String>> {
        let (Held::File { content: hash, .. } | Held::Link { target: hash }) = (match held {
            None => return Ok(None),
            Some(Held::NotKept { .. }) => return Err(io::ErrorKind::Unsupported.into()),
            Some(held) => held,
        }) else {
            return Ok(None);
        };
        let bytes = self.objects.get(hash)?;
        if bytes.contains(&0) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// The paths in which two states differ.
    pub(super) fn paths_between(
        &self,
        old: StateId,
        new: StateId,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let differences = self.differences(old, new)?;
        Ok(differences.into_iter().map(|(path, ..)| path).collect())
    }
}

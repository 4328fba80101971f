//! Carries out a plan in a way that survives a kill: the contents before and after are in the store, a journal names
//! them, and every file is replaced atomically. The next process finishes what a journal names.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::CheckpointError;
use super::fault;
use super::journal::{Journal, Record};
use super::objects::Objects;
use super::plan::{self, Difference, Plan, Step};
use super::state::{Content, State, StateId};
use super::step::{CHANGED, Progress, Target, check_parents, check_parents_after, missing};
use super::store::CheckpointStore;
use osier_base::{atomic_file, ids, regular_file};
use osier_protocol::{FileChange, Unrestored};

/// The result of a restore.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    pub changes: Vec<FileChange>,
    pub left: Vec<Unrestored>,
}

/// Files that were changed. The journal exists until [`finish`](Self::finish), so that the session can record the new
/// state first.
#[derive(Debug)]
pub struct Applied {
    pub restored: Restored,
    journal: Option<Journal>,
    store: CheckpointStore,
    steps: Vec<Step>,
}

/// A change of files that another process began and did not finish.
#[derive(Debug)]
pub struct Interrupted {
    /// The file of the session that requested the change.
    pub session: Option<String>,
    /// The state of all files before the change, if it is recorded.
    pub before: Option<StateId>,
    /// The number of files to change, and of the files that are changed now.
    pub files: usize,
    pub changed: usize,
    /// Why it is unknown which files were changed: an object that the journal names is damaged. In that case, nothing
    /// was changed.
    pub unknown: Option<String>,
    /// The restore was undone, because it could not be completed and the state before it is not recorded.
    pub undone: bool,
    /// Files that were changed by others since, or that cannot be written. They were left alone.
    pub left: Vec<Unrestored>,
    /// The paths of `left`.
    pub by_hand: Vec<PathBuf>,
    journal: Journal,
}

impl Applied {
    /// Removes the journal. Call it when the new state is recorded.
    pub fn finish(self) -> Restored {
        if let Some(journal) = self.journal {
            journal.remove();
        }
        self.restored
    }

    /// Reverts all changes.
    pub fn undo(self) -> Restored {
        let Some(journal) = self.journal else {
            return self.restored;
        };
        undo(&self.store, journal, &self.steps).map_or_else(
            |error| Restored {
                changes: Vec::new(),
                left: vec![Unrestored {
                    path: self.store.root().to_string_lossy().into_owned(),
                    reason: error.to_string(),
                }],
            },
            |(journal, restored)| {
                journal.remove();
                restored
            },
        )
    }
}

impl Interrupted {
    /// Whether all files are as planned.
    pub fn is_complete(&self) -> bool {
        !self.undone && self.left.is_empty() && self.unknown.is_none()
    }

    /// Removes the journal. Call it when the user is notified and the new state is recorded.
    pub fn finish(self) {
        self.journal.remove();
    }
}

impl CheckpointStore {
    /// Carries out `plan`; steps of externally changed files only with `by_hand`. Overwritten
    /// content is in the store: restoring `plan.present` undoes this. `session` is the file of the
    /// session that requests the change.
    ///
    /// # Errors
    /// Nothing was changed.
    pub fn apply(
        &self,
        plan: &Plan,
        by_hand: bool,
        session: Option<&Path>,
    ) -> Result<Applied, CheckpointError> {
        let lock = self.share()?;
        let mut restored = Restored::default();
        let steps = self.prepare(plan, by_hand, &mut restored)?;
        let mut applied = Applied {
            restored,
            journal: None,
            store: self.clone(),
            steps,
        };
        if applied.steps.is_empty() {
            return Ok(applied);
        }
        let record = Record {
            id: ids::entry_id(),
            process: std::process::id(),
            directory: self.root().to_string_lossy().into_owned(),
            session: session.and_then(Path::to_str).map(str::to_owned),
            before: plan.before(),
            from: self.store_side(&applied.steps, |step| step.from)?,
            to: self.store_side(&applied.steps, |step| step.to)?,
            undo: false,
        };
        self.objects.sync()?;
        let journal =
            Journal::create(&self.journal, record).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => CheckpointError::Busy { root: self.root() },
                _ => CheckpointError::Io(error),
            })?;
        drop(lock);
        self.carry_out(&journal.record.id, &applied.steps, &mut applied.restored);
        applied.journal = Some(journal);
        Ok(applied)
    }

    /// Like [`apply`](Self::apply) without a journal, for a copy that nobody needs if the process ends. Returns what it did.
    ///
    /// # Errors
    /// Nothing was changed.
    pub fn restore_copy(&self, plan: &Plan, by_hand: bool) -> Result<Restored, CheckpointError> {
        let mut restored = Restored::default();
        let steps = self.prepare(plan, by_hand, &mut restored)?;
        self.carry_out(&ids::entry_id(), &steps, &mut restored);
        Ok(restored)
    }

    /// The steps that can be carried out, in order: their contents before and after are in the
    /// store, undamaged.
    fn prepare(
        &self,
        plan: &Plan,
        by_hand: bool,
        restored: &mut Restored,
    ) -> Result<Vec<Step>, CheckpointError> {
        let mut steps = plan.steps.clone();
        order(&mut steps);
        let mut ready = Vec::with_capacity(steps.len());
        for step in steps {
            let found = match step.obstacle {
                Some(obstacle) => Err(obstacle.to_owned()),
                None if step.by_hand && !by_hand => Err("it was changed by hand".to_owned()),
                None => self.check(&step, &ready)?,
            };
            match found {
                Ok(()) => ready.push(step),
                Err(reason) => restored.left.push(left(&step, reason)),
            }
        }
        Ok(ready)
    }

    /// Whether the step can be carried out and undone, after the steps `before`.
    fn check(&self, step: &Step, before: &[Step]) -> Result<Result<(), String>, CheckpointError> {
        let root = &self.root();
        if let Err(reason) = check_parents_after(&is_removed_by(before), root, &step.path) {
            return Ok(Err(reason));
        }
        let target = Target { root, id: "" };
        if target.progress(step) != Progress::Pending {
            return Ok(Err(CHANGED.to_owned()));
        }
        if let Some(Err(error)) = step.to.map(|to| stored(&self.objects, to)) {
            return Ok(Err(missing(&error)));
        }
        if !self.store_present(step)? {
            return Ok(Err(CHANGED.to_owned()));
        }
        Ok(Ok(()))
    }

    /// Stores the present content of a pending step again if its object is damaged or lost. `false` if the file has
    /// changed.
    fn store_present(&self, step: &Step) -> Result<bool, CheckpointError> {
        let Some(Err(_)) = step.from.map(|from| stored(&self.objects, from)) else {
            return Ok(true);
        };
        self.store_content(&self.root(), &step.path)?;
        self.objects.sync()?;
        let root = &self.root();
        Ok(Target { root, id: "" }.progress(step) == Progress::Pending)
    }

    /// Stores one side of the steps as a state.
    pub(super) fn store_side(
        &self,
        steps: &[Step],
        side: impl Fn(&Step) -> Option<Content>,
    ) -> Result<StateId, CheckpointError> {
        let paths = steps.iter();
        let paths = paths.filter_map(|step| Some((step.path.clone(), side(step)?)));
        let paths: BTreeMap<PathBuf, Content> = paths.collect();
        Ok(State { paths }.store(&self.objects)?)
    }

    fn carry_out(&self, id: &str, steps: &[Step], restored: &mut Restored) {
        let root = &self.root();
        let target = Target { root, id };
        for (number, step) in steps.iter().enumerate() {
            match target.apply(&self.objects, number, step) {
                Ok(()) => restored.changes.push(step.change()),
                Err(reason) => restored.left.push(left(step, reason)),
            }
        }
        let folders = steps.iter().filter_map(|step| step.path.parent());
        let folders: BTreeSet<&Path> = folders.collect();
        for folder in folders {
            atomic_file::sync_directory(&self.root().join(folder));
        }
        fault::point();
    }

    /// Whether another process began to change files and may not have finished. One system call.
    pub fn is_interrupted(&self) -> bool {
        self.journal.symlink_metadata().is_ok()
    }

    /// Finishes a change that another process began, if all files are as that process left them. `None` if there is no
    /// such change, or if the process is running.
    ///
    /// # Errors The change cannot be finished.
    pub fn resume(&self) -> Result<Option<Interrupted>, CheckpointError> {
        if !self.is_interrupted() {
            return Ok(None);
        }
        let taken = Journal::adopt(&self.journal).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => CheckpointError::Unfinished(error),
            _ => CheckpointError::Io(error),
        });
        let Some(journal) = taken? else {
            return Ok(None);
        };
        let record = journal.record.clone();
        let (steps, unknown) = match self.steps_of(&record) {
            Ok(steps) => (steps, None),
            // The state of all files before the change can still be restored.
            Err(error) if record.before.is_some_and(|before| self.has(before)) => {
                (Vec::new(), Some(error.to_string()))
            }
            Err(error) => {
                // Without the states it is unknown what to change.
                journal.remove();
                return Err(CheckpointError::Unfinished(error));
            }
        };
        let root = &self.root();
        let id = record.id.as_str();
        let target = Target { root, id };
        for (number, step) in steps.iter().enumerate() {
            target.clean(&self.objects, number, step);
        }
        let mut found = Interrupted {
            session: record.session.clone(),
            before: record.before,
            files: steps.len(),
            changed: 0,
            unknown,
            undone: record.undo,
            left: self.obstacles(target, &steps),
            by_hand: Vec::new(),
            journal,
        };
        if found.left.is_empty() || record.undo {
            let mut restored = Restored::default();
            self.carry_out(&record.id, &steps, &mut restored);
            found.left = restored.left;
        }
        if !found.left.is_empty() && found.before.is_none() && !record.undo {
            let (journal, restored) = undo(self, found.journal, &steps)?;
            found.left = restored.left;
            found.journal = journal;
            found.undone = true;
        }
        let done = |step: &&Step| target.progress(step) == Progress::Done;
        found.changed = steps.iter().filter(done).count();
        // The displayed form of a path can differ from the path.
        let shown: BTreeSet<&str> = found.left.iter().map(|left| left.path.as_str()).collect();
        let is_left = |path: &&PathBuf| shown.contains(&*path.to_string_lossy());
        let paths = steps.iter().map(|step| &step.path);
        found.by_hand = paths.filter(is_left).cloned().collect();
        Ok(Some(found))
    }

    /// The reasons why steps cannot be finished.
    fn obstacles(&self, target: Target<'_>, steps: &[Step]) -> Vec<Unrestored> {
        let found = steps.iter().filter_map(|step| {
            let reason = match target.progress(step) {
                Progress::Done => return None,
                Progress::Changed => CHANGED.to_owned(),
                Progress::Pending
                    if check_parents_after(&is_removed_by(steps), &self.root(), &step.path)
                        .is_err() =>
                {
                    CHANGED.to_owned()
                }
                Progress::Pending => match step.to.map(|to| stored(&self.objects, to)) {
                    Some(Err(error)) => missing(&error),
                    _ => match self.store_present(step) {
                        Ok(true) => return None,
                        Ok(false) => CHANGED.to_owned(),
                        Err(error) => error.to_string(),
                    },
                },
            };
            Some(left(step, reason))
        });
        found.collect()
    }

    /// Whether a state can be read.
    fn has(&self, state: StateId) -> bool {
        State::load(&self.objects, state).is_ok()
    }

    /// The steps that a journal names, in the order of the process that wrote it.
    fn steps_of(&self, record: &Record) -> io::Result<Vec<Step>> {
        let from = State::load(&self.objects, record.from)?;
        let to = State::load(&self.objects, record.to)?;
        let differences = plan::differences(&from, &to).into_iter();
        let steps = differences.map(|Difference { path, from, to }| Step {
            path,
            from,
            to,
            by_hand: false,
            obstacle: None,
        });
        let mut steps: Vec<Step> = steps.collect();
        order(&mut steps);
        Ok(steps)
    }

    /// Stores the current content of a path below `root`; `None` if there is no file or link.
    pub(super) fn store_content(&self, root: &Path, path: &Path) -> io::Result<Option<Content>> {
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::fs::PermissionsExt as _;
        if check_parents(root, path).is_err() {
            return Ok(None);
        }
        let path = &root.join(path);
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if metadata.is_symlink() {
            let target = fs::read_link(path)?;
            let target = self.objects.put(target.as_os_str().as_bytes())?;
            return Ok(Some(Content::Link { target }));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        let mode = metadata.permissions().mode() & 0o7777;
        let content = self
            .objects
            .put(&regular_file::read(path, metadata.len())?)?;
        Ok(Some(Content::File { mode, content }))
    }
}

/// Reverts the steps of a journal, and records that in a second journal.
fn undo(
    store: &CheckpointStore,
    journal: Journal,
    steps: &[Step],
) -> Result<(Journal, Restored), CheckpointError> {
    let mut back = steps.to_vec();
    for step in &mut back {
        std::mem::swap(&mut step.from, &mut step.to);
    }
    order(&mut back);
    let record = journal.record.clone();
    let journal = journal.replace(Record {
        id: ids::entry_id(),
        process: std::process::id(),
        from: record.to,
        to: record.from,
        undo: true,
        ..record
    })?;
    let mut restored = Restored::default();
    store.carry_out(&journal.record.id, &back, &mut restored);
    Ok((journal, restored))
}

/// Whether a path is a file that `steps` remove.
fn is_removed_by(steps: &[Step]) -> impl Fn(&Path) -> bool {
    |path| {
        let mut removals = steps.iter().filter(|step| step.to.is_none());
        removals.any(|step| step.path == path)
    }
}

/// Verifies that a content is in the store.
fn stored(objects: &Objects, content: Content) -> io::Result<()> {
    match content {
        Content::File { content: hash, .. } | Content::Link { target: hash } => {
            objects.get(hash).map(drop)
        }
        Content::NotRecorded { .. } => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Puts removals first: a file may replace a directory.
fn order(steps: &mut [Step]) {
    osier_base::sort::by(steps, |one, other| {
        (one.to.is_some(), &one.path).cmp(&(other.to.is_some(), &other.path))
    });
}

fn left(step: &Step, reason: String) -> Unrestored {
    Unrestored {
        path: step.path.to_string_lossy().into_owned(),
        reason,
    }
}

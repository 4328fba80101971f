//! Plans that copy files from another directory, such as the copy of a lane.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::error::CheckpointError;
use super::plan::{Plan, Step};
use super::state::{Content, State, StateId};
use super::store::CheckpointStore;

/// Maximum number of times that the files are read if other programs change them meanwhile.
const TRIES: u32 = 3;

/// The steps, and the paths whose present content is missing from the recorded state.
type Found = (Vec<Step>, Vec<PathBuf>);

impl CheckpointStore {
    /// The plan to make `paths` equal to those in the directory `source`, and the paths whose
    /// present content is missing from the recorded state: it could not be restored. Without
    /// `record`, and in a directory that is no project, no state is recorded.
    ///
    /// # Errors
    /// A file cannot be read or stored.
    pub fn plan_to_adopt(
        &self,
        source: &Path,
        paths: &[PathBuf],
        record: bool,
    ) -> Result<(Plan, Vec<PathBuf>), CheckpointError> {
        for _ in 0..TRIES {
            let recorded = match record.then(|| self.scan()) {
                None
                | Some(Err(CheckpointError::TooMany { .. } | CheckpointError::NoProject { .. })) => {
                    None
                }
                Some(scanned) => Some(scanned?),
            };
            let _lock = self.share()?;
            let state = recorded.as_ref().map(|(_, state)| state);
            let Some((steps, unrecorded)) = self.steps_to_adopt(source, paths, state)? else {
                continue;
            };
            let present = match &recorded {
                Some((captured, _)) => captured.id,
                None => self.store_side(&steps, |step| step.from)?,
            };
            let plan = Plan {
                target: self.store_side(&steps, |step| step.to)?,
                present,
                partial: recorded.is_none(),
                steps,
            };
            return Ok((plan, unrecorded));
        }
        let root = self.root();
        Err(CheckpointError::Changing { root })
    }

    /// Records the state `base` with `paths` as they are in the directory `source`, such as the copy of a lane.
    ///
    /// # Errors
    /// The state or a file cannot be read or stored.
    pub fn capture_with(
        &self,
        base: StateId,
        source: &Path,
        paths: &[PathBuf],
    ) -> Result<StateId, CheckpointError> {
        let _lock = self.share()?;
        let mut state = State::load(&self.objects, base)?;
        for path in paths.iter().filter(|path| is_adopted(source, path)) {
            match self.store_content(source, path)? {
                Some(content) => state.paths.insert(path.clone(), content),
                None => state.paths.remove(path),
            };
        }
        let id = state.store(&self.objects)?;
        self.objects.sync()?;
        Ok(id)
    }

    /// The changes that adopt `paths`, compared with the recorded `state`; `None` if a file has changed since `state`.
    fn steps_to_adopt(
        &self,
        source: &Path,
        paths: &[PathBuf],
        state: Option<&State>,
    ) -> Result<Option<Found>, CheckpointError> {
        let (mut steps, mut unrecorded) = (Vec::new(), Vec::new());
        for path in paths {
            if !is_adopted(source, path) {
                continue;
            }
            let from = self.store_content(&self.root(), path)?;
            let to = self.store_content(source, path)?;
            let recorded = state.and_then(|state| state.paths.get(path)).copied();
            match recorded {
                Some(Content::NotRecorded { .. }) | None if from.is_some() => {
                    unrecorded.push(path.clone());
                }
                recorded if state.is_some() && recorded != from => return Ok(None),
                _ => {}
            }
            if from != to {
                steps.push(Step {
                    path: path.clone(),
                    from,
                    to,
                    by_hand: false,
                    obstacle: None,
                });
            }
        }
        Ok(Some((steps, unrecorded)))
    }
}

/// Whether a path of a copy is adopted. A copy of the project has no repositories.
fn is_adopted(source: &Path, path: &Path) -> bool {
    let is_repository = path.file_name() == Some(OsStr::new(".git"));
    !is_repository && !source.join(path).symlink_metadata().is_ok_and(is_special)
}

/// Reading a pipe or a device would wait.
#[expect(clippy::needless_pass_by_value, reason = "for `is_ok_and`")]
fn is_special(metadata: Metadata) -> bool {
    !metadata.is_file() && !metadata.is_symlink() && !metadata.is_dir()
}

//! The history of restores: each one can be undone and made again.

use super::{Restoring, SessionFiles, parse};
use crate::emitter::Emitter;
use osier_checkpoint::{Checkpoint, CheckpointError, Moment, Plan, StateId};
use osier_protocol::{Entry, RestoreStep};

impl SessionFiles {
    /// Undoes a restore, or makes it again.
    pub(super) async fn step_restore(&self, step: RestoreStep, emitter: &Emitter) {
        let planning = self.clone();
        let how = Restoring {
            by_hand: false,
            is_expected: false,
            step: Some(step),
        };
        self.restore(emitter, how, move || planning.plan_step(step))
            .await;
    }

    /// The plan for a step in the history of restores: it covers only the files that the restore changed. `None` at the end
    /// of the history.
    fn plan_step(&self, step: RestoreStep) -> Result<Option<Plan>, CheckpointError> {
        let (done, undone) = restores(self.session.index().checkpoints_after_start());
        let list = match step {
            RestoreStep::Undo => &done,
            RestoreStep::Redo => &undone,
        };
        let Some((found, checkpoint, from)) = list.last() else {
            return Ok(None);
        };
        let changed = self.files.paths_between(*from, checkpoint.state)?;
        let target = match step {
            RestoreStep::Undo => *from,
            RestoreStep::Redo => checkpoint.state,
        };
        let plan = self.plan_from(found, target)?;
        Ok(Some(plan.limited_to(&changed.into_iter().collect())))
    }
}

/// A restore, and the state before it.
type RecordedRestore = (Entry, Checkpoint, StateId);

/// The restores since the last turn that changed files: those that can be undone and those that were, the next one last.
fn restores(checkpoints: Vec<Entry>) -> (Vec<RecordedRestore>, Vec<RecordedRestore>) {
    let (mut done, mut undone) = (Vec::new(), Vec::new());
    for (entry, checkpoint) in checkpoints.into_iter().filter_map(parse) {
        match (checkpoint.moment, checkpoint.step, checkpoint.from) {
            (Moment::After, ..) => {
                done.clear();
                undone.clear();
            }
            (Moment::Restore, None, Some(from)) => {
                undone.clear();
                done.push((entry, checkpoint, from));
            }
            (Moment::Restore, Some(RestoreStep::Undo), _) => undone.extend(done.pop()),
            (Moment::Restore, Some(RestoreStep::Redo), _) => done.extend(undone.pop()),
            (Moment::Before | Moment::Restore, ..) => {}
        }
    }
    (done, undone)
}

//! Checkpoints: comparing and restoring the files of a session, in the background.

mod review;
mod working_tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::emitter::Emitter;
use crate::setup::SessionSetup;
use osier_agent::{Agent, Interceptor, Severity};
use osier_checkpoint::{
    Checkpoint, CheckpointError, CheckpointStore, Checkpointer, Moment, Notify, Plan, Restored,
    StateId,
};
use osier_protocol::{
    CheckpointEvent, CheckpointOp, Comparison, DiffRange, Entry, Event, FileChanges, FileDiff,
    FilesAt, Tag,
};
use osier_store::{EntryIndex, SessionStore};
pub(crate) use working_tree::compare_with_head;

/// The files of one open session.
#[derive(Debug, Clone)]
pub(crate) struct SessionFiles {
    files: CheckpointStore,
    session: SessionStore,
    checkpointer: Arc<Checkpointer>,
}

/// Files that were changed for the user, with the state before and after.
struct RestoredFiles {
    restored: Restored,
    checkpoint: Checkpoint,
}

impl RestoredFiles {
    fn new(restored: Restored, before: StateId, now: StateId) -> Self {
        let checkpoint = Checkpoint {
            state: now,
            moment: Moment::Restore,
            by_hand: Vec::new(),
            from: Some(before),
        };
        Self {
            restored,
            checkpoint,
        }
    }
}

/// Why a request about files is not handled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error("cannot restore files while the agent works: press esc to stop it first")]
    Busy,
    #[error("this session records no files")]
    NotRecorded,
}

/// Handles a request about the files of a session.
pub(crate) fn apply(
    op: CheckpointOp,
    files: Option<&SessionFiles>,
    agent: &Agent,
    emitter: &Emitter,
) -> Result<(), FilesError> {
    let changes = match &op {
        CheckpointOp::RestoreFiles { .. } | CheckpointOp::UndoRestore => true,
        CheckpointOp::Review { pieces, .. } => pieces.iter().any(|piece| piece.rejected),
        CheckpointOp::PreviewFiles { .. } | CheckpointOp::ReadFileDiffs { .. } => false,
    };
    if changes && agent.state().is_streaming {
        return Err(FilesError::Busy);
    }
    let files = files.cloned().ok_or(FilesError::NotRecorded)?;
    osier_base::task::spawn(files.serve(op, agent.clone(), emitter.clone()));
    Ok(())
}

impl SessionFiles {
    /// `emitter` publishes problems while the agent works.
    pub(crate) fn new(setup: &SessionSetup, session: &SessionStore, emitter: Emitter) -> Self {
        let files = CheckpointStore::new(&setup.folders.data, &setup.cwd);
        let notify: Notify = Arc::new(move |text| emitter.notice(Severity::Warning, text));
        let checkpointer = Checkpointer::new(files.clone(), session.clone(), notify);
        Self {
            files,
            session: session.clone(),
            checkpointer: Arc::new(checkpointer),
        }
    }

    /// Records the files while the agent works.
    pub(crate) fn interceptor(&self) -> Arc<dyn Interceptor> {
        Arc::clone(&self.checkpointer) as Arc<dyn Interceptor>
    }

    /// Handles one request. `emitter` is held until the outcome is published.
    async fn serve(self, op: CheckpointOp, agent: Agent, emitter: Emitter) {
        // An error of the file was published when the session was opened.
        let _ = self.session.findings().await;
        match op {
            CheckpointOp::PreviewFiles { request, at } => {
                let looking = self.clone();
                self.blocking(&emitter, move || {
                    let plan = looking.plan(&at)?;
                    Ok(CheckpointEvent::FilesPreview {
                        request,
                        at,
                        known: plan.is_some(),
                        changes: plan.map(|plan| plan.changes()).unwrap_or_default(),
                    })
                })
                .await;
            }
            CheckpointOp::RestoreFiles { at, by_hand } => {
                let planning = self.clone();
                self.restore(&emitter, by_hand, move || planning.plan(&at))
                    .await;
            }
            CheckpointOp::UndoRestore => {
                let planning = self.clone();
                self.restore(&emitter, false, move || planning.plan_back())
                    .await;
            }
            CheckpointOp::Review { pieces, tell } => {
                self.review(&emitter, pieces, tell, &agent).await;
            }
            CheckpointOp::ReadFileDiffs { request, range } => {
                let looking = self.clone();
                self.blocking(&emitter, move || {
                    let files = looking.diffs(&range)?;
                    Ok(CheckpointEvent::FileDiffs {
                        request,
                        range,
                        known: files.is_some(),
                        files: files.unwrap_or_default(),
                    })
                })
                .await;
            }
        }
    }

    /// Publishes the outcome of `work`.
    async fn blocking(
        &self,
        emitter: &Emitter,
        work: impl FnOnce() -> Result<CheckpointEvent, CheckpointError> + Send + 'static,
    ) {
        match osier_base::task::spawn_blocking(work).await {
            Ok(Ok(event)) => emitter.publish(Event::Checkpoint(event)),
            Ok(Err(error)) => emitter.post_notice(Severity::Warning, error.to_string()),
            Err(error) => emitter.post_notice(Severity::Warning, error.to_string()),
        }
    }

    /// Carries out `plan` and records it in the session.
    async fn restore(
        &self,
        emitter: &Emitter,
        by_hand: bool,
        plan: impl FnOnce() -> Result<Option<Plan>, CheckpointError> + Send + 'static,
    ) {
        let files = self.files.clone();
        let work = move || -> Result<Option<RestoredFiles>, CheckpointError> {
            let Some(plan) = plan()? else {
                return Ok(None);
            };
            let restored = files.restore(&plan, by_hand);
            let now = files.capture()?.id;
            Ok(Some(RestoredFiles::new(restored, plan.present, now)))
        };
        let done = match osier_base::task::spawn_blocking(work).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Err(text) => emitter.post_notice(Severity::Warning, text),
            Ok(None) => {
                let text = "no earlier state of the files is recorded";
                emitter.post_notice(Severity::Warning, text);
            }
            Ok(Some(changed)) => {
                self.changed(emitter, changed).await;
            }
        }
    }

    /// Records in the session that files were changed for the user, and publishes it.
    async fn changed(&self, emitter: &Emitter, changed: RestoredFiles) {
        let RestoredFiles {
            restored,
            checkpoint,
        } = changed;
        self.checkpointer.moved(checkpoint.state);
        // It belongs to the directory, not to a branch: the current entry does not change, so that redo still works.
        if Some(checkpoint.state) != checkpoint.from
            && let Err(error) = self
                .session
                .append_on_branch(None, checkpoint.entry())
                .await
        {
            let text = format!("files were restored, but not recorded in the session: {error}");
            emitter.post_notice(Severity::Warning, text);
        }
        let Restored { changes, left } = restored;
        let event = CheckpointEvent::FilesRestored { changes, left };
        emitter.publish(Event::Checkpoint(event));
    }

    /// What restoring an earlier state would change; `None` when none is recorded.
    fn plan(&self, at: &FilesAt) -> Result<Option<Plan>, CheckpointError> {
        let index = self.session.index();
        let entry = match at {
            FilesAt::Here => index.leaf(),
            FilesAt::Start => None,
            FilesAt::LastPrompt => index.read(|tree| tree.last_of(Tag::User)),
            FilesAt::Entry { entry_id } => Some(entry_id.clone()),
        };
        let found = index.checkpoint_at(entry.as_deref());
        let Some((found, checkpoint)) = found.and_then(parse) else {
            return Ok(None);
        };
        let since = index.checkpoints_after(&found.id);
        let since = since.into_iter().filter_map(parse);
        let by_hand: BTreeSet<PathBuf> = since
            .flat_map(|(_, checkpoint)| checkpoint.by_hand)
            .collect();
        let known = last(index);
        let plan = self.files.plan(checkpoint.state, known, &by_hand)?;
        Ok(Some(plan))
    }

    /// What undoing the last restore would change.
    fn plan_back(&self) -> Result<Option<Plan>, CheckpointError> {
        let index = self.session.index();
        let restored = index.last_checkpoint().and_then(parse);
        let from = restored.and_then(|(_, checkpoint)| {
            let is_restore = checkpoint.moment == Moment::Restore;
            checkpoint.from.filter(|_| is_restore)
        });
        let Some(from) = from else { return Ok(None) };
        let plan = self.files.plan(from, last(index), &BTreeSet::new())?;
        Ok(Some(plan))
    }

    /// Restores the files of `root`, a copy of the working directory, to the state before the last prompt.
    /// Changes by hand since then stay. Blocks.
    ///
    /// # Errors
    /// The recorded state or the copy cannot be read.
    pub(crate) fn restore_copy(&self, root: &Path) -> Result<(), CheckpointError> {
        let copy = Self {
            files: self.files.elsewhere(root),
            ..self.clone()
        };
        let plan = copy.plan(&FilesAt::LastPrompt);
        copy.files.delete_cache();
        if let Some(plan) = plan? {
            copy.files.restore(&plan, false);
        }
        Ok(())
    }

    /// Adds the files that commands changed on each branch, from recorded states. Blocks.
    pub(crate) fn complete(&self, comparison: &mut Comparison) {
        let index = self.session.index();
        let recorded = |entry: Option<&str>| index.checkpoint_at(entry).and_then(parse);
        let shared = recorded(comparison.ancestor.as_deref()).map(|(entry, _)| entry.id);
        for facts in [&mut comparison.left, &mut comparison.right] {
            let Some(begin) = facts.prompt_id.as_deref().map(Some).and_then(recorded) else {
                continue;
            };
            let end = facts.leaf.as_deref().map(Some).and_then(recorded);
            let end = end.filter(|(entry, _)| Some(&entry.id) != shared.as_ref());
            let Some((_, end)) = end else { continue };
            if let Ok(diffs) = self.files.diffs(begin.1.state, end.state) {
                let files = diffs.into_iter();
                let files = files.map(|(change, diff)| (change.path, FileChanges::new(&diff)));
                facts.files = files.collect();
            }
        }
    }

    /// How files changed over a part of the session; `None` when that is not recorded.
    fn diffs(&self, range: &DiffRange) -> Result<Option<Vec<FileDiff>>, CheckpointError> {
        let index = self.session.index();
        let state = |entry: Option<&str>| {
            let found = index.checkpoint_at(entry).and_then(parse);
            found.map(|(_, checkpoint)| checkpoint.state)
        };
        let now = || self.files.capture().map(|captured| Some(captured.id));
        let (old, new) = match range {
            DiffRange::Session => (state(None), now()?),
            DiffRange::LastPrompt => match index.read(|tree| tree.last_of(Tag::User)) {
                Some(prompt) => (state(Some(&prompt)), now()?),
                None => (None, None),
            },
            DiffRange::Turn { entry_id } => match index.turn(entry_id) {
                Some(turn) => (state(Some(&turn.prompt)), state(Some(&turn.end))),
                None => (None, None),
            },
            // Handled by `compare_with_head`.
            DiffRange::Head => (None, None),
            DiffRange::Between { from, to } => {
                let new = match to {
                    Some(to) => state(Some(to)),
                    None => now()?,
                };
                (state(from.as_deref()), new)
            }
        };
        let (Some(old), Some(new)) = (old, new) else {
            return Ok(None);
        };
        let diffs = self.files.diffs(old, new)?.into_iter();
        let files = diffs.map(|(change, diff)| FileDiff {
            change,
            from: None,
            diff,
        });
        Ok(Some(files.collect()))
    }
}

fn parse(entry: Entry) -> Option<(Entry, Checkpoint)> {
    let checkpoint = Checkpoint::of(&entry.kind)?;
    Some((entry, checkpoint))
}

/// The state recorded last.
fn last(index: &EntryIndex) -> Option<StateId> {
    let (_, checkpoint) = index.last_checkpoint().and_then(parse)?;
    Some(checkpoint.state)
}

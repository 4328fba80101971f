//! Bringing files back, beside the host's task: a thread that may block looks and writes, and says what
//! it did.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::asked::Jobs;
use super::checkpoint_op::{CheckpointEvent, CheckpointOp, DiffRange, FileDiff, FilesAt};
use super::event::Event;
use super::host::{Job, Task};
use super::op::NO_SESSION;
use super::setup::HostSetup;
use osier_agent::{Agent, Interceptor, Publisher, Severity};
use osier_checkpoint::{
    Checkpoint, CheckpointError, CheckpointStore, Checkpointer, Moment, Notify, Plan, Restored,
    StateId,
};
use osier_store::{Comparison, Entry, FileChanges, SessionIndex, SessionStore, Tag};

/// The files of one open session.
#[derive(Debug, Clone)]
pub(super) struct SessionFiles {
    pub(super) files: CheckpointStore,
    session: SessionStore,
    checkpointer: Arc<Checkpointer>,
    publisher: Arc<Publisher<Event>>,
}

/// Files that were changed on the person's behalf, and how they stood before and after.
pub(super) struct Changed {
    pub(super) restored: Restored,
    checkpoint: Checkpoint,
}

impl Changed {
    pub(super) fn new(restored: Restored, before: StateId, now: StateId) -> Self {
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

impl Task {
    /// Does what is asked about files.
    pub(super) fn apply_checkpoint(&self, op: CheckpointOp) {
        if let CheckpointOp::ReadFileDiffs {
            request,
            range: DiffRange::Head,
        } = op
        {
            return self.compare_with_head(request);
        }
        let Some(session) = &self.session else {
            return self.notice(Severity::Error, NO_SESSION);
        };
        let changes = match &op {
            CheckpointOp::RestoreFiles { .. } | CheckpointOp::UndoRestore => true,
            CheckpointOp::Review { pieces, .. } => pieces.iter().any(|piece| piece.rejected),
            CheckpointOp::PreviewFiles { .. } | CheckpointOp::ReadFileDiffs { .. } => false,
        };
        if changes && session.agent.state().is_streaming {
            let text = "files are not brought back while the model works: stop it with esc first";
            return self.notice(Severity::Warning, text);
        }
        let Some(files) = session.files.clone() else {
            let text = "this session keeps no record of files";
            return self.notice(Severity::Warning, text);
        };
        tokio::spawn(files.serve(op, session.agent.clone(), self.jobs.clone()));
    }
}

impl SessionFiles {
    pub(super) fn new(
        setup: &HostSetup,
        session: &SessionStore,
        publisher: &Arc<Publisher<Event>>,
    ) -> Self {
        let files = CheckpointStore::new(&setup.folders.data, &setup.cwd);
        let told = Arc::clone(publisher);
        let notify: Notify = Arc::new(move |text| {
            told.publish(warning(text));
        });
        let checkpointer = Checkpointer::new(files.clone(), session.clone(), notify);
        Self {
            files,
            session: session.clone(),
            checkpointer: Arc::new(checkpointer),
            publisher: Arc::clone(publisher),
        }
    }

    /// What records the files while the agent works.
    pub(super) fn interceptor(&self) -> Arc<dyn Interceptor> {
        Arc::clone(&self.checkpointer) as Arc<dyn Interceptor>
    }

    /// Does it and tells, keeping `jobs` until then.
    async fn serve(self, op: CheckpointOp, agent: Agent, jobs: Jobs) {
        // An unreadable file has told so when it was opened.
        let _ = self.session.findings().await;
        match op {
            CheckpointOp::PreviewFiles { request, at } => {
                let looking = self.clone();
                self.blocking(&jobs, move || {
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
                self.restore(&jobs, by_hand, move || planning.plan(&at))
                    .await;
            }
            CheckpointOp::UndoRestore => {
                let planning = self.clone();
                self.restore(&jobs, false, move || planning.plan_back())
                    .await;
            }
            CheckpointOp::Review { pieces, tell } => {
                self.review(&jobs, (pieces, tell), &agent).await;
            }
            CheckpointOp::ReadFileDiffs { request, range } => {
                let looking = self.clone();
                self.blocking(&jobs, move || {
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

    /// Publishes what `work` finds out, or why it cannot.
    async fn blocking(
        &self,
        jobs: &Jobs,
        work: impl FnOnce() -> Result<CheckpointEvent, CheckpointError> + Send + 'static,
    ) {
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(event)) => self.publisher.publish(Event::Checkpoint(event)),
            Ok(Err(error)) => tell(jobs, error.to_string()),
            Err(error) => tell(jobs, error.to_string()),
        }
    }

    /// Carries out what `plan` says, and remembers it in the session.
    async fn restore(
        &self,
        jobs: &Jobs,
        by_hand: bool,
        plan: impl FnOnce() -> Result<Option<Plan>, CheckpointError> + Send + 'static,
    ) {
        let files = self.files.clone();
        let work = move || -> Result<Option<Changed>, CheckpointError> {
            let Some(plan) = plan()? else {
                return Ok(None);
            };
            let restored = files.restore(&plan, by_hand);
            let now = files.capture()?.id;
            Ok(Some(Changed::new(restored, plan.present, now)))
        };
        let done = match tokio::task::spawn_blocking(work).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match done {
            Err(text) => tell(jobs, text),
            Ok(None) => tell(jobs, "no earlier state of the files is known".to_owned()),
            Ok(Some(changed)) => {
                self.changed(jobs, changed).await;
            }
        }
    }

    /// Remembers in the session that files were changed on the person's behalf, and says so.
    pub(super) async fn changed(&self, jobs: &Jobs, changed: Changed) {
        let Changed {
            restored,
            checkpoint,
        } = changed;
        self.checkpointer.moved(checkpoint.state);
        // A fact of the directory, not of a branch: the leaf stays, and what can be redone with it.
        if Some(checkpoint.state) != checkpoint.from
            && let Err(error) = self.session.append_beside(None, checkpoint.entry()).await
        {
            let text = format!("files were brought back, and not noted: {error}");
            tell(jobs, text);
        }
        let Restored { changes, left } = restored;
        let event = CheckpointEvent::FilesRestored { changes, left };
        self.publisher.publish(Event::Checkpoint(event));
    }

    /// What going to a place would do; `None` when nothing is known of it.
    fn plan(&self, at: &FilesAt) -> Result<Option<Plan>, CheckpointError> {
        let index = self.session.index();
        let entry = match at {
            FilesAt::Here => index.leaf(),
            FilesAt::Start => None,
            FilesAt::LastPrompt => index.look(|tree| tree.last_of(Tag::User)),
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

    /// What taking the last move of files back would do.
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

    /// Brings the files of `root`, a copy of the working directory, to how they were before the last
    /// prompt. What was changed by hand since stays. Blocks.
    ///
    /// # Errors
    /// What was recorded cannot be read, or the copy not looked at.
    pub(super) fn bring_copy_back(&self, root: &Path) -> Result<(), CheckpointError> {
        let copy = Self {
            files: self.files.elsewhere(root),
            ..self.clone()
        };
        let plan = copy.plan(&FilesAt::LastPrompt);
        copy.files.forget_seen();
        if let Some(plan) = plan? {
            copy.files.restore(&plan, false);
        }
        Ok(())
    }

    /// Tells what became of the files on a branch, whoever changed them: a command leaves no diff.
    /// Nothing changes when no state was recorded on it. Blocks.
    pub(super) fn complete(&self, comparison: &mut Comparison) {
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

    /// How files changed over a part of the session; `None` when that is not known.
    fn diffs(&self, range: &DiffRange) -> Result<Option<Vec<FileDiff>>, CheckpointError> {
        let index = self.session.index();
        let state = |entry: Option<&str>| {
            let found = index.checkpoint_at(entry).and_then(parse);
            found.map(|(_, checkpoint)| checkpoint.state)
        };
        let now = || self.files.capture().map(|captured| Some(captured.id));
        let (old, new) = match range {
            DiffRange::Session => (state(None), now()?),
            DiffRange::LastPrompt => match index.look(|tree| tree.last_of(Tag::User)) {
                Some(prompt) => (state(Some(&prompt)), now()?),
                None => (None, None),
            },
            DiffRange::Turn { entry_id } => match index.turn(entry_id) {
                Some((prompt, end)) => (state(Some(&prompt)), state(Some(&end))),
                None => (None, None),
            },
            // Git knows it.
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

fn warning(text: String) -> Event {
    Event::HostNotice {
        severity: Severity::Warning,
        text,
        request: None,
    }
}

/// Says why something was not done, to whoever asked for it.
pub(super) fn tell(jobs: &Jobs, text: String) {
    // The host may have ended.
    let _ = jobs.send(Job::Publish(Box::new(warning(text))));
}

fn parse(entry: Entry) -> Option<(Entry, Checkpoint)> {
    let checkpoint = Checkpoint::of(&entry.kind)?;
    Some((entry, checkpoint))
}

/// The state recorded last.
fn last(index: &SessionIndex) -> Option<StateId> {
    let (_, checkpoint) = index.last_checkpoint().and_then(parse)?;
    Some(checkpoint.state)
}

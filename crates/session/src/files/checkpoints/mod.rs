//! Checkpoints: comparing and restoring the files of a session, in the background.

mod history;
mod interrupted;
mod lanes;
mod pruning;
mod review;
mod working_tree;

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::cx::Cx;
use crate::emitter::Emitter;
use crate::setup::SessionSetup;
pub(crate) use interrupted::finish_interrupted;
use osier_agent::{Agent, Interceptor, Severity};
use osier_checkpoint::{
    Applied, Checkpoint, CheckpointError, CheckpointStore, Checkpointer, LineCounts, LockWait,
    Moment, Notify, Plan, Restored, StateId, fault,
};
use osier_protocol::{
    ChangedLines, CheckpointEvent, CheckpointOp, Comparison, DiffRange, Entry, Event, FileChanges,
    FileDiff, FilesAt, RestoreStep, Tag, Unrestored,
};
use osier_store::{EntryIndex, SessionStore};
use osier_tools::Workspace;
pub(crate) use pruning::Pruning;
pub use pruning::prune_options;
use working_tree::compare_with_head;

/// The files of one open session.
#[derive(Debug, Clone)]
pub(crate) struct SessionFiles {
    files: CheckpointStore,
    session: SessionStore,
    checkpointer: Arc<Checkpointer>,
    /// Knows which files the model knows.
    workspace: Arc<Workspace>,
    line_counts: Arc<Mutex<LineCounts>>,
}

/// The answer to requests about files in a session without checkpoints.
pub(crate) const NO_FILES: &str = "this session records no files";

/// Files whose changed lines are counted.
const COUNTED_FILES: usize = 1_000;

/// How a change is recorded: the entries below which the states before and after it are, where `None` means before every
/// root, and whether it is a step in the history of restores.
#[derive(Debug, Clone, Default)]
struct Recording {
    before: Option<String>,
    after: Option<String>,
    step: Option<RestoreStep>,
}

/// How files are restored.
#[derive(Debug, Clone, Copy)]
struct Restoring {
    /// Also files that were changed by hand.
    by_hand: bool,
    /// The model needs no notice.
    is_expected: bool,
    step: Option<RestoreStep>,
}

/// Runs work that blocks.
async fn background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CheckpointError> + Send + 'static,
) -> Result<T, String> {
    match osier_base::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Handles a request about the files of a session. `files` is not set if it records none.
pub(crate) fn handle(op: CheckpointOp, files: Option<&SessionFiles>, cx: Cx<'_>) {
    let emitter = cx.emitter;
    if let CheckpointOp::ReadFileDiffs {
        request,
        range: DiffRange::Head,
    } = op
    {
        return compare_with_head(request, &cx.setup.cwd, emitter);
    }
    let Some(session) = cx.needs_session() else {
        return;
    };
    let changes = match &op {
        CheckpointOp::RestoreFiles { .. }
        | CheckpointOp::UndoRestore
        | CheckpointOp::RedoRestore => true,
        CheckpointOp::Review { pieces, .. } => pieces.iter().any(|piece| piece.rejected),
        CheckpointOp::PreviewFiles { .. }
        | CheckpointOp::ReadFileDiffs { .. }
        | CheckpointOp::CountChangedLines { .. } => false,
    };
    if changes && session.agent.state().is_streaming {
        let text = "cannot restore files while the agent works: press esc to stop it first";
        return emitter.notice(Severity::Warning, text);
    }
    match (files, op) {
        (Some(files), op) => {
            let serving = files
                .clone()
                .serve(op, session.agent.clone(), emitter.clone());
            osier_base::task::spawn(serving);
        }
        (None, CheckpointOp::CountChangedLines { request, .. }) => {
            emitter.publish(changed_lines(request, None));
        }
        (None, _) => emitter.notice(Severity::Warning, NO_FILES),
    }
}

impl SessionFiles {
    /// `emitter` publishes problems while the agent works.
    pub(crate) fn new(
        setup: &SessionSetup,
        session: &SessionStore,
        workspace: &Arc<Workspace>,
        emitter: Emitter,
    ) -> Self {
        let files = CheckpointStore::new(&setup.folders.data, &setup.cwd);
        let notify: Notify = Arc::new(move |text| emitter.notice(Severity::Warning, text));
        let wait = LockWait {
            notify: Some(Arc::clone(&notify)),
            cancel: None,
        };
        let files = files.waiting(wait);
        let checkpointer = Checkpointer::new(files.clone(), session.clone(), notify);
        Self {
            files,
            session: session.clone(),
            checkpointer: Arc::new(checkpointer),
            workspace: Arc::clone(workspace),
            line_counts: Arc::default(),
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
                // The conversation is already where these files belong, or was before an undo.
                let position = self.session.index().position();
                let is_expected = match &at {
                    FilesAt::Here
                    | FilesAt::Undone { .. }
                    | FilesAt::Redone
                    | FilesAt::Returned => true,
                    FilesAt::Entry { entry_id } => position.as_ref() == Some(entry_id),
                    FilesAt::Start | FilesAt::LastPrompt => false,
                };
                let how = Restoring {
                    by_hand,
                    is_expected,
                    step: None,
                };
                self.restore(&emitter, how, move || planning.plan(&at))
                    .await;
            }
            CheckpointOp::UndoRestore => self.step_restore(RestoreStep::Undo, &emitter).await,
            CheckpointOp::RedoRestore => self.step_restore(RestoreStep::Redo, &emitter).await,
            CheckpointOp::Review { pieces, tell } => {
                self.review(&emitter, pieces, tell, &agent).await;
            }
            CheckpointOp::CountChangedLines { request, range } => {
                let looking = self.clone();
                // Clients ask often, so errors are not published here: problems with files are
                // reported when the files are recorded.
                let counted = background(move || looking.changed_lines(&range)).await;
                emitter.publish(changed_lines(request, counted.ok().flatten()));
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
        match background(work).await {
            Ok(event) => emitter.publish(Event::Checkpoint(event)),
            Err(error) => emitter.post_notice(Severity::Warning, error),
        }
    }

    /// Carries out `plan`, records it in the session and publishes it.
    async fn restore(
        &self,
        emitter: &Emitter,
        how: Restoring,
        plan: impl FnOnce() -> Result<Option<Plan>, CheckpointError> + Send + 'static,
    ) {
        finish_interrupted(&self.files, Some(self), emitter).await;
        let restored = match background(plan).await {
            Ok(Some(plan)) => {
                let recording = Recording {
                    step: how.step,
                    ..Recording::default()
                };
                self.carry_out(plan, how.by_hand, recording).await
            }
            Ok(None) => Err(match how.step {
                None => "no earlier state of the files is recorded",
                Some(RestoreStep::Undo) => {
                    "no restore to undo since the last turn that changed files"
                }
                Some(RestoreStep::Redo) => "no undone restore to redo",
            }
            .to_owned()),
            Err(error) => Err(error),
        };
        match restored {
            Ok(restored) => {
                self.restored(&restored, how.is_expected).await;
                let Restored { changes, left } = restored;
                let event = CheckpointEvent::FilesRestored {
                    changes,
                    left,
                    step: how.step,
                };
                emitter.publish(Event::Checkpoint(event));
            }
            Err(error) => emitter.post_notice(Severity::Warning, error),
        }
    }

    /// Records that osier changed these files, or they would be reported as changed by another program.
    async fn restored(&self, restored: &Restored, is_expected: bool) {
        let changes = restored.changes.iter();
        let paths: Vec<String> = changes.map(|change| change.path.clone()).collect();
        let workspace = Arc::clone(&self.workspace);
        let recorded = osier_base::task::spawn_blocking(move || {
            workspace.files_restored(&paths, is_expected);
        });
        // This fails only when the process ends.
        let _ = recorded.await;
    }

    /// Records the present files, carries out `plan` and records the result. The entries belong to the directory, not
    /// to a branch: the current entry does not change, so that redo still works.
    async fn carry_out(
        &self,
        plan: Plan,
        by_hand: bool,
        recording: Recording,
    ) -> Result<Restored, String> {
        let applied = self.apply(plan, by_hand, &recording).await?;
        self.record(applied, &recording).await
    }

    /// Records the present files and carries out `plan`.
    async fn apply(
        &self,
        plan: Plan,
        by_hand: bool,
        recording: &Recording,
    ) -> Result<(Applied, Option<StateId>), String> {
        let before = plan.before();
        if let Some(before) = before {
            self.record_before(before, recording.before.as_deref())
                .await?;
        }
        let (files, session) = (self.files.clone(), self.session.clone());
        let applied = background(move || files.apply(&plan, by_hand, session.path())).await?;
        Ok((applied, before))
    }

    /// Adopts the files of a lane, all of them or none. The old files are recorded below the prompt of the lane and the
    /// new files below its last entry `tip`, so that `/undo files` finds both.
    pub(crate) async fn adopt(&self, plan: Plan, tip: Option<String>) -> Result<(), String> {
        let turn = tip.as_ref().and_then(|tip| self.session.index().turn(tip));
        let recording = Recording {
            before: turn.map(|turn| turn.prompt),
            after: tip,
            step: None,
        };
        let (applied, before) = self.apply(plan, true, &recording).await?;
        let applied = all_or_nothing(applied).await?;
        let restored = self.record((applied, before), &recording).await?;
        self.restored(&restored, true).await;
        Ok(())
    }

    /// Records the files `before` a change, unless the session named this state last, and marks the changes of other
    /// programs.
    async fn record_before(&self, before: StateId, parent: Option<&str>) -> Result<(), String> {
        let latest = last(self.session.index());
        if parent.is_none() && latest == Some(before) {
            return Ok(());
        }
        let files = self.files.clone();
        let checkpoint =
            osier_base::task::spawn_blocking(move || Checkpoint::before(&files, before, latest));
        let checkpoint = checkpoint.await.map_err(|error| error.to_string())?;
        let appended = self.append(parent, &checkpoint).await;
        appended.map_err(|error| format!("the present files were not recorded: {error}"))?;
        fault::point();
        Ok(())
    }

    /// Records in the session that files were changed for the user.
    async fn record(
        &self,
        (applied, before): (Applied, Option<StateId>),
        recording: &Recording,
    ) -> Result<Restored, String> {
        if before.is_some() {
            let files = self.files.clone();
            let state = background(move || files.capture()).await?.id;
            self.checkpointer.moved(state);
            let checkpoint = Checkpoint {
                state,
                moment: Moment::Restore,
                by_hand: Vec::new(),
                since: None,
                from: before,
                step: recording.step,
            };
            // A step that changes nothing is one, too: the next one goes further.
            if Some(state) != before || recording.step.is_some() {
                let appended = self.append(recording.after.as_deref(), &checkpoint).await;
                appended.map_err(|error| {
                    format!("files were restored, but not recorded in the session: {error}")
                })?;
            }
        }
        fault::point();
        let done = osier_base::task::spawn_blocking(move || applied.finish());
        done.await.map_err(|error| error.to_string())
    }

    /// Stores a checkpoint, so that it survives a power failure.
    async fn append(&self, parent: Option<&str>, checkpoint: &Checkpoint) -> Result<(), String> {
        let entry = checkpoint.entry();
        let stored = self.session.append_on_branch(parent, entry).await;
        stored.map_err(|error| error.to_string())?;
        self.session.sync().await.map_err(|error| error.to_string())
    }

    /// Whether the files `at` a point are recorded.
    ///
    /// # Errors
    /// The recorded state cannot be restored, for example because old checkpoints were removed.
    pub(crate) async fn can_restore(&self, at: FilesAt) -> Result<bool, String> {
        let planning = self.clone();
        let plan = background(move || planning.plan(&at)).await?;
        Ok(plan.is_some())
    }

    /// Fails if what the undo that `redo` reverts restored cannot be redone.
    pub(crate) async fn can_redo(&self) -> Result<(), String> {
        let planning = self.clone();
        let plan =
            move || planning.plan_redo(planning.session.index().checkpoints_after_undo(false));
        background(plan).await.map(drop)
    }

    /// The plan for restoring an earlier state; `None` when no state is recorded.
    fn plan(&self, at: &FilesAt) -> Result<Option<Plan>, CheckpointError> {
        let index = self.session.index();
        let entry = match at {
            FilesAt::Here => index.position(),
            FilesAt::Start => None,
            FilesAt::LastPrompt => return self.plan_undo(last_turn(index)),
            FilesAt::Undone { entry_id } => {
                let current = index.leaf();
                let turns = index.checkpoints_between(current.as_deref(), entry_id);
                return self.plan_undo(turns);
            }
            FilesAt::Redone => return self.plan_redo(index.checkpoints_after_undo(true)),
            FilesAt::Returned => match self.plan_return()? {
                Some(plan) => return Ok(Some(plan)),
                None => index.position(),
            },
            FilesAt::Entry { entry_id } => Some(entry_id.clone()),
        };
        match index.checkpoint_at(entry.as_deref()).and_then(parse) {
            Some(found) => self.plan_to(&found).map(Some),
            None => Ok(None),
        }
    }

    /// The plan for restoring a recorded state.
    fn plan_to(&self, (found, checkpoint): &(Entry, Checkpoint)) -> Result<Plan, CheckpointError> {
        self.plan_from(found, checkpoint.state)
    }

    /// The plan for restoring `state`. What other programs changed after the checkpoint `found` was changed by hand.
    fn plan_from(&self, found: &Entry, state: StateId) -> Result<Plan, CheckpointError> {
        let index = self.session.index();
        let since = index.checkpoints_after(&found.id);
        let mut by_hand = BTreeSet::new();
        for (_, checkpoint) in since.into_iter().filter_map(parse) {
            by_hand.extend(checkpoint.changed_by_hand(&self.files)?);
        }
        let known = last(index);
        self.files.plan(state, known, &by_hand)
    }

    /// The plan for undoing turns with these checkpoints: it covers only the files that the turns changed. `None` if
    /// they changed none.
    fn plan_undo(&self, turns: Vec<Entry>) -> Result<Option<Plan>, CheckpointError> {
        let turns = as_applied(turns);
        let mut changed = BTreeSet::new();
        for pair in turns.windows(2) {
            let ((_, before), (_, after)) = (&pair[0], &pair[1]);
            // Changes up to a state before a prompt are those of other programs.
            if after.moment != Moment::Before {
                changed.extend(self.files.paths_between(before.state, after.state)?);
            }
        }
        match turns.first() {
            Some(first) => Ok(Some(self.plan_to(first)?.limited_to(&changed))),
            None => Ok(None),
        }
    }

    /// The plan for redoing what the first restore of these checkpoints reverted: it covers only the files that it changed.
    /// The user may have changed them between the turn and its undo, in a review for example.
    fn plan_redo(&self, after_undo: Vec<Entry>) -> Result<Option<Plan>, CheckpointError> {
        let mut restores = after_undo.into_iter().filter_map(parse);
        let restore = restores.find(|(_, checkpoint)| checkpoint.moment == Moment::Restore);
        let Some((found, checkpoint)) = restore else {
            return Ok(None);
        };
        let Some(from) = checkpoint.from else {
            return Ok(None);
        };
        let changed = self.files.paths_between(from, checkpoint.state)?;
        let changed = changed.into_iter().collect();
        let plan = self.plan_from(&found, from)?;
        Ok(Some(plan.limited_to(&changed)))
    }

    /// The plan for the files when a move left the current position last: the first state that was recorded after that,
    /// or the present one if none was. `None` if no move left it.
    fn plan_return(&self) -> Result<Option<Plan>, CheckpointError> {
        let index = self.session.index();
        let (was_left, first) = index.checkpoint_after_leaving();
        match first.and_then(parse) {
            Some((found, checkpoint)) => {
                let state = checkpoint.from.unwrap_or(checkpoint.state);
                self.plan_from(&found, state).map(Some)
            }
            None if was_left => {
                let present = self.files.capture()?.id;
                let plan = self.files.plan(present, last(index), &BTreeSet::new())?;
                Ok(Some(plan))
            }
            None => Ok(None),
        }
    }

    /// Restores the files of `root`, a copy of the working directory, to a recorded state. Changes by hand since then stay,
    /// unless the state is that of an entry. Returns the files that were left alone; `None` without a recorded state.
    /// Blocks.
    ///
    /// # Errors
    /// The recorded state or the copy cannot be read.
    pub(crate) fn restore_copy(
        &self,
        root: &Path,
        at: &FilesAt,
    ) -> Result<Option<Vec<Unrestored>>, CheckpointError> {
        let copy = Self {
            files: self.files.elsewhere(root),
            ..self.clone()
        };
        let plan = copy.plan(at);
        copy.files.delete_cache();
        let by_hand = matches!(at, FilesAt::Entry { .. });
        match plan? {
            Some(plan) => Ok(Some(copy.files.restore_copy(&plan, by_hand)?.left)),
            None => Ok(None),
        }
    }

    /// Adds the files that commands changed on each branch, from recorded states. Blocks.
    pub(crate) fn complete(&self, comparison: &mut Comparison) {
        let ancestor = comparison.ancestor.clone();
        for facts in [&mut comparison.left, &mut comparison.right] {
            let Some(leaf) = &facts.leaf else { continue };
            let changed = self.own_changes(ancestor.as_deref(), leaf);
            if changed.is_empty() {
                continue;
            }
            facts.files = BTreeMap::new();
            for states in changed {
                self.add_changes(&mut facts.files, states);
            }
        }
    }

    /// Adds what changed between two states.
    fn add_changes(&self, files: &mut BTreeMap<String, FileChanges>, states: (StateId, StateId)) {
        // A state that cannot be read has no changes.
        let counted = LineCounts::default().between(&self.files, states, COUNTED_FILES);
        let mut counted: BTreeMap<String, (u64, u64)> = counted
            .map_or_else(|_| Vec::new(), |(lines, _)| lines)
            .into_iter()
            .map(|lines| (lines.path, (lines.added, lines.removed)))
            .collect();
        let diffs = self.files.diffs(states.0, states.1).unwrap_or_default();
        for (change, diff) in diffs {
            let mut changes = FileChanges::new(&diff);
            // Long diffs are cut, their lines are counted.
            if let Some(lines) = counted.remove(&change.path) {
                (changes.added, changes.removed) = lines;
            }
            let known = files.entry(change.path).or_default();
            known.added += changes.added;
            known.removed += changes.removed;
            known.diff.push_str(&changes.diff);
        }
    }

    /// The states before and after the changes that the turns after the entry `above` made
    /// themselves, on the branch of the entry `to`. Changes of other programs or other branches in
    /// between belong to none of these turns.
    fn own_changes(&self, above: Option<&str>, to: &str) -> Vec<(StateId, StateId)> {
        let turns = self.session.index().checkpoints_between(above, to);
        let mut spans: Vec<(StateId, StateId)> = Vec::new();
        for (_, checkpoint) in as_applied(turns) {
            match spans.last_mut() {
                Some(span) if checkpoint.moment != Moment::Before => span.1 = checkpoint.state,
                _ => spans.push((checkpoint.state, checkpoint.state)),
            }
        }
        spans.retain(|(old, new)| old != new);
        spans
    }

    /// The states before and after each change of a part of the session; `None` when they are not
    /// recorded.
    fn spans(&self, range: &DiffRange) -> Result<Option<Vec<(StateId, StateId)>>, CheckpointError> {
        let DiffRange::Turn { entry_id } = range else {
            let states = self.states(range)?;
            return Ok(states.map(|states| vec![states]));
        };
        let index = self.session.index();
        let is_recorded = index.last_checkpoint().is_some();
        let turn = index.turn(entry_id).filter(|_| is_recorded);
        Ok(turn.map(|turn| {
            let prompt = index.read(|tree| tree.get(&turn.prompt));
            let above = prompt.and_then(|prompt| prompt.parent_id);
            self.own_changes(above.as_deref(), &turn.end)
        }))
    }

    /// How many lines of each file changed over a part of the session; `None` when that is not recorded.
    fn changed_lines(
        &self,
        range: &DiffRange,
    ) -> Result<Option<(Vec<ChangedLines>, u64)>, CheckpointError> {
        let Some(spans) = self.spans(range)? else {
            return Ok(None);
        };
        // Clients ask often, and the counts of most files stay.
        let mut counts = self.line_counts.lock();
        let mut once = LineCounts::default();
        let (mut changed, mut more) = (Vec::<ChangedLines>::new(), 0);
        for states in spans {
            let counts = match range {
                DiffRange::Session => &mut *counts,
                _ => &mut once,
            };
            let (files, others) = counts.between(&self.files, states, COUNTED_FILES)?;
            more += others;
            for file in files {
                match changed.iter_mut().find(|known| known.path == file.path) {
                    Some(known) => {
                        known.added += file.added;
                        known.removed += file.removed;
                    }
                    None => changed.push(file),
                }
            }
        }
        Ok(Some((changed, more)))
    }

    /// The states at the ends of a part of the session; `None` when one is not recorded.
    fn states(&self, range: &DiffRange) -> Result<Option<(StateId, StateId)>, CheckpointError> {
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
            // Handled by `spans` and by `compare_with_head`.
            DiffRange::Turn { .. } | DiffRange::Head => (None, None),
            DiffRange::Between { from, to } => {
                let new = match to {
                    Some(to) => state(Some(to)),
                    None => now()?,
                };
                (state(from.as_deref()), new)
            }
        };
        Ok(old.zip(new))
    }

    /// How files changed over a part of the session; `None` when that is not recorded.
    fn diffs(&self, range: &DiffRange) -> Result<Option<Vec<FileDiff>>, CheckpointError> {
        let Some(spans) = self.spans(range)? else {
            return Ok(None);
        };
        let mut files = Vec::new();
        for (old, new) in spans {
            let diffs = self.files.diffs(old, new)?.into_iter();
            files.extend(diffs.map(|(change, diff)| FileDiff {
                change,
                from: None,
                diff,
            }));
        }
        Ok(Some(files))
    }
}

fn changed_lines(request: u64, counted: Option<(Vec<ChangedLines>, u64)>) -> Event {
    let known = counted.is_some();
    let (files, more) = counted.unwrap_or_default();
    Event::Checkpoint(CheckpointEvent::ChangedLines {
        request,
        known,
        files,
        more,
    })
}

fn parse(entry: Entry) -> Option<(Entry, Checkpoint)> {
    let checkpoint = Checkpoint::of(&entry.kind)?;
    Some((entry, checkpoint))
}

/// The checkpoints of turns. Of a lane that was applied, those of the directory replace those of its copy: both are below
/// the same entry.
fn as_applied(turns: Vec<Entry>) -> Vec<(Entry, Checkpoint)> {
    let mut kept: Vec<(Entry, Checkpoint)> = Vec::new();
    for (entry, checkpoint) in turns.into_iter().filter_map(parse) {
        let same = |(other, _): &(Entry, Checkpoint)| {
            other.parent_id.is_some() && other.parent_id == entry.parent_id
        };
        if checkpoint.moment == Moment::Before
            && let Some(place) = kept.iter().position(same)
        {
            kept.truncate(place);
        }
        kept.push((entry, checkpoint));
    }
    kept
}

/// The checkpoints of the last turn of the branch.
fn last_turn(index: &EntryIndex) -> Vec<Entry> {
    let prompt = index.read(|tree| tree.last_of(Tag::User));
    let prompt = prompt.and_then(|prompt| index.read(|tree| tree.get(&prompt)));
    let turn = prompt.zip(index.leaf());
    let found =
        turn.map(|(prompt, leaf)| index.checkpoints_between(prompt.parent_id.as_deref(), &leaf));
    found.unwrap_or_default()
}

/// The state recorded last.
fn last(index: &EntryIndex) -> Option<StateId> {
    let (_, checkpoint) = index.last_checkpoint().and_then(parse)?;
    Some(checkpoint.state)
}

/// Reverts the change if a file was left out.
async fn all_or_nothing(applied: Applied) -> Result<Applied, String> {
    let Some(left) = applied.restored.left.first() else {
        return Ok(applied);
    };
    let path = osier_base::text::single_line(&left.path);
    let reason = format!("no file was written: `{path}`: {}", left.reason);
    let undone = osier_base::task::spawn_blocking(move || applied.undo());
    let left = undone.await.map_err(|error| error.to_string())?.left;
    Err(match left.len() {
        0 => reason,
        count => format!(
            "{reason}; {} could not be undone",
            osier_base::text::counted(count, "file", "files")
        ),
    })
}

/// Adopts the files of a lane, all of them or none, in a session that records no files.
pub(crate) async fn adopt_unrecorded(store: &CheckpointStore, plan: Plan) -> Result<(), String> {
    let store = store.clone();
    let applied = background(move || store.apply(&plan, true, None)).await?;
    let applied = all_or_nothing(applied).await?;
    let done = osier_base::task::spawn_blocking(move || applied.finish());
    done.await.map(drop).map_err(|error| error.to_string())
}

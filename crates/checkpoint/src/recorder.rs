//! Records the files during a session: before the first tool of a prompt that can change them, and after
//! every round of tools that did.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::error::CheckpointError;
use super::lock_wait::{LockWait, Notify};
use super::state::StateId;
use super::store::CheckpointStore;
use osier_agent::{
    CheckedCall, Interceptor, RunOutcome, StopRun, ToolDecision, ToolResultMessage, UserMessage,
};
use osier_protocol::{EntryKind, RestoreStep};
use osier_store::SessionStore;
use osier_tools::ToolEffect;

/// Maximum number of externally changed paths in an entry; with more, the entry names the previous
/// state instead.
const MAX_BY_HAND: usize = 1_000;

/// Why a state was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Before a prompt's first change.
    Before,
    /// After a round of tools.
    After,
    /// After a restore; `from` is the state before it.
    Restore,
}

/// A recorded state in the session: the `data` of a `checkpoint` entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    pub state: StateId,
    pub moment: Moment,
    /// Paths that were changed outside of the agent since the previous state.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "super::path_names"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<PathBuf>"))]
    pub by_hand: Vec<PathBuf>,
    /// If the changed paths are too many to list: the previous state, from which this state differs by these paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<StateId>,
    /// With `Restore`: the state before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StateId>,
    /// With `Restore`: it undid an earlier restore, or made it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<RestoreStep>,
}

impl Checkpoint {
    pub fn entry(&self) -> EntryKind {
        let data = serde_json::to_value(self).unwrap_or_default();
        EntryKind::Checkpoint { data }
    }

    /// The `state` of the files before they are changed for the user. Other programs changed the
    /// files that differ from `latest`, the state recorded last. Blocks.
    pub fn before(files: &CheckpointStore, state: StateId, latest: Option<StateId>) -> Self {
        let by_hand = match latest {
            // An unreadable state is ignored.
            Some(latest) => files.paths_between(latest, state).unwrap_or_default(),
            None => Vec::new(),
        };
        let since = latest.filter(|_| by_hand.len() > MAX_BY_HAND);
        Self {
            state,
            moment: Moment::Before,
            by_hand: if since.is_some() { Vec::new() } else { by_hand },
            since,
            from: None,
            step: None,
        }
    }

    /// All paths that were changed outside of the agent since the previous state. Blocks.
    ///
    /// # Errors
    /// A state is not in the store.
    pub fn changed_by_hand(
        &self,
        files: &CheckpointStore,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        match self.since {
            Some(since) => files.paths_between(since, self.state),
            None => Ok(self.by_hand.clone()),
        }
    }

    /// The checkpoint an entry records, if it does.
    pub fn of(kind: &EntryKind) -> Option<Self> {
        match kind {
            EntryKind::Checkpoint { data } => serde_json::from_value(data.clone()).ok(),
            _ => None,
        }
    }
}

/// The interceptor of one session.
pub struct Checkpointer {
    files: CheckpointStore,
    session: SessionStore,
    notify: Notify,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The state of this prompt has been recorded.
    recorded: bool,
    /// A tool that can change files has run since the last state.
    dirty: bool,
    latest: Latest,
    /// An error was reported; there is no retry if it cannot succeed.
    reported: bool,
    off: bool,
    /// Cancelled with the run.
    run: Option<CancellationToken>,
}

/// The state recorded last in this session.
#[derive(Debug, Clone, Copy, Default)]
enum Latest {
    #[default]
    NotLookedUp,
    Known(Option<StateId>),
}

osier_base::opaque_debug!(Checkpointer);

impl Checkpointer {
    /// Records `files` in `session`.
    pub fn new(files: CheckpointStore, session: SessionStore, notify: Notify) -> Self {
        Self {
            files,
            session,
            notify,
            progress: Mutex::default(),
        }
    }

    fn progress<T>(&self, change: impl FnOnce(&mut Progress) -> T) -> T {
        change(&mut self.progress.lock())
    }

    /// The latest state; reads the session the first time.
    async fn latest(&self) -> Option<StateId> {
        if let Latest::Known(latest) = self.progress(|progress| progress.latest) {
            return latest;
        }
        // Unreadable entries are ignored.
        let _ = self.session.findings().await;
        let index = self.session.index().clone();
        let entry = osier_base::task::spawn_blocking(move || index.last_checkpoint()).await;
        let checkpoint = entry
            .ok()
            .flatten()
            .and_then(|entry| Checkpoint::of(&entry.kind));
        let latest = checkpoint.map(|checkpoint| checkpoint.state);
        self.progress(|progress| progress.latest = Latest::Known(latest));
        latest
    }

    /// Files were restored: the next state is compared with `state`.
    pub fn moved(&self, state: StateId) {
        self.progress(|progress| progress.latest = Latest::Known(Some(state)));
    }

    async fn record(&self, moment: Moment) {
        if self.progress(|progress| progress.off) {
            return;
        }
        let wait = LockWait {
            notify: Some(Arc::clone(&self.notify)),
            cancel: self.progress(|progress| progress.run.clone()),
        };
        let (files, latest) = (self.files.clone().waiting(wait), self.latest().await);
        let recorded =
            osier_base::task::spawn_blocking(move || record_state(&files, moment, latest)).await;
        let recorded = recorded.unwrap_or_else(|error| Err(std::io::Error::other(error).into()));
        match recorded {
            Ok((_, true)) => {}
            Ok((checkpoint, false)) => {
                self.progress(|progress| progress.latest = Latest::Known(Some(checkpoint.state)));
                // A session that cannot be written stops the run with its next message.
                let _ = self.session.append(checkpoint.entry()).await;
            }
            // The run was cancelled meanwhile: the next one records the files.
            Err(CheckpointError::Locked) => self.progress(|progress| {
                progress.recorded &= moment != Moment::Before;
                progress.dirty |= moment == Moment::After;
            }),
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &CheckpointError) {
        let first = self.progress(|progress| {
            progress.off |= !matches!(error, CheckpointError::Io(_));
            !std::mem::replace(&mut progress.reported, true)
        });
        if first {
            let text = format!("{error}; moving in the tree will not restore files");
            (self.notify)(text);
        }
    }
}

/// Records the state; returns whether the session already has it.
fn record_state(
    files: &CheckpointStore,
    moment: Moment,
    latest: Option<StateId>,
) -> Result<(Checkpoint, bool), CheckpointError> {
    let state = files.capture()?.id;
    let known = moment == Moment::After && latest == Some(state);
    let before = latest.filter(|_| moment == Moment::Before);
    let checkpoint = Checkpoint {
        moment,
        ..Checkpoint::before(files, state, before)
    };
    Ok((checkpoint, known))
}

#[async_trait]
impl Interceptor for Checkpointer {
    async fn on_input(&self, _message: &mut UserMessage) -> Result<(), StopRun> {
        self.progress(|progress| progress.recorded = false);
        Ok(())
    }

    async fn before_tool(&self, call: &CheckedCall, cancel: &CancellationToken) -> ToolDecision {
        self.progress(|progress| progress.run = Some(cancel.clone()));
        // A tool of a plugin or server can do anything.
        let effect = osier_tools::effect(&call.call.name);
        if effect.is_none_or(ToolEffect::can_change_files) {
            if !self.progress(|progress| std::mem::replace(&mut progress.recorded, true)) {
                self.record(Moment::Before).await;
            }
            self.progress(|progress| progress.dirty = true);
        }
        ToolDecision::Allow
    }

    async fn on_turn_end(
        &self,
        _results: &[ToolResultMessage],
        _cancel: &CancellationToken,
    ) -> Result<(), StopRun> {
        if self.progress(|progress| std::mem::take(&mut progress.dirty)) {
            self.record(Moment::After).await;
        }
        Ok(())
    }

    async fn on_settled(&self, _outcome: &RunOutcome) {
        // The next run records the files again: changes until then are not those of the turn, even if that run continues it.
        self.progress(|progress| progress.recorded = false);
        // An aborted run can have changed files.
        if self.progress(|progress| std::mem::take(&mut progress.dirty)) {
            self.record(Moment::After).await;
        }
    }
}

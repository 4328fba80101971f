//! Changes of the conversation that the agent's task makes between runs: a move in the tree, with or without a
//! summary of the branch that is left, and a compaction that the user requests.

use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::target::{NextPrompt, Step, Target};
use crate::conversation::compaction::{
    Compactor, Draft, SummaryError, Wishes, end, message_tokens, summarize_branch,
};
use crate::emitter::{Callback, Emitter};
use crate::files::checkpoints::{NO_FILES, SessionFiles};
use osier_agent::{
    AgentAccess, AgentMessage, Change, ChangeOutcome, CompactionOutcome, CompactionReason, History,
    Severity, UserMessage,
};
use osier_protocol::{EntryKind, Event, FilesAt, Jump, PageAt, TreeEvent};
use osier_store::recorder::StoredHistory;
use osier_store::{Page, SessionError, SessionStore, State};

/// The result of a change of the tree.
#[derive(Debug)]
pub(crate) enum TreeOutcome {
    Moved(Box<Moved>),
    Drafted(Box<Draft>),
    /// The agent is working.
    Refused,
}

/// The fate of the branch that a move leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeftBranch {
    Kept,
    /// A model summarizes it, with these instructions.
    Summarized(Option<String>),
}

/// The action that follows a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    Undone,
    /// The prompt is sent again, to this model if one is named.
    Retry(Option<String>),
    /// This lane was applied, with these files; the overwritten files are in this folder.
    Taken(usize, Vec<PathBuf>, Option<PathBuf>),
}

/// A move.
#[derive(Debug)]
pub(crate) struct Move {
    pub store: SessionStore,
    pub target: Target,
    pub left: LeftBranch,
    pub then: Then,
    /// Refuses the move if the files of the target cannot be restored.
    pub with_files: bool,
    /// `None` if the session records no files.
    pub files: Option<SessionFiles>,
    pub emitter: Emitter,
    /// Knows the model for the summary.
    pub compactor: Compactor,
    pub done: Callback<TreeOutcome>,
}

/// The result of a move.
#[derive(Debug)]
pub(crate) struct Moved {
    /// Id of its session.
    pub session: String,
    pub from: Option<String>,
    pub leaf: Option<String>,
    pub prompt: Option<UserMessage>,
    pub page: Page,
    pub count: usize,
    pub state: State,
    pub then: Then,
}

/// Why a move failed.
enum MoveError {
    Other(String),
    Summary(SummaryError),
}

impl From<SessionError> for MoveError {
    fn from(error: SessionError) -> Self {
        Self::Other(error.to_string())
    }
}

#[async_trait]
impl Change for Move {
    async fn perform(
        self: Box<Self>,
        desk: &dyn AgentAccess,
        cancel: &CancellationToken,
    ) -> ChangeOutcome {
        let made = self.make(desk, cancel).await;
        let history = made.as_ref().ok().map(|moved| {
            let (store, leaf) = (self.store.clone(), moved.leaf.clone());
            let history = StoredHistory::new(store, leaf, message_tokens);
            Arc::new(history) as Arc<dyn History>
        });
        ChangeOutcome {
            history,
            events: Vec::new(),
            on_complete: Some(Box::new(move || self.finish(made))),
        }
    }

    fn is_brief(&self) -> bool {
        // A summary takes as long as its model, and a prompt that is sent again must follow its own move.
        self.left == LeftBranch::Kept && !matches!(self.then, Then::Retry(_))
    }

    fn refused(self: Box<Self>) {
        self.done.call(TreeOutcome::Refused);
    }
}

impl Move {
    fn finish(&self, made: Result<Moved, MoveError>) {
        match made {
            Ok(moved) => self.done.call(TreeOutcome::Moved(Box::new(moved))),
            Err(MoveError::Summary(error)) => {
                let message = error.to_string();
                let event = TreeEvent::BranchSummaryFailed { message };
                self.emitter.post(Event::Tree(event));
            }
            Err(MoveError::Other(text)) => {
                // A step that is not possible is no error.
                let severity = match self.target {
                    Target::Position(step) if text == step.refusal() => Severity::Info,
                    _ => Severity::Warning,
                };
                self.emitter.post_notice(severity, text);
            }
        }
    }

    async fn make(
        &self,
        desk: &dyn AgentAccess,
        cancel: &CancellationToken,
    ) -> Result<Moved, MoveError> {
        self.store.findings().await?;
        let from = self.store.index().leaf();
        let (target, prompt) = self.find().await?;
        let before = prompt.as_ref().map(|(id, _)| id.as_str());
        if self.with_files {
            self.look_for_files(before.or(target.as_deref())).await?;
        }
        let is_current = target == from && self.store.index().before().as_deref() == before;
        let left = match &self.left {
            LeftBranch::Summarized(instructions) => {
                self.summarize(desk, target.as_deref(), instructions.as_deref(), cancel)
                    .await?
            }
            LeftBranch::Kept => None,
        };
        match (left, &from) {
            (Some(summary), Some(from)) => {
                let kind = EntryKind::BranchSummary {
                    from_id: from.clone(),
                    summary,
                };
                if before.is_some() {
                    self.jump(target.as_deref(), before).await?;
                }
                self.store.append_to(target.as_deref(), kind).await?;
            }
            // A step changes the history of positions even if it leads to the same one.
            _ if !is_current || matches!(self.target, Target::Position(_)) => {
                self.jump(target.as_deref(), before).await?;
            }
            _ => {}
        }
        self.store.sync().await?;
        let (session, then) = (self.store.id().to_owned(), self.then.clone());
        let prompt = prompt.map(|(_, prompt)| prompt);
        let index = self.store.index().clone();
        let read = osier_base::task::spawn_blocking(move || Moved {
            session,
            leaf: index.leaf(),
            from,
            prompt,
            page: index.page(&PageAt::End).unwrap_or_default(),
            count: index.shown(),
            state: index.state(),
            then,
        });
        read.await
            .map_err(|error| MoveError::Other(error.to_string()))
    }

    /// Fails if the files at `entry`, or those of the last prompt, cannot be restored.
    async fn look_for_files(&self, entry: Option<&str>) -> Result<(), MoveError> {
        let missing = |why: &str| MoveError::Other(format!("not moved: {why}"));
        let files = self.files.as_ref().ok_or_else(|| missing(NO_FILES))?;
        let at = match (&self.then, entry) {
            (Then::Undone, _) => FilesAt::LastPrompt,
            (_, Some(entry)) => FilesAt::Entry {
                entry_id: entry.to_owned(),
            },
            (_, None) => FilesAt::Start,
        };
        if self.target == Target::Position(Step::Redo) {
            return files.can_redo().await.map_err(|error| missing(&error));
        }
        // A turn that changed no file has no checkpoint; undoing it needs none.
        match files.can_restore(at).await {
            Ok(is_known) if is_known || self.then == Then::Undone => Ok(()),
            Ok(_) => Err(missing("no checkpoint of the files at that point")),
            Err(error) => Err(missing(&error)),
        }
    }

    async fn jump(&self, target: Option<&str>, before: Option<&str>) -> Result<(), SessionError> {
        let jump = match &self.target {
            Target::Position(step) => step.jump(),
            _ if matches!(self.then, Then::Undone | Then::Nothing) => Jump::Undo,
            _ => Jump::Usual,
        };
        self.store.jump_to(target, before, jump).await?;
        Ok(())
    }

    async fn find(&self) -> Result<(Option<String>, Option<NextPrompt>), MoveError> {
        let (index, from) = (self.store.index().clone(), self.target.clone());
        let found = osier_base::task::spawn_blocking(move || from.find(&index)).await;
        found
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(MoveError::Other)
    }

    /// The summary of the branch that is left; `None` if it has no messages.
    async fn summarize(
        &self,
        desk: &dyn AgentAccess,
        target: Option<&str>,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, MoveError> {
        let (index, to) = (self.store.index().clone(), target.map(str::to_owned));
        let left = osier_base::task::spawn_blocking(move || index.left_behind(to.as_deref())).await;
        let messages: Vec<AgentMessage> = left.unwrap_or_default();
        if messages.is_empty() {
            return Ok(None);
        }
        self.emitter
            .post(Event::Tree(TreeEvent::BranchSummaryStart));
        let model = self.compactor.summary_model(cancel).await;
        let written = summarize_branch(desk, model.as_ref(), &messages, instructions, cancel)
            .await
            .map_err(MoveError::Summary)?;
        let kind = EntryKind::Usage {
            kind: "branch_summary".to_owned(),
            provider: written.provider,
            model: written.model,
            usage: written.usage,
        };
        self.store.append(kind).await?;
        Ok(Some(written.text))
    }
}

/// Deletes a branch permanently, or says what that would delete.
#[derive(Debug)]
pub(crate) struct Deletion {
    pub store: SessionStore,
    pub entry_id: String,
    pub preview: bool,
    pub emitter: Emitter,
    pub done: Callback<TreeOutcome>,
}

#[async_trait]
impl Change for Deletion {
    async fn perform(
        self: Box<Self>,
        _desk: &dyn AgentAccess,
        _cancel: &CancellationToken,
    ) -> ChangeOutcome {
        let deleted = self.store.delete_branch(&self.entry_id, self.preview).await;
        let tell = move || match deleted {
            Ok(deleted) => self.emitter.post(Event::Tree(TreeEvent::BranchDeleted {
                entry_id: self.entry_id,
                preview: self.preview,
                messages: deleted.messages,
                bytes: deleted.bytes,
            })),
            Err(error) => self
                .emitter
                .post_notice(Severity::Warning, error.to_string()),
        };
        ChangeOutcome {
            on_complete: Some(Box::new(tell)),
            ..ChangeOutcome::default()
        }
    }

    fn is_brief(&self) -> bool {
        true
    }

    fn refused(self: Box<Self>) {
        self.done.call(TreeOutcome::Refused);
    }
}

/// A compaction that the user requests.
#[derive(Debug)]
pub(crate) struct Compaction {
    pub compactor: Compactor,
    pub instructions: Option<String>,
    /// The user reviews the summary.
    pub review: bool,
    /// The first entry that is not summarised.
    pub up_to: Option<String>,
    pub done: Callback<TreeOutcome>,
}

#[async_trait]
impl Change for Compaction {
    async fn perform(
        self: Box<Self>,
        desk: &dyn AgentAccess,
        cancel: &CancellationToken,
    ) -> ChangeOutcome {
        let reason = CompactionReason::Manual;
        desk.publish(osier_agent::Event::CompactionStart { reason });
        let wishes = Wishes {
            instructions: self.instructions.as_deref(),
            up_to: self.up_to.as_deref(),
        };
        let drafting = self.compactor.draft(desk, reason, wishes, cancel);
        match drafting.await {
            Ok(draft) if self.review => {
                let end = ended(desk, CompactionOutcome::Drafted).await;
                let tell = move || {
                    self.done.call(TreeOutcome::Drafted(Box::new(draft)));
                };
                ChangeOutcome {
                    on_complete: Some(Box::new(tell)),
                    ..end
                }
            }
            Ok(draft) => store(&self.compactor, desk, draft).await,
            Err(outcome) => ended(desk, outcome).await,
        }
    }

    fn refused(self: Box<Self>) {
        self.done.call(TreeOutcome::Refused);
    }
}

/// Stores a summary that the user has reviewed.
#[derive(Debug)]
pub(crate) struct StoreDraft {
    pub compactor: Compactor,
    pub draft: Draft,
    pub done: Callback<TreeOutcome>,
}

#[async_trait]
impl Change for StoreDraft {
    async fn perform(
        self: Box<Self>,
        desk: &dyn AgentAccess,
        _cancel: &CancellationToken,
    ) -> ChangeOutcome {
        if !self.compactor.fits(&self.draft).await {
            let message = "another branch is current now: compact again";
            let outcome = CompactionOutcome::Refused {
                message: message.to_owned(),
            };
            return ended(desk, outcome).await;
        }
        store(&self.compactor, desk, self.draft).await
    }

    fn refused(self: Box<Self>) {
        // The user can store the summary later.
        self.done.call(TreeOutcome::Drafted(Box::new(self.draft)));
        self.done.call(TreeOutcome::Refused);
    }
}

async fn store(compactor: &Compactor, desk: &dyn AgentAccess, draft: Draft) -> ChangeOutcome {
    match compactor.store(desk, draft).await {
        Ok((_, outcome)) => ChangeOutcome {
            history: Some(Arc::new(compactor.history())),
            ..ended(desk, outcome).await
        },
        Err(stop) => {
            let message = stop.message;
            ended(desk, CompactionOutcome::Failed { message }).await
        }
    }
}

/// The event that ends a requested compaction.
async fn ended(desk: &dyn AgentAccess, outcome: CompactionOutcome) -> ChangeOutcome {
    ChangeOutcome {
        events: vec![end(desk, CompactionReason::Manual, outcome).await],
        ..ChangeOutcome::default()
    }
}

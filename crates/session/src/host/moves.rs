//! Changes of the conversation that the agent's task makes while it does nothing else: a move in the
//! tree, with or without a summary of what is left, and a compaction asked for by hand.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use tokio_util::sync::CancellationToken;

use super::asked::Jobs;
use super::event::Event;
use super::host::Job;
use super::tree::TreeJob;
use super::tree_op::TreeEvent;
use crate::compaction::{Compactor, Draft, Drafted, SummaryError, summarize_branch};
use osier_agent::{
    AgentMessage, Change, Changed, CompactionOutcome, CompactionReason, Desk, History, Severity,
    UserMessage,
};
use osier_store::recorder::StoredHistory;
use osier_store::{EntryKind, Page, PageAt, SessionError, SessionStore, State};

/// Where a conversation is to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Before a prompt, behind anything else.
    Before(Option<String>),
    Behind(Option<String>),
    /// Before the last prompt of the branch.
    LastPrompt,
    /// Where it stands.
    Here,
}

/// What becomes of the branch that is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leave {
    Silently,
    /// A model writes down what it came to, told these instructions.
    Summarized(Option<String>),
}

/// What follows a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    Undone,
    Redone,
    /// The prompt is sent again, to this model when one is named.
    Retry(Option<String>),
    /// The lane whose branch it is was taken, with these files; those overwritten are kept there.
    Taken(usize, Vec<PathBuf>, Option<PathBuf>),
}

/// A move.
#[derive(Debug)]
pub(super) struct Move {
    pub store: SessionStore,
    pub place: Place,
    pub leave: Leave,
    pub then: Then,
    pub jobs: Jobs,
}

/// A move that was made.
#[derive(Debug)]
pub(super) struct Moved {
    /// Id of the session it was made in.
    pub session: String,
    pub from: Option<String>,
    pub leaf: Option<String>,
    pub prompt: Option<UserMessage>,
    pub page: Page,
    pub count: usize,
    pub state: State,
    pub then: Then,
}

/// Why nothing moved.
enum Stay {
    Told(String),
    Summary(SummaryError),
}

impl From<SessionError> for Stay {
    fn from(error: SessionError) -> Self {
        Self::Told(error.to_string())
    }
}

impl Change for Move {
    fn perform<'a>(
        self: Box<Self>,
        desk: Desk<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Changed> {
        async move {
            let (history, job) = match self.make(desk, cancel).await {
                Ok(moved) => {
                    let history = StoredHistory::new(self.store.clone(), moved.leaf.clone());
                    let history = Arc::new(history) as Arc<dyn History>;
                    (Some(history), Job::Tree(TreeJob::Moved(Box::new(moved))))
                }
                Err(Stay::Summary(error)) => {
                    let message = error.to_string();
                    (
                        None,
                        publish(Event::Tree(TreeEvent::BranchSummaryFailed { message })),
                    )
                }
                Err(Stay::Told(text)) => (None, publish(notice(Severity::Warning, text))),
            };
            Changed {
                history,
                events: Vec::new(),
                tell: Some(Box::new(move || self.tell(job))),
            }
        }
        .boxed()
    }

    fn refused(self: Box<Self>) {
        self.tell(Job::Tree(TreeJob::Refused));
    }
}

impl Move {
    fn tell(&self, job: Job) {
        // A host that has ended wants to hear nothing.
        let _ = self.jobs.send(job);
    }

    async fn make(&self, desk: Desk<'_>, cancel: &CancellationToken) -> Result<Moved, Stay> {
        self.store.findings().await?;
        let from = self.store.index().leaf();
        let (target, prompt) = self.find().await?;
        let left = match &self.leave {
            Leave::Summarized(instructions) => {
                self.summarize(desk, target.as_deref(), instructions.as_deref(), cancel)
                    .await?
            }
            Leave::Silently => None,
        };
        match (left, &from) {
            (Some(summary), Some(from)) => {
                let kind = EntryKind::BranchSummary {
                    from_id: from.clone(),
                    summary,
                };
                self.store.append_to(target.as_deref(), kind).await?;
            }
            _ if target != from => {
                self.store.set_leaf(target.as_deref()).await?;
            }
            _ => {}
        }
        self.store.sync().await?;
        let (session, then) = (self.store.id().to_owned(), self.then.clone());
        let index = self.store.index().clone();
        let looked = tokio::task::spawn_blocking(move || Moved {
            session,
            leaf: index.leaf(),
            from,
            prompt,
            page: index.page(&PageAt::End).unwrap_or_default(),
            count: index.shown(),
            state: index.state(),
            then,
        });
        looked.await.map_err(|error| Stay::Told(error.to_string()))
    }

    async fn find(&self) -> Result<(Option<String>, Option<UserMessage>), Stay> {
        let (index, place) = (self.store.index().clone(), self.place.clone());
        let found = tokio::task::spawn_blocking(move || place.find(&index)).await;
        found
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(Stay::Told)
    }

    /// What the branch that is left came to; nothing when nothing is left.
    async fn summarize(
        &self,
        desk: Desk<'_>,
        target: Option<&str>,
        instructions: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, Stay> {
        let (index, to) = (self.store.index().clone(), target.map(str::to_owned));
        let left = tokio::task::spawn_blocking(move || index.left_behind(to.as_deref())).await;
        let messages: Vec<AgentMessage> = left.unwrap_or_default();
        if messages.is_empty() {
            return Ok(None);
        }
        self.tell(publish(Event::Tree(TreeEvent::BranchSummaryStart)));
        let written = summarize_branch(desk, &messages, instructions, cancel)
            .await
            .map_err(Stay::Summary)?;
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

fn notice(severity: Severity, text: String) -> Event {
    Event::HostNotice {
        severity,
        text,
        request: None,
    }
}

fn publish(event: Event) -> Job {
    Job::Publish(Box::new(event))
}

/// A compaction asked for by hand.
#[derive(Debug)]
pub(super) struct Compaction {
    pub compactor: Compactor,
    pub instructions: Option<String>,
    /// The summary waits for the person's word.
    pub review: bool,
    pub jobs: Jobs,
}

impl Change for Compaction {
    fn perform<'a>(
        self: Box<Self>,
        desk: Desk<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Changed> {
        async move {
            let reason = CompactionReason::Manual;
            desk.publish(osier_agent::Event::CompactionStart { reason });
            let instructions = self.instructions.as_deref();
            let drafting = self.compactor.draft(desk, reason, instructions, cancel);
            match drafting.await {
                Drafted::Draft(draft) if self.review => {
                    let end = ended(&self.compactor, desk, CompactionOutcome::Drafted).await;
                    let tell = move || {
                        let _ = self.jobs.send(Job::Tree(TreeJob::Drafted(draft)));
                    };
                    Changed {
                        tell: Some(Box::new(tell)),
                        ..end
                    }
                }
                Drafted::Draft(draft) => store(&self.compactor, desk, *draft).await,
                Drafted::Ended(outcome) => ended(&self.compactor, desk, outcome).await,
            }
        }
        .boxed()
    }

    fn refused(self: Box<Self>) {
        let _ = self.jobs.send(Job::Tree(TreeJob::Refused));
    }
}

/// Stores a summary that the person has seen.
#[derive(Debug)]
pub(super) struct StoreDraft {
    pub compactor: Compactor,
    pub draft: Draft,
    pub jobs: Jobs,
}

impl Change for StoreDraft {
    fn perform<'a>(
        self: Box<Self>,
        desk: Desk<'a>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Changed> {
        async move {
            if !self.compactor.fits(&self.draft).await {
                let message = "the conversation has moved to another branch: compact again";
                let outcome = CompactionOutcome::Refused {
                    message: message.to_owned(),
                };
                return ended(&self.compactor, desk, outcome).await;
            }
            store(&self.compactor, desk, self.draft).await
        }
        .boxed()
    }

    fn refused(self: Box<Self>) {
        // The summary is not lost: it can be stored when the agent is done.
        let _ = self
            .jobs
            .send(Job::Tree(TreeJob::Drafted(Box::new(self.draft))));
        let _ = self.jobs.send(Job::Tree(TreeJob::Refused));
    }
}

async fn store(compactor: &Compactor, desk: Desk<'_>, draft: Draft) -> Changed {
    match compactor.store(desk, draft).await {
        Ok((_, outcome)) => Changed {
            history: Some(Arc::new(compactor.history())),
            ..ended(compactor, desk, outcome).await
        },
        Err(stop) => {
            let message = stop.message;
            ended(compactor, desk, CompactionOutcome::Failed { message }).await
        }
    }
}

/// What is told of a compaction by hand.
async fn ended(compactor: &Compactor, desk: Desk<'_>, outcome: CompactionOutcome) -> Changed {
    let reason = CompactionReason::Manual;
    Changed {
        events: vec![compactor.end(desk, reason, outcome).await],
        ..Changed::default()
    }
}

//! How things stand: what a client asks for first, put together when the agent has taken what it was told
//! before.

use serde::{Deserialize, Serialize};

use super::event::{Event, ModelInfo};
use super::host::{Job, Task};
use osier_agent::QueueMode;
use osier_llm::{ThinkingLevel, Usage};
use osier_permissions::Mode;
use osier_store::SessionIndex;

/// How a host and its session stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The model of the next request.
    pub model: ModelInfo,
    /// The level that was asked for; the model's `thinkingLevels` say what it makes of it.
    pub thinking_level: ThinkingLevel,
    /// A run is on, or a change of the conversation.
    pub is_streaming: bool,
    pub is_compacting: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    pub auto_compaction_enabled: bool,
    pub auto_retry_enabled: bool,
    /// Not set when no session is open.
    pub session_id: Option<String>,
    /// Not set for a session that is not stored.
    pub session_file: Option<String>,
    pub session_name: Option<String>,
    /// Messages of the current branch.
    pub message_count: usize,
    /// Messages that wait in the queues.
    pub pending_message_count: usize,
    /// Tokens of every call, on all branches.
    pub token_usage: Usage,
    /// US dollars, of the same calls.
    pub cost: f64,
    pub permissions: Mode,
    /// Where the tools work.
    pub cwd: String,
    /// Why the last run failed.
    pub error: Option<String>,
}

/// What the file of the session says.
#[derive(Debug, Default)]
pub(super) struct Counted {
    session: String,
    name: Option<String>,
    messages: usize,
    usage: Usage,
}

impl Task {
    /// Answers `GetStatus`, behind what the agent was told before.
    pub(super) fn tell_status(&self) {
        let Some(session) = &self.session else {
            return self.publish_status(&Counted::default());
        };
        let (store, jobs) = (session.store.clone(), self.jobs.clone());
        let agent = session.agent.clone();
        tokio::spawn(async move {
            agent.caught_up().await;
            // A file that cannot be read any more answers with what is known of it.
            let _ = store.findings().await;
            let id = store.id().to_owned();
            let index = store.index().clone();
            let counting = tokio::task::spawn_blocking(move || Counted::of(id, &index));
            // The host may have ended.
            let _ = jobs.send(Job::Status(counting.await.unwrap_or_default()));
        });
    }

    pub(super) fn publish_status(&self, counted: &Counted) {
        let open = self.session.as_ref();
        let session = open.filter(|session| session.store.id() == counted.session);
        let state = session.map(|session| session.agent.state());
        let modes = state.as_ref().map(|state| {
            let waiting = state.steering.len() + state.follow_up.len();
            (state.steering_mode, state.follow_up_mode, waiting)
        });
        let (steering_mode, follow_up_mode, pending_message_count) = modes.unwrap_or_default();
        let path = session.and_then(|session| session.store.path());
        let status = Status {
            model: self.models.info(&self.models.chosen()),
            thinking_level: self.level,
            is_streaming: state.as_ref().is_some_and(|state| state.is_streaming),
            is_compacting: self.compacting,
            steering_mode,
            follow_up_mode,
            auto_compaction_enabled: session.map_or(self.setup.settings.auto_compact, |session| {
                session.tree.compactor.is_automatic()
            }),
            auto_retry_enabled: state.as_ref().is_none_or(|state| state.auto_retry),
            session_id: session.map(|session| session.store.id().to_owned()),
            session_file: path.map(|path| path.to_string_lossy().into_owned()),
            session_name: counted.name.clone(),
            message_count: counted.messages,
            pending_message_count,
            token_usage: counted.usage,
            cost: counted.usage.cost.total,
            permissions: self.permissions.mode(),
            cwd: self.setup.cwd.to_string_lossy().into_owned(),
            error: state.and_then(|state| state.error),
        };
        let status = Box::new(status);
        self.publish(Event::Status { status });
    }

    /// Whether a summary is being written, as the agent tells it.
    pub(super) fn note_compaction(&mut self, event: &Event) {
        match event {
            Event::Agent(osier_agent::Event::CompactionStart { .. }) => self.compacting = true,
            Event::Agent(
                osier_agent::Event::CompactionEnd { .. } | osier_agent::Event::AgentSettled { .. },
            )
            | Event::SessionOpened { .. } => self.compacting = false,
            _ => {}
        }
    }
}

impl Counted {
    /// Blocks.
    fn of(session: String, index: &SessionIndex) -> Self {
        Self {
            session,
            name: index.look(|tree| tree.name().map(str::to_owned)),
            messages: index.shown(),
            usage: index.usage(),
        }
    }
}

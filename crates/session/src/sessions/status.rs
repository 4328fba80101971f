//! The status of the session, for `GetStatus`: what a client needs first.

use osier_agent::Agent;
use osier_llm::{ThinkingLevel, Usage};
use osier_protocol::{ModelInfo, PermissionMode, Status};
use osier_store::{EntryIndex, SessionStore};

use crate::emitter::Callback;

/// What the file of a session contributes.
#[derive(Debug, Default)]
pub(crate) struct StoredStatus {
    session: String,
    name: Option<String>,
    messages: usize,
    usage: Usage,
}

/// The open session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionStatus<'a> {
    pub store: &'a SessionStore,
    pub agent: &'a Agent,
    pub is_compacting: bool,
    pub auto_compaction: bool,
}

/// What holds with and without a session.
#[derive(Debug)]
pub(crate) struct GeneralStatus {
    pub model: ModelInfo,
    pub thinking_level: ThinkingLevel,
    pub permissions: PermissionMode,
    pub cwd: String,
    /// The setting for new sessions.
    pub auto_compaction: bool,
}

/// Reads the file of a session, after the agent has handled the requests before.
pub(crate) fn read(store: &SessionStore, agent: &Agent, done: Callback<StoredStatus>) {
    let (store, agent) = (store.clone(), agent.clone());
    osier_base::task::spawn(async move {
        agent.caught_up().await;
        // A file that cannot be read any more contributes what is known of it.
        let _ = store.findings().await;
        let id = store.id().to_owned();
        let index = store.index().clone();
        let reading = osier_base::task::spawn_blocking(move || StoredStatus::read(id, &index));
        done.call(reading.await.unwrap_or_default());
    });
}

impl StoredStatus {
    /// Blocks.
    fn read(session: String, index: &EntryIndex) -> Self {
        Self {
            session,
            name: index.read(|tree| tree.name().map(str::to_owned)),
            messages: index.shown(),
            usage: index.usage(),
        }
    }

    /// The complete status. `open` is the open session.
    pub(crate) fn complete(
        &self,
        general: GeneralStatus,
        open: Option<SessionStatus<'_>>,
    ) -> Box<Status> {
        let session = open.filter(|session| session.store.id() == self.session);
        let state = session.map(|session| session.agent.state());
        let queue = state.as_ref().map(|state| {
            let waiting = state.steering.len() + state.follow_up.len();
            (state.steering_mode, state.follow_up_mode, waiting)
        });
        let (steering_mode, follow_up_mode, pending_message_count) = queue.unwrap_or_default();
        let path = session.and_then(|session| session.store.path());
        Box::new(Status {
            model: general.model,
            thinking_level: general.thinking_level,
            is_streaming: state.as_ref().is_some_and(|state| state.is_streaming),
            is_compacting: open.is_some_and(|session| session.is_compacting),
            steering_mode,
            follow_up_mode,
            auto_compaction_enabled: session
                .map_or(general.auto_compaction, |session| session.auto_compaction),
            auto_retry_enabled: state.as_ref().is_none_or(|state| state.auto_retry),
            session_id: session.map(|session| session.store.id().to_owned()),
            session_file: path.map(|path| path.to_string_lossy().into_owned()),
            session_name: self.name.clone(),
            message_count: self.messages,
            pending_message_count,
            token_usage: self.usage,
            cost: self.usage.cost.total,
            permissions: general.permissions,
            cwd: general.cwd,
            error: state.and_then(|state| state.error),
        })
    }
}

//! The status of the session, for `GetStatus`: what a client needs first.

use osier_llm::{ThinkingLevel, Usage};
use osier_protocol::{ModelInfo, PermissionMode, Status};

use super::open_session::OpenSession;
use crate::cx::ActiveSession;
use crate::emitter::Callback;
use crate::setup::SessionSetup;

/// The part of a session's status that is read from its file.
#[derive(Debug, Default)]
pub(crate) struct StoredStatus {
    session: String,
    name: Option<String>,
    messages: usize,
    usage: Usage,
}

/// Reads the file of a session, after the agent has handled the requests before.
pub(crate) fn read(session: &ActiveSession, done: Callback<StoredStatus>) {
    let (store, agent) = (session.store.clone(), session.agent.clone());
    osier_base::task::spawn(async move {
        agent.caught_up().await;
        // A file that cannot be read any more contributes what is known of it.
        let _ = store.findings().await;
        let reading = osier_base::task::spawn_blocking(move || {
            let index = store.index();
            StoredStatus {
                session: store.id().to_owned(),
                name: index.read(|tree| tree.name().map(str::to_owned)),
                messages: index.shown(),
                usage: index.usage(),
            }
        });
        done.call(reading.await.unwrap_or_default());
    });
}

impl StoredStatus {
    /// The complete status. `open` is the open session.
    pub(crate) fn complete(
        self,
        open: Option<&OpenSession>,
        (model, thinking_level): (ModelInfo, ThinkingLevel),
        permissions: PermissionMode,
        setup: &SessionSetup,
    ) -> Box<Status> {
        let session = open.filter(|session| session.id() == self.session);
        let state = session.map(|session| session.agent.state());
        let queue = state.as_ref().map(|state| {
            let waiting = state.steering.len() + state.follow_up.len();
            (state.steering_mode, state.follow_up_mode, waiting)
        });
        let (steering_mode, follow_up_mode, pending_message_count) = queue.unwrap_or_default();
        let path = session.and_then(|session| session.store.path());
        Box::new(Status {
            model,
            thinking_level,
            is_streaming: state.as_ref().is_some_and(|state| state.is_streaming),
            is_compacting: open.is_some_and(|session| session.tree.is_compacting),
            steering_mode,
            follow_up_mode,
            auto_compaction_enabled: session.map_or(setup.settings.auto_compact, |session| {
                session.tree.compactor.is_automatic()
            }),
            auto_retry_enabled: state.as_ref().is_none_or(|state| state.auto_retry),
            session_id: session.map(|session| session.id().to_owned()),
            session_file: path.map(|path| path.to_string_lossy().into_owned()),
            session_name: self.name,
            message_count: self.messages,
            pending_message_count,
            token_usage: self.usage,
            cost: self.usage.cost.total,
            permissions,
            cwd: setup.cwd.to_string_lossy().into_owned(),
            error: state.and_then(|state| state.error),
        })
    }
}

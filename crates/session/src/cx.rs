//! The context in which a feature handles a request: the setup, the emitter, and the open session.

use std::sync::Arc;

use osier_agent::{Agent, AgentMessage, CustomMessage, Op, Severity};
use osier_base::clock;
use osier_llm::{Model, ThinkingLevel};
use osier_protocol::EntryKind;
use osier_store::SessionStore;
use osier_tools::Workspace;
use serde_json::Value;

use crate::emitter::Emitter;
use crate::setup::SessionSetup;

/// The error for requests that need a session. Clients have different ways to start one.
pub(crate) const NO_SESSION: &str = "no session is open: start a new one first";

/// The context of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cx<'a> {
    pub setup: &'a SessionSetup,
    pub emitter: &'a Emitter,
    pub session: Option<&'a ActiveSession>,
}

/// The open session as features below it see it.
#[derive(Debug)]
pub(crate) struct ActiveSession {
    pub store: SessionStore,
    pub agent: Agent,
    pub workspace: Arc<Workspace>,
    /// The complete file is indexed.
    pub indexed: bool,
    /// The entry of the last message when the session was opened.
    pub last_stored: Option<String>,
    /// The run that another process stopped to hand the session over continues here.
    pub continues: bool,
}

impl<'a> Cx<'a> {
    /// The open session. Publishes an error if there is none.
    pub(crate) fn needs_session(self) -> Option<&'a ActiveSession> {
        if self.session.is_none() {
            self.emitter.notice(Severity::Error, NO_SESSION);
        }
        self.session
    }
}

impl ActiveSession {
    pub(crate) fn id(&self) -> &str {
        self.store.id()
    }

    /// Appends a message that starts no run.
    pub(crate) fn append(&self, message: AgentMessage) {
        self.agent.send(Op::AppendMessage {
            message: Box::new(message),
            respond: false,
        });
    }

    /// Gives the model a message of osier, which users see too. Starts a run when none is active.
    pub(crate) fn wake(&self, kind: &str, text: &str, details: Value) {
        let message = CustomMessage {
            kind: kind.to_owned(),
            text: format!("[{text}]"),
            display: true,
            details,
            timestamp: clock::now_ms(),
        };
        self.agent.send(Op::AppendMessage {
            message: Box::new(AgentMessage::Custom(message)),
            respond: true,
        });
    }

    /// Sets the models and the level of the next request.
    pub(crate) fn set_models(&self, models: &[Arc<Model>], level: ThinkingLevel) {
        let models = models.iter().map(|model| (**model).clone()).collect();
        self.agent.send(Op::SetModels { models });
        self.agent.send(Op::SetThinkingLevel { level });
    }
}

/// Stores an entry that is no message. Publishes a warning if that fails.
pub(crate) async fn store_entry(store: &SessionStore, kind: EntryKind, emitter: &Emitter) -> bool {
    let stored = store.append(kind).await;
    if let Err(error) = &stored {
        emitter.notice(Severity::Warning, format!("not stored: {error}"));
    }
    stored.is_ok()
}

/// Runs `work`, which blocks, when the complete file is indexed, or as much of it as can be read.
pub(crate) fn when_indexed(
    store: &SessionStore,
    work: impl FnOnce(&SessionStore) + Send + 'static,
) {
    let store = store.clone();
    osier_base::task::spawn(async move {
        let _ = store.findings().await;
        osier_base::task::spawn_blocking(move || work(&store));
    });
}

//! What an open session reaches beyond itself.

use std::sync::Arc;

use super::asked::Jobs;
use super::event::Event;
use super::host::Task;
use crate::guard::Guard;
use osier_agent::Publisher;
use osier_extensions::hooks::Hooks;
use osier_extensions::plugins::Plugins;
use osier_protocol::questions::Questions;
use osier_store::SessionStore;

/// The ways from a session to its host and to people.
#[derive(Debug, Clone)]
pub(super) struct Wires {
    pub publisher: Arc<Publisher<Event>>,
    pub jobs: Jobs,
    pub questions: Questions,
    pub guard: Guard,
    pub plugins: Arc<Plugins>,
    pub hooks: Arc<Hooks>,
}

impl Wires {
    /// The guard of the session that is kept in `store`.
    pub(super) fn guard_of(&self, store: &SessionStore) -> Guard {
        let guard = self.guard.clone();
        guard.of_session(&self.hooks, store.id(), store.path())
    }
}

impl Task {
    /// Those of the session that is about to open.
    pub(super) fn wires(&self) -> Wires {
        Wires {
            publisher: Arc::clone(&self.publisher),
            jobs: self.jobs.own(),
            questions: self.questions.clone(),
            guard: self.guard(),
            plugins: Arc::clone(&self.plugins),
            hooks: Arc::clone(&self.hooks),
        }
    }
}

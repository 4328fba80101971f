//! What stands between a model and its tools, in every place where an agent of a session works: the
//! hooks, permissions, the sandbox, and the way to somebody who can be asked.

use std::path::Path;
use std::sync::Arc;

use osier_extensions::hooks::{AgentHooks, Hooks, Role, SessionHooks};
use osier_permissions::{Gate, Permissions};
use osier_protocol::questions::Questions;
use osier_sandbox::Confinement;
use osier_tools::Workspace;

/// The guard of one session. A copy guards another agent of it by the same rules.
#[derive(Debug, Clone)]
pub struct Guard {
    permissions: Arc<Permissions>,
    confinement: Arc<Confinement>,
    questions: Questions,
    /// Somebody is there to be asked.
    answered: bool,
    /// Not set before a session is open.
    hooks: Option<Arc<SessionHooks>>,
}

impl Guard {
    pub fn new(
        permissions: Arc<Permissions>,
        confinement: Arc<Confinement>,
        questions: Questions,
        answered: bool,
    ) -> Self {
        Self {
            permissions,
            confinement,
            questions,
            answered,
            hooks: None,
        }
    }

    /// The guard of the session `id`, whose file is `transcript`: its hooks hold for every agent of it.
    #[must_use]
    pub fn of_session(mut self, hooks: &Arc<Hooks>, id: &str, transcript: Option<&Path>) -> Self {
        let permissions = Arc::clone(&self.permissions);
        let hooks = SessionHooks::new(Arc::clone(hooks), permissions, id, transcript);
        self.hooks = Some(Arc::new(hooks));
        self
    }

    pub fn hooks(&self) -> Option<&Arc<SessionHooks>> {
        self.hooks.as_ref()
    }

    /// A place of work at `cwd` whose commands are held to the sandbox. What the sandbox allows to be
    /// written is there.
    pub fn workspace(&self, cwd: &Path) -> Workspace {
        Workspace::new(cwd).confined(self.confinement.at(cwd))
    }

    /// The hooks of an agent that works in `workspace`, and the gate that decides on its calls. The gate has
    /// to stand behind everything that may change a call, the hooks before everything that stores.
    pub fn around(
        &self,
        workspace: &Arc<Workspace>,
        role: Role,
    ) -> (Option<Arc<AgentHooks>>, Gate) {
        let gate = Gate::new(
            Arc::clone(&self.permissions),
            self.questions.clone(),
            Arc::clone(workspace),
            self.answered,
        );
        let Some(session) = &self.hooks else {
            return (None, gate);
        };
        let (cwd, hints) = (workspace.cwd().to_owned(), gate.hints());
        let hooks = Arc::new(AgentHooks::new(Arc::clone(session), role, cwd, hints));
        (Some(Arc::clone(&hooks)), gate.advised_by(hooks))
    }
}

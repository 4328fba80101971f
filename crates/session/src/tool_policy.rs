//! The policy for tool calls of every agent of a session: hooks, permissions, the sandbox, and questions to the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_extensions::hooks::{AgentHooks, Hooks, Role, SessionHooks};
use osier_permissions::{Gate, Permissions, ServerTools};
use osier_protocol::questions::Questions;
use osier_sandbox::Confinement;
use osier_store::writer::Writer;
use osier_tools::Workspace;

use crate::review::SessionReviewer;

/// The policy of one session. All agents of the session share it. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ToolPolicy {
    permissions: Arc<Permissions>,
    confinement: Arc<Confinement>,
    questions: Questions,
    /// Whether a client can answer questions.
    interactive: bool,
    /// When a command becomes a background job.
    background_after: Option<Duration>,
    /// Additional environment variables of commands.
    environment: BTreeMap<String, String>,
    /// Additional directories of the project.
    directories: Vec<PathBuf>,
    /// Not set before a session is open.
    hooks: Option<Arc<SessionHooks>>,
    /// Not set before a session is open.
    reviewer: Option<SessionReviewer>,
}

impl ToolPolicy {
    pub(crate) fn new(
        permissions: Arc<Permissions>,
        confinement: Arc<Confinement>,
        questions: Questions,
        interactive: bool,
        background_after: Option<Duration>,
    ) -> Self {
        Self {
            permissions,
            confinement,
            questions,
            interactive,
            background_after,
            environment: BTreeMap::new(),
            directories: Vec::new(),
            hooks: None,
            reviewer: None,
        }
    }

    /// Sets environment variables for the commands of all workspaces.
    #[must_use]
    pub(crate) fn with_environment(self, environment: BTreeMap<String, String>) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// Lets patches change files in these directories, too.
    #[must_use]
    pub(crate) fn with_directories(self, directories: Vec<PathBuf>) -> Self {
        Self {
            directories,
            ..self
        }
    }

    /// The policy of the session `id`, whose file is `transcript`.
    #[must_use]
    pub(crate) fn for_session(
        mut self,
        hooks: &Arc<Hooks>,
        id: &str,
        transcript: Option<&Path>,
    ) -> Self {
        let permissions = Arc::clone(&self.permissions);
        let hooks = SessionHooks::new(Arc::clone(hooks), permissions, id, transcript);
        self.hooks = Some(Arc::new(hooks));
        self
    }

    /// Has the rules name the tools of MCP servers as their configuration does.
    pub(crate) fn set_server_tools(&self, tools: Box<dyn ServerTools>) {
        self.permissions.set_server_tools(tools);
    }

    /// Has a model judge calls in the mode `auto`.
    #[must_use]
    pub(crate) fn reviewed_by(
        mut self,
        reviewer: impl FnOnce(Arc<Permissions>) -> SessionReviewer,
    ) -> Self {
        self.reviewer = Some(reviewer(Arc::clone(&self.permissions)));
        self
    }

    /// The same for an agent on another branch of the session.
    #[must_use]
    pub(crate) fn on_branch(mut self, branch: &Writer) -> Self {
        let reviewer = self.reviewer.take();
        self.reviewer = reviewer.map(|reviewer| reviewer.on_branch(branch.clone()));
        self
    }

    pub(crate) fn hooks(&self) -> Option<&Arc<SessionHooks>> {
        self.hooks.as_ref()
    }

    /// The questions of the session, if a client can answer them.
    pub(crate) fn questions(&self) -> Option<Questions> {
        self.interactive.then(|| self.questions.clone())
    }

    /// A workspace at `cwd` whose commands run in the sandbox, which allows writes below it.
    pub(crate) fn workspace(&self, cwd: &Path) -> Workspace {
        Workspace::new(cwd)
            .confined(self.confinement.at(cwd))
            .with_background_after(self.background_after)
            .with_environment(&self.environment)
            .with_directories(self.directories.clone())
    }

    /// The hooks of an agent in `workspace`, and the gate that decides on its calls. The gate comes after every
    /// interceptor that can change a call; the hooks come before every interceptor that stores.
    pub(crate) fn interceptors(
        &self,
        workspace: &Arc<Workspace>,
        role: Role,
    ) -> (Option<Arc<AgentHooks>>, Gate) {
        let gate = Gate::new(
            Arc::clone(&self.permissions),
            self.questions.clone(),
            Arc::clone(workspace),
            self.interactive,
        );
        let gate = match &self.reviewer {
            Some(reviewer) => gate.reviewed_by(Arc::new(reviewer.clone())),
            None => gate,
        };
        let Some(session) = &self.hooks else {
            return (None, gate);
        };
        let (cwd, hints) = (workspace.cwd().to_owned(), gate.hints());
        let hooks = Arc::new(AgentHooks::new(Arc::clone(session), role, cwd, hints));
        (Some(Arc::clone(&hooks)), gate.advised_by(hooks))
    }
}

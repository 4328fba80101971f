//! The policy for tool calls of every agent of a session: hooks, permissions, the sandbox, and questions to the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_agent::Interceptor;
use osier_extensions::hooks::{AgentHooks, Hooks, Role, SessionHooks};
use osier_permissions::{Gate, Permissions, ServerTools};
use osier_protocol::questions::Questions;
use osier_sandbox::Confinement;
use osier_store::writer::Writer;
use osier_tools::{OutputOptions, Web, WebOptions, Workspace};

use crate::conversation::budget::SessionBudget;
use crate::emitter::Emitter;
use crate::safety::loop_guard::LoopGuard;
use crate::safety::plan::{PlanFiles, PlanMode, PlanReminder};
use crate::safety::review::SessionReviewer;

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
    /// Whether a model that repeats its calls is stopped.
    guards_loops: bool,
    /// Its questions are those of a subagent.
    is_subagent: bool,
    /// Fetches pages; its cache is shared by all agents.
    web: Web,
    /// Additional environment variables of commands.
    environment: BTreeMap<String, String>,
    /// Additional directories of the project.
    directories: Vec<PathBuf>,
    /// Where the indexes of maps are stored.
    maps: Option<PathBuf>,
    outputs: OutputOptions,
    /// Not set before a session is open.
    hooks: Option<Arc<SessionHooks>>,
    /// Not set before a session is open.
    budget: Option<SessionBudget>,
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
            is_subagent: false,
            guards_loops: false,
            web: Web::default(),
            environment: BTreeMap::new(),
            directories: Vec::new(),
            maps: None,
            outputs: OutputOptions::default(),
            hooks: None,
            budget: None,
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

    /// Sets the options for fetching pages.
    #[must_use]
    pub(crate) fn with_web(self, options: WebOptions) -> Self {
        let web = Web::new(options);
        Self { web, ..self }
    }

    /// Sets whether a model that repeats its calls is stopped.
    #[must_use]
    pub(crate) fn with_loop_guard(self, guards_loops: bool) -> Self {
        Self {
            guards_loops,
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

    /// Stores the indexes of maps in the folder `maps`.
    #[must_use]
    pub(crate) fn with_maps(self, maps: PathBuf) -> Self {
        let maps = Some(maps);
        Self { maps, ..self }
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

    /// This policy for an agent on another branch of the session.
    #[must_use]
    pub(crate) fn on_branch(mut self, branch: &Writer) -> Self {
        let reviewer = self.reviewer.take();
        self.reviewer = reviewer.map(|reviewer| reviewer.on_branch(branch.clone()));
        self
    }

    /// This policy for a subagent: its questions name it, and `waits` hears when one begins and ends.
    pub(crate) fn asking_for(
        &self,
        subagent: &str,
        waits: impl Fn(bool) + Send + Sync + 'static,
    ) -> Self {
        Self {
            questions: self.questions.of_subagent(subagent, waits),
            is_subagent: true,
            ..self.clone()
        }
    }

    /// This policy for an agent of a hook: its calls run no hooks, and nobody answers its questions.
    pub(crate) fn of_hooks(&self) -> Self {
        Self {
            hooks: None,
            interactive: false,
            ..self.clone()
        }
    }

    pub(crate) fn hooks(&self) -> Option<&Arc<SessionHooks>> {
        self.hooks.as_ref()
    }

    /// The questions of the session, if a client can answer them.
    pub(crate) fn questions(&self) -> Option<Questions> {
        self.interactive.then(|| self.questions.clone())
    }

    /// Plan mode of the session, whose plans are saved in `files`.
    pub(crate) fn plan_mode(&self, files: PlanFiles, emitter: Emitter) -> PlanMode {
        PlanMode {
            rules: Arc::clone(&self.permissions),
            sandbox: Arc::clone(&self.confinement),
            questions: self.questions(),
            emitter,
            files,
        }
    }

    /// Tells an agent when plan mode begins and ends.
    pub(crate) fn plan_reminder(&self) -> Arc<dyn Interceptor> {
        let rules = Arc::clone(&self.permissions);
        Arc::new(PlanReminder { rules })
    }

    /// A workspace at `cwd` whose commands run in the sandbox, which allows writes below it.
    pub(crate) fn workspace(&self, cwd: &Path) -> Workspace {
        let workspace = Workspace::new(cwd);
        let workspace = match &self.maps {
            Some(maps) => workspace.with_maps(maps.clone()),
            None => workspace,
        };
        let mut confinement = self.confinement.at(cwd);
        if self.is_subagent {
            confinement = confinement.asked_by(self.questions.clone());
        }
        workspace
            .confined(confinement)
            .with_background_after(self.background_after)
            .with_outputs(self.outputs.clone())
            .with_environment(&self.environment)
            .with_web(self.web.clone())
            .with_directories(self.directories.clone())
    }

    /// Sets where long outputs of commands go, and how much of them the model gets.
    #[must_use]
    pub(crate) fn with_outputs(self, outputs: OutputOptions) -> Self {
        Self { outputs, ..self }
    }

    /// Sets the budget of the session.
    #[must_use]
    pub(crate) fn with_budget(self, budget: SessionBudget) -> Self {
        let budget = Some(budget);
        Self { budget, ..self }
    }

    /// The guards of an agent: they come after every other interceptor.
    pub(crate) fn guards(&self) -> Vec<Arc<dyn Interceptor>> {
        let loops = || Arc::new(LoopGuard::new(self.questions())) as Arc<dyn Interceptor>;
        let loops = self.guards_loops.then(loops);
        let budget = self.budget.as_ref().map(SessionBudget::guard);
        loops.into_iter().chain(budget).collect()
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

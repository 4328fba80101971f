//! An open session: its file, its agent and its tools.

mod context;
mod file;
mod following;
mod listeners;

use parking_lot::Mutex;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::context::SessionContext;
pub(crate) use self::file::{OpenError, copy, directory, relocate};
use self::file::{Opened, open_file};
use self::following::Following;
use self::listeners::{Listeners, listeners};
use crate::agents::jobs;
use crate::agents::subagents::{Registry, Subagents};
use crate::agents::terminals;
use crate::choices::{BranchChoices, Origin};
use crate::context::prompt::session_prompt;
use crate::context::reminders;
use crate::conversation::budget::SessionBudget;
use crate::conversation::compaction::message_tokens;
use crate::conversation::transcript::Transcript;
use crate::conversation::tree::TreeState;
use crate::cx::ActiveSession;
use crate::emitter::Callback;
use crate::extensions::hook_services::{QuestionHooks, SessionServices};
use crate::extensions::hooks::Source;
use crate::extensions::mcp::{self, is_server_tool};
use crate::extensions::sampling::SessionSampler;
use crate::files::checkpoints::SessionFiles;
use crate::files::code::{CodeIntelligence, Confined};
use crate::models::Models;
use crate::safety::plan::PlanFiles;
use crate::safety::programs::ProgramTrust;
use crate::safety::tool_policy::ToolPolicy;
use crate::safety::trust;
use crate::setup::{SessionChoice, SessionSetup};
use osier_agent::{
    Agent, AgentConfig, AgentMessage, History, Interceptor, RetryPolicy, Subscription, Tool,
    Transport,
};
use osier_llm::{StopReason, ThinkingLevel};
use osier_mcp::{ElicitationRules, Mcp, Sampler};
use osier_protocol::{
    EntryKind, Event, SessionContents, SessionElsewhere, SessionInfo, StoredMessage,
};
use osier_store::recorder::StoredHistory;
use osier_store::writer::Writer;
use osier_store::{
    Ending, EntryIndex, Findings, HandoverSocket, SessionDirectory, SessionStore, SessionSummary,
    State,
};
use osier_tools::{BUILT_IN, TOOL_SEARCH, UnknownTool, Workspace};

/// An open session.
#[derive(Debug)]
pub(crate) struct OpenSession {
    pub active: ActiveSession,
    pub events: Subscription<osier_agent::Event>,
    pub mcp: Mcp,
    pub code: CodeIntelligence,
    pub transcript: Transcript,
    pub tree: TreeState,
    /// The choices at the start of the branch, before any of its entries changed them.
    pub first: BranchChoices,
    origin: Origin,
    /// The entries for choices that the file does not have.
    unstored: Vec<EntryKind>,
    /// Interceptors of every agent of the session, lanes included: plugins.
    pub rules: Vec<Arc<dyn Interceptor>>,
    pub policy: ToolPolicy,
    /// Not set for a session that is not stored.
    pub files: Option<SessionFiles>,
    pub subagents: Arc<Subagents>,
    pub budget: SessionBudget,
    /// Entries of messages whose `MessageEnd` follows.
    stored: mpsc::UnboundedReceiver<String>,
    info: SessionInfo,
    /// The state at the current entry, as far as it is known.
    state: State,
    /// The messages of `SessionOpened`.
    messages: Vec<StoredMessage>,
    at_start: bool,
    elsewhere: Option<SessionElsewhere>,
    /// Waits for another process that takes the session over.
    handover: Option<AbortOnDropHandle<()>>,
}

impl Deref for OpenSession {
    type Target = ActiveSession;

    fn deref(&self) -> &ActiveSession {
        &self.active
    }
}

impl OpenSession {
    /// Opens the chosen session and starts its agent.
    pub(crate) async fn open(
        setup: &SessionSetup,
        models: &mut Models,
        (choice, origin): (SessionChoice, Origin),
        context: SessionContext,
    ) -> Result<Self, OpenError> {
        let Opened {
            store,
            ending,
            has_stopped_run,
            orphan,
        } = open_store(setup, choice).await?;
        let info = describe(setup, &store, ending.as_ref()).await?;
        let elsewhere = elsewhere(&store, &info, orphan.as_ref());
        let history = ending.as_ref().map(|ending| history(&store, ending));
        let (messages, at_start, state) = restored(ending);
        let (first, unstored) = adopt(setup, models, &state, &origin);
        // The stopped run may have ended by itself in the meantime, and a script sends its own prompt.
        let continues = has_stopped_run && setup.answers_questions && is_unfinished(&messages);
        let last_stored = messages.last().map(|stored| stored.entry_id.clone());
        let budget = context.budget(setup, &store, last_stored.clone());
        let policy = context.session_policy(setup, &store, &budget);
        let (workspace, code) = workspace(setup, &policy, &context, &store);
        let tools = tools(setup, &workspace)?;
        let mcp = start_servers(setup, &context, &workspace, &policy, &store);
        let Listeners {
            interceptors,
            rules,
            compactor,
            files,
            stored,
        } = listeners(setup, &context, &policy, &store, &workspace, (&mcp, &code));
        let transport = budget.transport(models.transport());
        let following = Following::new(setup, models, &context, (&mcp, &workspace), &transport);
        let calls = Arc::clone(&transport);
        let subagents = subagents(setup, &context, &store, (&policy, &rules), calls);
        let config = AgentConfig {
            transport,
            models: models.call_order(),
            thinking: first.level,
            system_prompt: session_prompt(setup, "", &names_of(&tools)),
            tools,
            sources: following.sources(&context, &subagents, &code, &workspace),
            interceptors: with_reminders(following.interceptors(interceptors), &subagents),
            messages: Vec::new(),
            history,
            retry: retry(setup),
            max_turns: setup.max_turns,
            temperature: setup.temperature,
            cache_key: Some(store.id().to_owned()),
            cache_retention: setup.settings.cache_retention,
            trace: setup.trace,
        };
        let agent = Agent::spawn(config);
        let active = ActiveSession {
            indexed: info.contents.is_some(),
            store: store.clone(),
            agent: agent.clone(),
            workspace,
            last_stored,
            continues,
        };
        Ok(Self {
            active,
            events: agent.subscribe(),
            transcript: Transcript::new(store.clone()),
            tree: TreeState::new(store, agent, compactor),
            first,
            origin,
            unstored,
            rules,
            policy,
            files,
            mcp,
            code,
            subagents,
            stored,
            info,
            state,
            budget,
            messages,
            at_start,
            elsewhere,
            handover: None,
        })
    }

    /// From now on another process can take the session over; `requested` gets the session and the process.
    pub(crate) fn offer_handover(
        &mut self,
        setup: &SessionSetup,
        requested: Callback<(String, u32)>,
    ) {
        let Some(path) = self.store.path().filter(|_| !self.store.is_read_only()) else {
            return;
        };
        let (folder, path) = (setup.folders.handover(), path.to_owned());
        let (id, agent) = (self.id().to_owned(), self.agent.clone());
        let offering = osier_base::task::spawn(async move {
            let name = id.clone();
            let bind = move || HandoverSocket::bind(&folder, &name, &path);
            // Without a socket, signals end this process.
            if let Ok(Ok(socket)) = osier_base::task::spawn_blocking(bind).await {
                let process = socket.requested(|| agent.state().is_streaming).await;
                requested.call((id, process));
            }
        });
        self.handover = Some(AbortOnDropHandle::new(offering));
    }

    /// The entries for choices of the branch that the file does not have. Call it once the session is indexed.
    pub(crate) fn take_unstored(&mut self) -> Vec<EntryKind> {
        std::mem::take(&mut self.unstored)
    }

    pub(crate) fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// How the session was started, until the opening is announced.
    pub(crate) fn source(&self, source: Source) -> Source {
        match source {
            Source::Startup | Source::Resume if is_new_fork(&self.store, &self.messages) => {
                Source::Fork
            }
            Source::Startup if self.info.resumed => Source::Resume,
            source => source,
        }
    }

    /// The last message of the conversation, until the opening is announced.
    pub(crate) fn last_message(&self) -> Option<&AgentMessage> {
        let mut messages = self.messages.iter().rev();
        messages
            .find(|stored| matches!(&*stored.message, AgentMessage::Assistant(_)))
            .map(|stored| &*stored.message)
    }

    /// The event that the session has opened. Call it once.
    pub(crate) fn opened_event(&mut self) -> Event {
        Event::SessionOpened {
            session: Box::new(self.info.clone()),
            messages: std::mem::take(&mut self.messages),
            at_start: self.at_start,
        }
    }

    /// The session of another directory that is open here, or could be.
    pub(crate) fn elsewhere(&self) -> Option<&SessionElsewhere> {
        self.elsewhere.as_ref()
    }

    /// The events for an event of the agent.
    pub(crate) fn events_for(
        &mut self,
        event: osier_agent::Event,
    ) -> impl Iterator<Item = Event> + use<> {
        let stored = match &event {
            osier_agent::Event::MessageEnd { id, .. } => {
                self.stored.try_recv().ok().map(|entry_id| {
                    let id = id.clone();
                    Event::MessageStored { id, entry_id }
                })
            }
            _ => None,
        };
        let derived = reminders::event(&event);
        stored
            .into_iter()
            .chain([Event::Agent(event)])
            .chain(derived)
    }

    /// Applies the result of indexing a long session. Returns the events for all that differs from the end of the file,
    /// and the level of the next request.
    pub(crate) async fn now_indexed(
        &mut self,
        setup: &SessionSetup,
        models: &mut Models,
        findings: Findings,
    ) -> (Vec<Event>, ThinkingLevel) {
        self.active.indexed = true;
        let index = self.store.index().clone();
        let task =
            osier_base::task::spawn_blocking(move || (index.state(), contents(&index, &findings)));
        let (state, contents) = task.await.unwrap_or_default();
        let mut events = vec![Event::SessionIndexed { contents }];
        if state.name != self.state.name {
            let name = state.name.clone();
            events.push(Event::SessionRenamed { name });
        }
        let (choices, unstored) = adopt(setup, models, &state, &self.origin);
        let level = choices.level;
        self.unstored = unstored;
        if (&state.model, state.thinking_level) != (&self.state.model, self.state.thinking_level) {
            self.set_models(&models.call_order(), level);
        }
        self.state = state;
        (events, level)
    }

    /// Closes the file.
    pub(crate) async fn close(self) {
        self.mcp.end().await;
        // A session that cannot be closed was deleted: there is nothing to lose.
        let _ = self.store.close().await;
    }

    /// The file of the session that `target` names.
    pub(crate) fn find(setup: &SessionSetup, target: &str) -> Result<PathBuf, OpenError> {
        Ok(SessionDirectory::new(&setup.folders.data).find(target)?)
    }
}

/// The built-in tools that the session offers.
fn tools(
    setup: &SessionSetup,
    workspace: &Arc<Workspace>,
) -> Result<Vec<Arc<dyn Tool>>, OpenError> {
    let tools = osier_tools::build(workspace, built_in(setup).as_deref());
    tools.map_err(|error| OpenError::Tools(error.to_string()))
}

fn names_of(tools: &[Arc<dyn Tool>]) -> Vec<String> {
    let names = tools.iter().map(|tool| tool.spec().name.clone());
    names.collect()
}

/// Checks that the requested tools exist.
///
/// # Errors
/// The name of one that does not, or that is of a server that is not configured.
pub fn check_tools(setup: &SessionSetup) -> Result<(), String> {
    let names = || setup.tools.iter().flatten();
    // The session offers this one when there are many tools of servers.
    let is_known = |name: &&String| osier_tools::find(name).is_some() && *name != TOOL_SEARCH;
    let unknown = names().find(|name| !is_known(name) && !is_server_tool(name));
    if let Some(name) = unknown {
        let error = UnknownTool { name: name.clone() };
        return Err(format!("{error}: {}", error.hint()));
    }
    mcp::check_tools(setup, names().filter(|name| is_server_tool(name)))
}

/// Starts the MCP servers. Permission rules know their tools by the names in the configuration.
fn start_servers(
    setup: &SessionSetup,
    context: &SessionContext,
    workspace: &Arc<Workspace>,
    policy: &ToolPolicy,
    store: &SessionStore,
) -> Mcp {
    let (questions, changed) = (context.questions.clone(), context.mcp_changed.clone());
    let news = context.sampling_news.clone();
    let sampler = Arc::new(SessionSampler::new(Writer::at_leaf(store.clone()), news));
    let rules = policy.hooks().map(|hooks| -> Arc<dyn ElicitationRules> {
        Arc::new(QuestionHooks {
            hooks: Arc::clone(hooks),
            cwd: setup.cwd.clone(),
        })
    });
    let sampling: Arc<dyn Sampler> = Arc::clone(&sampler) as _;
    let mcp = mcp::start(setup, questions, workspace, (sampling, rules), changed);
    if let Some(hooks) = policy.hooks() {
        hooks.serve(Arc::new(SessionServices {
            http: setup.settings.http(),
            environment: Arc::clone(&setup.environment),
            sampler,
            mcp: mcp.clone(),
            workspace: Arc::clone(workspace),
            policy: policy.of_hooks(),
        }));
    }
    policy.set_server_tools(Box::new(mcp::NamedTools(mcp.names())));
    mcp
}

/// The interceptors, and one that tells the model of lost work.
fn with_reminders(
    mut interceptors: Vec<Arc<dyn Interceptor>>,
    subagents: &Subagents,
) -> Vec<Arc<dyn Interceptor>> {
    interceptors.push(subagents.reminder());
    interceptors
}

/// The subagents of the session in `store`. They call models with `transport`.
fn subagents(
    setup: &SessionSetup,
    context: &SessionContext,
    store: &SessionStore,
    (policy, rules): (&ToolPolicy, &[Arc<dyn Interceptor>]),
    transport: Arc<dyn Transport>,
) -> Arc<Subagents> {
    let (emitter, news) = (context.emitter.clone(), context.subagent_news.clone());
    let registry = Registry::new(store.id(), emitter, news);
    let (rules, policy, cwd) = (rules.to_vec(), policy.clone(), setup.cwd.clone());
    Subagents::new(transport, rules, policy, cwd, retry(setup), registry)
}

fn workspace(
    setup: &SessionSetup,
    policy: &ToolPolicy,
    context: &SessionContext,
    store: &SessionStore,
) -> (Arc<Workspace>, CodeIntelligence) {
    let files = PlanFiles {
        folder: store.path().map(|_| setup.folders.plans()),
        session: store.id().to_owned(),
        current: Mutex::default(),
    };
    let plan_mode = policy.plan_mode(files, context.emitter.detached());
    let workspace = policy
        .workspace(&setup.cwd)
        .within(setup.editor.clone())
        .with_questions(policy.questions())
        .with_plan_mode(Some(Arc::new(plan_mode)));
    let changed = context.jobs_changed.clone();
    let workspace = workspace.with_job_observer(jobs::observer(changed));
    let screens = context.emitter.detached();
    let observer = terminals::observer(screens, context.terminal_news.clone());
    let workspace = workspace.with_terminals(observer);
    let settings = &setup.settings;
    let may_run = settings.lsp || settings.format;
    let trusted = may_run && trust::trusted_files(setup).runs_servers();
    let ask = trust::asker(
        setup,
        context.questions.clone(),
        context.emitter.clone(),
        context.trust_decided.clone(),
    );
    let confined = Confined {
        sandbox: Arc::clone(workspace.confinement()),
        guard: Arc::new(ProgramTrust::new(setup, context.questions.clone())),
    };
    let emitter = context.emitter.clone();
    let code = CodeIntelligence::of_session(setup, confined, trusted, ask, emitter);
    let workspace = workspace.with_code(Some(Arc::new(code.clone())));
    (Arc::new(workspace), code)
}

/// The newest messages, whether they are all of the session, and its state.
fn restored(ending: Option<Ending>) -> (Vec<StoredMessage>, bool, State) {
    let Some(ending) = ending else {
        return (Vec::new(), true, State::default());
    };
    (ending.messages, ending.at_start, ending.state)
}

/// Whether the session is a copy of another one, without a message that is newer than the copy.
fn is_new_fork(store: &SessionStore, messages: &[StoredMessage]) -> bool {
    let header = store.header();
    let is_copied = |last: &StoredMessage| header.begins_after(last.message.timestamp());
    header.parent_session.is_some() && messages.last().is_none_or(is_copied)
}

/// The messages before the end of the session.
fn history(store: &SessionStore, ending: &Ending) -> Arc<dyn History> {
    let (store, leaf) = (store.clone(), ending.leaf.clone());
    Arc::new(StoredHistory::new(store, leaf, message_tokens))
}

async fn open_store(setup: &SessionSetup, choice: SessionChoice) -> Result<Opened, OpenError> {
    let setup = setup.clone();
    let task = osier_base::task::spawn_blocking(move || {
        let directory = directory(&setup).map_err(OpenError::Tools)?;
        let places = (&*setup.cwd, &*setup.folders.handover());
        open_file(&directory, places, choice)
    });
    task.await
        .map_err(|error| OpenError::Tools(error.to_string()))?
}

fn retry(setup: &SessionSetup) -> RetryPolicy {
    RetryPolicy {
        max_retries: setup.max_retries.unwrap_or(setup.settings.max_retries),
        ..RetryPolicy::default()
    }
}

/// The built-in tools that `--tools` selects.
fn built_in(setup: &SessionSetup) -> Option<Vec<String>> {
    let names = setup.tools.as_ref()?.iter();
    Some(
        names
            .filter(|name| BUILT_IN.iter().any(|tool| tool.name == **name))
            .cloned()
            .collect(),
    )
}

/// The file of the session that `target` names: a path, an id, or the start of one.
///
/// # Errors
/// There is no such session, or several.
pub fn find(data: &Path, target: &str) -> Result<PathBuf, String> {
    let found = SessionDirectory::new(data).find(target);
    found.map_err(|error| OpenError::from(error).to_string())
}

/// The info of `SessionOpened`.
async fn describe(
    setup: &SessionSetup,
    store: &SessionStore,
    ending: Option<&Ending>,
) -> Result<SessionInfo, OpenError> {
    let findings = match ending {
        Some(ending) if !ending.complete => None,
        _ => Some(store.findings().await?),
    };
    let parent = store.header().parent_session.clone();
    let directory = SessionDirectory::new(&setup.folders.data);
    let fork_of = osier_base::task::spawn_blocking(move || directory.source_title(&parent?));
    Ok(SessionInfo {
        fork_of: fork_of.await.ok().flatten(),
        id: store.id().to_owned(),
        path: store.path().map(|path| path.to_string_lossy().into_owned()),
        cwd: setup.cwd.to_string_lossy().into_owned(),
        name: ending.and_then(|ending| ending.state.name.clone()),
        resumed: ending.is_some(),
        read_only: store.is_read_only(),
        contents: findings
            .as_ref()
            .map(|findings| contents(store.index(), findings)),
        recovered_draft: findings.is_some_and(|findings| findings.recovered_draft.is_some()),
    })
}

/// The open session if it ran in another directory, or one to open instead.
fn elsewhere(
    store: &SessionStore,
    info: &SessionInfo,
    orphan: Option<&SessionSummary>,
) -> Option<SessionElsewhere> {
    let here = &info.cwd;
    if let Some(orphan) = orphan {
        let directories = (&*orphan.cwd, &**here);
        let elsewhere = SessionElsewhere::new(&orphan.id, &orphan.path, directories, false);
        return Some(elsewhere);
    }
    let ran_in = &*store.header().cwd;
    let path = store.path().filter(|_| info.resumed && !info.read_only)?;
    let real = |path: &str| std::fs::canonicalize(path).ok();
    let is_here = ran_in.is_empty()
        || ran_in == here
        || real(ran_in).is_some_and(|ran| Some(ran) == real(here));
    (!is_here).then(|| SessionElsewhere::new(store.id(), path, (ran_in, here), true))
}

/// Whether the run of the last message did not come to its end.
fn is_unfinished(messages: &[StoredMessage]) -> bool {
    messages.last().is_some_and(|last| match &*last.message {
        AgentMessage::Assistant(answer) => answer.stop_reason != StopReason::Stop,
        _ => true,
    })
}

fn contents(index: &EntryIndex, findings: &Findings) -> SessionContents {
    SessionContents {
        messages: index.shown(),
        damaged_lines: findings.damaged,
        usage: index.usage(),
    }
}

/// Selects the model and the level at the current entry. Returns them, and the entries for those that the branch does not
/// have.
fn adopt(
    setup: &SessionSetup,
    models: &mut Models,
    state: &State,
    origin: &Origin,
) -> (BranchChoices, Vec<EntryKind>) {
    let (continued, flag) = match origin {
        Origin::CommandLine => (None, setup.thinking.or(models.level())),
        Origin::Continued(choices) => (Some(choices), None),
        Origin::Stored => (None, None),
    };
    let is_named = *origin == Origin::CommandLine && setup.model.is_some();
    let continued_model = continued.and_then(|choices| choices.model.as_ref());
    let continued_model = continued_model.filter(|model| **model != models.chosen_name());
    let model = state.model.as_ref().or(continued_model);
    if let Some((provider, id)) = model.filter(|_| !is_named) {
        models.choose_stored(provider, id);
    }
    let general = setup
        .thinking
        .or(models.level())
        .or(setup.settings.thinking);
    let general = general.unwrap_or_else(|| models.chosen().default_thinking());
    let stored = state.thinking_level;
    let level = flag.or(stored).or(continued.map(|choices| choices.level));
    let choices = BranchChoices {
        model: Some(models.chosen_name()),
        level: level.unwrap_or(general),
    };
    // The next start may have other flags.
    let settled = setup.settings.thinking;
    let settled = settled.unwrap_or_else(|| models.chosen().default_thinking());
    let known = BranchChoices {
        // An answer names its model. A model that cannot be called stays the model of the branch.
        model: match &state.model {
            Some(model) if is_named => Some(model.clone()),
            _ => choices.model.clone(),
        },
        level: stored.unwrap_or(settled),
    };
    let entries = choices.entries(&known);
    (choices, entries)
}

/// The next events of the open session; pending without one.
pub(crate) async fn next_events(
    session: &mut Option<OpenSession>,
) -> impl Iterator<Item = Event> + use<> {
    if let Some(session) = session
        && let Some(event) = session.events.recv().await
    {
        return session.events_for(event);
    }
    std::future::pending().await
}

//! A session that is open: its file, its agent, its tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::checkpoints::SessionFiles;
use super::event::{Event, SessionContents, SessionInfo, SessionSummary};
use super::jobs;
use super::opening::open_file;
use super::servers::{self, is_server_tool};
use super::setup::{HostSetup, SessionChoice};
use super::transcript::Transcript;
use super::tree::TreeState;
use super::wires::Wires;
use crate::compaction::Compactor;
use crate::guard::Guard;
use crate::models::Models;
use crate::prompt::{PromptParts, system_prompt};
use crate::subagents::SubAgents;
use osier_agent::{
    Agent, AgentConfig, History, Interceptor, RetryPolicy, Subscription, ToolSource,
};
use osier_extensions::hooks::Role;
use osier_llm::ThinkingLevel;
use osier_mcp::{Mcp, Mentions};
use osier_store::recorder::{Keeper, StoredHistory};
use osier_store::writer::Writer;
use osier_store::{
    Ending, Findings, Scope, SessionDirectory, SessionError, SessionIndex, SessionStore, State,
    StoredMessage,
};
use osier_tools::{UnknownTool, Workspace};

/// One open session.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub store: SessionStore,
    pub agent: Agent,
    pub events: Subscription<osier_agent::Event>,
    pub workspace: Arc<Workspace>,
    pub mcp: Mcp,
    pub transcript: Transcript,
    pub tree: TreeState,
    /// What is told of every agent of the session, those of a fan included: plug-ins.
    pub rules: Vec<Arc<dyn Interceptor>>,
    pub guard: Guard,
    /// Not set for a session that is not stored.
    pub files: Option<SessionFiles>,
    pub subagents: Arc<SubAgents>,
    /// The whole file is indexed.
    pub indexed: bool,
    /// Entries of the messages whose `MessageEnd` is on its way.
    stored: mpsc::UnboundedReceiver<String>,
    info: SessionInfo,
    /// What holds at the leaf, as far as it is known.
    state: State,
    /// What is told when the session opens.
    messages: Vec<StoredMessage>,
    /// Entry of the last message that was there when the session was opened.
    pub last_stored: Option<String>,
    at_start: bool,
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("{error}{}", hint(error))]
    Session {
        #[from]
        error: SessionError,
    },
    #[error("{0}")]
    Tools(String),
}

/// What was read of the session's file.
pub(super) struct Opened {
    store: SessionStore,
    /// Not set for a session that is new.
    ending: Option<Ending>,
}

impl OpenSession {
    /// Opens the chosen session and starts its agent.
    pub(super) async fn open(
        setup: &HostSetup,
        models: &mut Models,
        choice: SessionChoice,
        wires: Wires,
    ) -> Result<Self, OpenError> {
        let Opened { store, ending } = open_store(setup, choice).await?;
        let info = describe(setup, &store, ending.as_ref()).await?;
        let indexed = info.contents.is_some();
        let history = ending.as_ref().map(|ending| {
            let leaf = ending.leaf.clone();
            Arc::new(StoredHistory::new(store.clone(), leaf)) as Arc<dyn History>
        });
        let (messages, at_start, state) = match ending {
            Some(ending) => (ending.messages, ending.at_start, ending.state),
            None => (Vec::new(), true, State::default()),
        };
        let thinking = adopt(setup, models, &state);
        let chosen = models.chosen();
        let first = (Some((chosen.provider.clone(), chosen.id.clone())), thinking);
        let guard = wires.guard_of(&store);
        let workspace = guard.workspace(&setup.cwd).within(setup.editor.clone());
        let workspace = workspace.with_job_observer(jobs::observer(wires.jobs.clone()));
        let workspace = Arc::new(workspace);
        let tools = osier_tools::build(&workspace, built_in(setup).as_deref())
            .map_err(|error| OpenError::Tools(error.to_string()))?;
        let mcp = servers::start(setup, &wires, &workspace);
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let Listeners {
            interceptors,
            rules,
            compactor,
            files,
            stored,
        } = listeners(setup, (&wires, &guard), &store, (&workspace, &mcp));
        let transport = models.transport();
        let retry = retry(setup);
        let subagents = SubAgents::new(
            Arc::clone(&transport),
            (rules.clone(), guard.clone()),
            setup.cwd.clone(),
            retry,
        );
        let config = AgentConfig {
            transport,
            models: models.call_order(),
            thinking,
            system_prompt: prompt(setup, "", &names),
            tools,
            sources: vec![
                Arc::new(mcp.clone()),
                Arc::clone(&wires.plugins) as Arc<dyn ToolSource>,
                Arc::clone(&subagents) as Arc<dyn ToolSource>,
            ],
            interceptors,
            messages: Vec::new(),
            history,
            retry,
            max_turns: setup.max_turns,
            temperature: setup.temperature,
            cache_key: Some(store.id().to_owned()),
            trace: setup.trace,
        };
        let agent = Agent::spawn(config);
        Ok(Self {
            events: agent.subscribe(),
            transcript: Transcript::new(store.clone(), wires.publisher),
            tree: TreeState::new(compactor, first),
            rules,
            guard,
            store,
            agent,
            workspace,
            files,
            mcp,
            subagents,
            indexed,
            stored,
            info,
            state,
            last_stored: messages.last().map(|stored| stored.entry_id.clone()),
            messages,
            at_start,
        })
    }

    pub(super) fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// The event that tells of this session, once.
    pub(super) fn opened_event(&mut self) -> Event {
        Event::SessionOpened {
            session: Box::new(self.info.clone()),
            messages: std::mem::take(&mut self.messages),
            at_start: self.at_start,
        }
    }

    /// The events that an event of the agent becomes.
    pub(super) fn told(
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
        stored.into_iter().chain([Event::Agent(event)])
    }

    /// Takes what indexing the rest of a long session has shown. What the end of its file did not say is
    /// made good: the events for it, and the level of the next request.
    pub(super) async fn now_indexed(
        &mut self,
        setup: &HostSetup,
        models: &mut Models,
        findings: Findings,
    ) -> (Vec<Event>, ThinkingLevel) {
        self.indexed = true;
        let index = self.store.index().clone();
        let task =
            tokio::task::spawn_blocking(move || (index.state(), contents(&index, &findings)));
        let (state, contents) = task.await.unwrap_or_default();
        let mut events = vec![Event::SessionIndexed { contents }];
        if state.name != self.state.name {
            let name = state.name.clone();
            events.push(Event::SessionRenamed { name });
        }
        let level = adopt(setup, models, &state);
        if (&state.model, state.thinking_level) != (&self.state.model, self.state.thinking_level) {
            let models = models.call_order();
            let models = models.iter().map(|model| (**model).clone()).collect();
            self.agent.send(osier_agent::Op::SetModels { models });
            self.agent.send(osier_agent::Op::SetThinkingLevel { level });
        }
        self.state = state;
        (events, level)
    }

    /// Gives the file up.
    pub(super) async fn close(self) {
        self.mcp.end().await;
        // A session that cannot be closed was removed from under us: nothing is left to lose.
        let _ = self.store.close().await;
    }

    /// The file of the session that `target` names.
    pub(super) fn find(setup: &HostSetup, target: &str) -> Result<PathBuf, OpenError> {
        Ok(SessionDirectory::new(&setup.folders.data).find(target)?)
    }

    /// The stored sessions, newest first. Blocks.
    pub(super) fn list(setup: &HostSetup, all: bool) -> Vec<SessionSummary> {
        list(&setup.folders.data, &setup.cwd, all)
    }

    /// Whether the tools asked for exist.
    pub(super) fn check_tools(setup: &HostSetup) -> Result<(), String> {
        let unknown = setup
            .tools
            .iter()
            .flatten()
            .find(|name| osier_tools::find(name).is_none() && !is_server_tool(name));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let error = UnknownTool { name: name.clone() };
                Err(format!("{error}: {}", error.hint()))
            }
        }
    }
}

async fn open_store(setup: &HostSetup, choice: SessionChoice) -> Result<Opened, OpenError> {
    let place = (setup.folders.data.clone(), setup.cwd.clone());
    let task = tokio::task::spawn_blocking(move || open_file(&place.0, &place.1, choice));
    task.await
        .map_err(|error| OpenError::Tools(error.to_string()))?
}

fn retry(setup: &HostSetup) -> RetryPolicy {
    RetryPolicy {
        max_retries: setup.max_retries.unwrap_or(setup.settings.max_retries),
        ..RetryPolicy::default()
    }
}

/// What listens to a session's agent.
struct Listeners {
    interceptors: Vec<Arc<dyn Interceptor>>,
    rules: Vec<Arc<dyn Interceptor>>,
    compactor: Compactor,
    files: Option<SessionFiles>,
    stored: mpsc::UnboundedReceiver<String>,
}

fn listeners(
    setup: &HostSetup,
    (wires, guard): (&Wires, &Guard),
    store: &SessionStore,
    (workspace, mcp): (&Arc<Workspace>, &Mcp),
) -> Listeners {
    let (tell_stored, stored) = mpsc::unbounded_channel();
    let writer = Writer::at_leaf(store.clone());
    let automatic = setup.settings.auto_compact;
    let compactor = Compactor::new(writer.clone(), tell_stored.clone(), automatic);
    // What a plug-in changes is judged and stored as it has become.
    let rules: Vec<Arc<dyn Interceptor>> = vec![Arc::new(wires.plugins.interceptor())];
    let (hooks, gate) = guard.around(workspace, Role::Main);
    let hooks = hooks.map(|hooks| hooks as Arc<dyn Interceptor>);
    let own: [Arc<dyn Interceptor>; 4] = [
        Arc::new(Mentions::new(mcp, Arc::clone(workspace))),
        Arc::new(Keeper::new(writer, tell_stored)),
        Arc::new(compactor.clone()),
        // Behind everything that may change what a call does.
        Arc::new(gate),
    ];
    let files = store
        .path()
        .filter(|_| setup.settings.checkpoints)
        .map(|_| SessionFiles::new(setup, store, &wires.publisher));
    // Last: what another rule denies changes nothing.
    let last = files.iter().map(SessionFiles::interceptor);
    Listeners {
        interceptors: rules
            .iter()
            .cloned()
            .chain(hooks)
            .chain(own)
            .chain(last)
            .collect(),
        rules,
        compactor,
        files,
        stored,
    }
}

/// The system prompt of a session that offers `tools`.
pub(super) fn prompt(setup: &HostSetup, context: &str, tools: &[String]) -> String {
    system_prompt(PromptParts {
        cwd: &setup.cwd,
        directories: &setup.directories,
        replacement: setup.system_prompt.as_deref(),
        addition: setup.append_system_prompt.as_deref(),
        context,
        tools,
    })
}

/// The tools of the program that `--tools` asks for.
fn built_in(setup: &HostSetup) -> Option<Vec<String>> {
    let names = setup.tools.as_ref()?.iter();
    Some(
        names
            .filter(|name| !is_server_tool(name))
            .cloned()
            .collect(),
    )
}

/// The file of the session that `target` names: a path, an id, or the start of one.
///
/// # Errors
/// One sentence that says what there is instead.
pub fn find(data: &Path, target: &str) -> Result<PathBuf, String> {
    let found = SessionDirectory::new(data).find(target);
    found.map_err(|error| OpenError::from(error).to_string())
}

/// The stored sessions of `cwd`, or of every directory, newest first. Blocks.
fn list(data: &Path, cwd: &Path, all: bool) -> Vec<SessionSummary> {
    let directory = SessionDirectory::new(data);
    let scope = if all { Scope::All } else { Scope::Project(cwd) };
    let summaries = directory.list(scope);
    summaries
        .into_iter()
        .map(|summary| SessionSummary {
            id: summary.id,
            path: summary.path.to_string_lossy().into_owned(),
            cwd: summary.cwd,
            name: summary.name,
            first_prompt: summary.first_prompt,
            modified: summary.modified,
            size: summary.size,
        })
        .collect()
}

/// What is told of the session when it opens.
async fn describe(
    setup: &HostSetup,
    store: &SessionStore,
    ending: Option<&Ending>,
) -> Result<SessionInfo, OpenError> {
    let findings = match ending {
        Some(ending) if !ending.complete => None,
        _ => Some(store.findings().await?),
    };
    Ok(SessionInfo {
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

fn contents(index: &SessionIndex, findings: &Findings) -> SessionContents {
    SessionContents {
        messages: index.shown(),
        damaged_lines: findings.damaged,
        usage: index.usage(),
    }
}

/// Takes the model and the level that hold at the leaf, unless others were asked for.
fn adopt(setup: &HostSetup, models: &mut Models, state: &State) -> ThinkingLevel {
    if let Some((provider, id)) = state.model.as_ref().filter(|_| setup.model.is_none()) {
        models.choose_stored(provider, id);
    }
    let thinking = setup.thinking.or(state.thinking_level).or(models.level());
    thinking.or(setup.settings.thinking).unwrap_or_default()
}

impl From<(SessionStore, Ending)> for Opened {
    fn from((store, ending): (SessionStore, Ending)) -> Self {
        let ending = Some(ending);
        Self { store, ending }
    }
}

impl Opened {
    pub(super) fn empty(store: SessionStore) -> Self {
        Self {
            store,
            ending: None,
        }
    }
}

fn hint(error: &SessionError) -> String {
    error
        .hint()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default()
}

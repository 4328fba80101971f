//! A session that is open: its file, its agent, its tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::event::{Event, SessionInfo, SessionSummary};
use super::setup::{HostSetup, SessionChoice};
use crate::agent::{
    self, Agent, AgentConfig, AgentMessage, ProviderTransport, RetryPolicy, Subscription,
};
use crate::coding::keeper::Keeper;
use crate::coding::models::Models;
use crate::coding::prompt::{PromptParts, system_prompt};
use crate::coding::session::{
    Header, Loaded, Scope, SessionDirectory, SessionError, SessionStore, SessionTree,
};
use crate::coding::spending::Spending;
use crate::coding::tools::{self, UnknownTool, Workspace};

/// One open session.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub store: SessionStore,
    pub agent: Agent,
    pub events: Subscription<agent::Event>,
    pub workspace: Arc<Workspace>,
    info: SessionInfo,
    messages: Vec<Arc<AgentMessage>>,
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
struct Opened {
    store: SessionStore,
    tree: SessionTree,
    resumed: bool,
    damaged_lines: usize,
    recovered_draft: bool,
}

impl OpenSession {
    /// Opens the chosen session and starts its agent.
    pub(super) async fn open(
        setup: &HostSetup,
        models: &mut Models,
        choice: SessionChoice,
    ) -> Result<Self, OpenError> {
        let place = (setup.folders.data.clone(), setup.cwd.clone());
        let task = tokio::task::spawn_blocking(move || open_file(&place.0, &place.1, choice));
        let opened = task
            .await
            .map_err(|error| OpenError::Tools(error.to_string()))??;
        let Opened {
            store,
            tree,
            resumed,
            damaged_lines,
            recovered_draft,
        } = opened;
        let messages: Vec<Arc<AgentMessage>> = tree
            .context(tree.leaf())
            .into_iter()
            .map(Arc::new)
            .collect();
        let state = tree.state_at(tree.leaf());
        if let Some((provider, id)) = state.model.filter(|_| setup.model.is_none()) {
            models.choose_stored(&provider, &id);
        }
        let thinking = setup.thinking.or(state.thinking_level).or(models.level());
        let thinking = thinking.or(setup.settings.thinking).unwrap_or_default();
        let workspace = Arc::new(Workspace::new(&setup.cwd));
        let tools = tools::build(&workspace, setup.tools.as_deref())
            .map_err(|error| OpenError::Tools(error.to_string()))?;
        let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let prompt = system_prompt(PromptParts {
            cwd: &setup.cwd,
            replacement: setup.system_prompt.as_deref(),
            addition: setup.append_system_prompt.as_deref(),
            tools: &names,
        });
        let config = AgentConfig {
            transport: Arc::new(ProviderTransport::new(
                models.provider(),
                Some(models.keys()),
            )),
            models: models.call_order(),
            thinking,
            system_prompt: prompt,
            tools,
            interceptors: vec![Arc::new(Keeper::new(store.clone()))],
            messages: messages.clone(),
            retry: RetryPolicy {
                max_retries: setup.max_retries.unwrap_or(setup.settings.max_retries),
                ..RetryPolicy::default()
            },
            max_turns: setup.max_turns,
            temperature: setup.temperature,
            cache_key: Some(store.id().to_owned()),
            trace: setup.trace,
        };
        let agent = Agent::spawn(config);
        let info = SessionInfo {
            id: store.id().to_owned(),
            path: store.path().map(|path| path.to_string_lossy().into_owned()),
            cwd: setup.cwd.to_string_lossy().into_owned(),
            name: state.name,
            resumed,
            damaged_lines,
            recovered_draft,
        };
        Ok(Self {
            events: agent.subscribe(),
            store,
            agent,
            workspace,
            info,
            messages,
        })
    }

    /// The event that tells of this session, once.
    pub(super) fn opened_event(&self) -> Event {
        Event::SessionOpened {
            session: Box::new(self.info.clone()),
            messages: self.messages.clone(),
        }
    }

    /// What the session had used when it was opened.
    pub(super) fn spending(&self) -> Spending {
        Spending::of_messages(self.messages.iter().map(|message| &**message))
    }

    /// Gives the file up.
    pub(super) async fn close(self) {
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
            .find(|name| tools::find(name).is_none());
        match unknown {
            None => Ok(()),
            Some(name) => {
                let error = UnknownTool { name: name.clone() };
                Err(format!("{error}: {}", error.hint()))
            }
        }
    }
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
pub fn list(data: &Path, cwd: &Path, all: bool) -> Vec<SessionSummary> {
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

/// Opens or creates the file. Blocks while it reads.
fn open_file(data: &Path, cwd: &Path, choice: SessionChoice) -> Result<Opened, OpenError> {
    let directory = SessionDirectory::new(data);
    let path = match choice {
        SessionChoice::New => None,
        SessionChoice::Unstored => {
            return Ok(Opened::empty(SessionStore::in_memory(
                Header::new(cwd),
                &[],
            )?));
        }
        SessionChoice::Continue => directory.latest(cwd).map(|summary| summary.path),
        SessionChoice::Resume(target) => Some(directory.find(&target)?),
        SessionChoice::File(path) if path.exists() => Some(path),
        SessionChoice::File(path) => {
            return Ok(Opened::empty(SessionStore::create(path, Header::new(cwd))?));
        }
    };
    if let Some(path) = path {
        return Ok(Opened::loaded(SessionStore::open(&path)?));
    }
    let header = Header::new(cwd);
    Ok(Opened::empty(SessionStore::create(
        directory.path_for(&header),
        header,
    )?))
}

impl Opened {
    fn empty(store: SessionStore) -> Self {
        Self {
            store,
            tree: SessionTree::default(),
            resumed: false,
            damaged_lines: 0,
            recovered_draft: false,
        }
    }

    fn loaded((store, loaded): (SessionStore, Loaded)) -> Self {
        Self {
            tree: SessionTree::from(&loaded),
            store,
            resumed: true,
            damaged_lines: loaded.damaged,
            recovered_draft: loaded.recovered_draft.is_some(),
        }
    }
}

fn hint(error: &SessionError) -> String {
    error
        .hint()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default()
}

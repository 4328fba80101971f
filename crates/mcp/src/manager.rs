//! The servers of one session: their configuration, their state, and the tools for the agent. One task owns
//! them. It starts on demand and in the background, so that no prompt waits for a server; dropping the handle
//! ends all servers.

use osier_base::{sort, text};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use globset::GlobSet;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::attached::Attached;
use super::changes::ToolChanges;
use super::client::Client;
use super::config::{self, Servers};
use super::elicitation::ElicitationRules;
use super::entry::{Entry, Known};
use super::log::ServerLog;
use super::login::Logins;
use super::sampling::{Sampler, Sampling};
use super::server::{Command, ServerTask, ServerUpdate};
use super::tools::Link;
use super::working_directory::StartGuard;
use osier_agent::{Severity, ToolContext, ToolOrigin, ToolOutput, ToolSet, ToolSource, UpdateSink};
use osier_base::config_file::ConfigFile;
use osier_base::problem::Problem;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions};
use osier_protocol::{ServerAction, ServerInfo, ServerState};
use osier_tools::Workspace;

/// Time for all servers together to end.
const END_TIME: Duration = Duration::from_secs(4);
/// How long a call waits for a server that restarts, if no user is present.
const CALL_PATIENCE: Duration = Duration::from_secs(10);
/// How long a run waits for servers that restart before it begins.
const RESTART_PATIENCE: Duration = Duration::from_secs(5);
/// Time for the user to sign in.
const LOGIN_TIME: Duration = Duration::from_mins(15);

/// The configuration of a session's servers.
#[derive(Debug, Clone)]
pub struct McpSetup {
    /// The configuration files, in order of increasing priority.
    pub files: Vec<ConfigFile>,
    /// Whether servers of the user may start in the project.
    pub trusted: bool,
    /// Servers that no file configures. They have priority over the servers of the files.
    pub given: Vec<config::ServerConfig>,
    pub environment: Arc<BTreeMap<String, String>>,
    pub cwd: PathBuf,
    /// The directory for the working directories of servers that do not start in the project.
    pub folders: PathBuf,
    /// The directory for logs.
    pub logs: PathBuf,
    pub logins: Logins,
    pub questions: Questions,
    /// Answers questions of servers before the user is asked.
    pub rules: Option<Arc<dyn ElicitationRules>>,
    pub workspace: Arc<Workspace>,
    /// The tools to offer, by their full names; all when not set.
    pub wanted: Option<GlobSet>,
    /// If set, only this server is used.
    pub only: Option<String>,
    /// Write every message to the logs.
    pub trace: bool,
    /// Calls the model for servers; not set where there is no session.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Whether the user can answer questions. If not, calls wait for servers that restart.
    pub is_interactive: bool,
    /// Decides whether a program may start; if not set, every program may start.
    pub guard: Option<Arc<dyn StartGuard>>,
}

/// Events of the servers for their session.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerEvent {
    /// The states of the servers.
    Servers(Vec<ServerInfo>),
    /// The tools changed: the agent must reload them.
    Tools,
    Notice {
        severity: Severity,
        text: String,
    },
}

/// The servers of one session. Cheap to clone; dropping the last handle ends them.
#[derive(Debug, Clone)]
pub struct Mcp {
    shared: Arc<Shared>,
    orders: mpsc::UnboundedSender<Order>,
    progress: watch::Receiver<Progress>,
    _task: Arc<AbortOnDropHandle<()>>,
}

/// State that other tasks can read at any time.
#[derive(Debug, Default)]
pub(super) struct Shared {
    tools: Mutex<ToolSet>,
    /// The data of the servers by name.
    pub(super) known: Mutex<BTreeMap<String, Known>>,
}

/// The state of all servers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Starting,
    /// Some servers have failed and wait for the next attempt.
    Restarting,
    Settled,
}

#[derive(Debug)]
enum Order {
    Act(String, ServerAction),
    List,
    Load(Vec<ConfigFile>, bool),
    SignedIn(String, Result<(), String>),
    End(oneshot::Sender<()>),
}

impl Mcp {
    /// Starts all configured servers in parallel and returns immediately.
    pub fn start(setup: McpSetup, events: mpsc::UnboundedSender<ServerEvent>) -> Self {
        let shared = Arc::new(Shared::default());
        let (orders, ordered) = mpsc::unbounded_channel();
        let (told, progress) = watch::channel(Progress::Starting);
        let (updates, received) = mpsc::unbounded_channel();
        let manager = Manager {
            setup,
            shared: Arc::clone(&shared),
            entries: Vec::new(),
            events,
            updates,
            orders: orders.downgrade(),
            progress: told,
        };
        let task = osier_base::task::spawn(manager.run(ordered, received));
        Self {
            shared,
            orders,
            progress,
            _task: Arc::new(AbortOnDropHandle::new(task)),
        }
    }

    /// Calls a tool of a server outside of a run of the agent. `tool` is the server's own name of
    /// the tool.
    ///
    /// # Errors
    /// There is no such tool, or the call failed; in one line.
    pub async fn call(&self, server: &str, tool: &str, arguments: Value) -> Result<String, String> {
        let wanted = ToolOrigin::Server {
            server: server.to_owned(),
            tool: tool.to_owned(),
        };
        let found = self
            .shared
            .tools()
            .iter()
            .find(|it| it.origin() == wanted)
            .cloned();
        let found =
            found.ok_or_else(|| format!("no running MCP server `{server}` has a tool `{tool}`"))?;
        let output = match found.prepare(arguments).await {
            Ok(mut call) => {
                let cx = ToolContext {
                    call_id: String::new(),
                    cancel: CancellationToken::new(),
                    updates: UpdateSink::discard(),
                };
                call.run(cx).await
            }
            Err(refusal) => ToolOutput::from(refusal),
        };
        if output.status.is_success() {
            Ok(output.text())
        } else {
            Err(text::single_line(&output.text()))
        }
    }

    /// Performs `action` on the server `name`; an unknown name is reported as a notice.
    pub fn act(&self, name: &str, action: ServerAction) {
        // The task lives as long as a handle.
        let _ = self.orders.send(Order::Act(name.to_owned(), action));
    }

    /// Requests the states of the servers. The answer is `ServerEvent::Servers`.
    pub fn list(&self) {
        let _ = self.orders.send(Order::List);
    }

    /// Replaces the configuration files by `files`. New servers start, changed servers restart,
    /// removed servers end.
    pub fn load(&self, files: Vec<ConfigFile>, trusted: bool) {
        let _ = self.orders.send(Order::Load(files, trusted));
    }

    /// Waits until no server is starting, at most `limit`.
    pub async fn settled(&self, limit: Duration) {
        let mut progress = self.progress.clone();
        let over = progress.wait_for(|progress| *progress != Progress::Starting);
        let _ = tokio::time::timeout(limit, over).await;
    }

    /// Waits until no server is starting, at most `limit`, and a short time for servers that
    /// restart. Returns the names of servers that are not ready yet but may be later.
    pub async fn ready(&self, limit: Duration) -> Vec<String> {
        let mut progress = self.progress.clone();
        let over = progress.wait_for(|progress| *progress == Progress::Settled);
        let patience = RESTART_PATIENCE.min(limit);
        let is_late = tokio::time::timeout(patience, over).await.is_err();
        if is_late {
            self.settled(limit.saturating_sub(RESTART_PATIENCE)).await;
        }
        let servers = self.servers().into_iter();
        let late = servers.filter(|server| {
            matches!(
                server.state,
                ServerState::Starting | ServerState::Waiting { .. }
            )
        });
        late.map(|server| server.name).collect()
    }

    /// Ends all servers gracefully.
    pub async fn end(&self) {
        let (done, ended) = oneshot::channel();
        if self.orders.send(Order::End(done)).is_ok() {
            let _ = tokio::time::timeout(END_TIME, ended).await;
        }
    }

    /// A handle that returns the servers and their tools by name at any time. It keeps no server
    /// running.
    pub fn names(&self) -> ServerNames {
        ServerNames(Arc::clone(&self.shared))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The current states of the servers.
    pub fn servers(&self) -> Vec<ServerInfo> {
        let known = self.shared.known.lock();
        known.values().map(|known| known.info.clone()).collect()
    }
}

impl ToolSource for Mcp {
    fn tools(&self) -> ToolSet {
        self.shared.tools().clone()
    }
}

impl Shared {
    fn tools(&self) -> MutexGuard<'_, ToolSet> {
        self.tools.lock()
    }
}

/// The names of the servers and of their tools.
#[derive(Debug)]
pub struct ServerNames(Arc<Shared>);

impl ServerNames {
    /// The server and the tool that models call `name`.
    pub fn tool(&self, name: &str) -> Option<(String, String)> {
        let tools = self.0.tools();
        let tool = tools.iter().find(|tool| tool.spec().name == name)?;
        match tool.origin() {
            ToolOrigin::Server { server, tool } => Some((server, tool)),
            _ => None,
        }
    }

    /// The names of all configured servers.
    pub fn servers(&self) -> Vec<String> {
        let known = self.0.known.lock();
        known.keys().cloned().collect()
    }
}

/// The state of the task.
struct Manager {
    setup: McpSetup,
    shared: Arc<Shared>,
    /// The entries, sorted by name.
    entries: Vec<Entry>,
    events: mpsc::UnboundedSender<ServerEvent>,
    updates: mpsc::UnboundedSender<(String, ServerUpdate)>,
    orders: mpsc::WeakUnboundedSender<Order>,
    progress: watch::Sender<Progress>,
}

impl Manager {
    async fn run(
        mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut received: mpsc::UnboundedReceiver<(String, ServerUpdate)>,
    ) {
        self.load().await;
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    None => return,
                    Some(Order::End(done)) => {
                        self.end().await;
                        let _ = done.send(());
                        return;
                    }
                    Some(Order::Load(files, trusted)) => {
                        (self.setup.files, self.setup.trusted) = (files, trusted);
                        self.load().await;
                    }
                    Some(order) => self.obey(order),
                },
                Some((name, update)) = received.recv() => self.apply(&name, update),
            }
        }
    }

    /// Applies the configuration of the files.
    async fn load(&mut self) {
        let (files, environment) = (
            self.setup.files.clone(),
            Arc::clone(&self.setup.environment),
        );
        let read = osier_base::task::spawn_blocking(move || config::load(&files, &environment));
        let Servers {
            mut servers,
            problems,
        } = read.await.unwrap_or_default();
        let given = self.setup.given.iter().cloned();
        servers.extend(given.map(|server| (server.name.clone(), server)));
        self.report(&problems);
        if !self.setup.trusted {
            servers.retain(|_, server| {
                let starts = !server.wants_project(&self.setup.cwd);
                if !starts {
                    self.report(&[server.untrusted()]);
                }
                starts
            });
        }
        self.entries
            .retain(|entry| servers.get(&entry.info.name) == Some(&*entry.config));
        for (name, config) in servers {
            let is_wanted = self.setup.only.as_ref().is_none_or(|only| *only == name);
            let runs = self.entries.iter().any(|entry| entry.info.name == name);
            if is_wanted && !runs {
                self.add(config);
            }
        }
        sort::by(&mut self.entries, |one, other| {
            one.info.name.cmp(&other.info.name)
        });
        self.publish();
    }

    fn report(&self, problems: &[Problem]) {
        for problem in problems {
            self.notice(Severity::Warning, problem.to_string());
        }
    }

    fn add(&mut self, config: config::ServerConfig) {
        let config = Arc::new(config);
        let log = Arc::new(ServerLog::new(
            &self.setup.logs,
            &config.name,
            config.hidden.clone(),
        ));
        let (changed, changes) = mpsc::unbounded_channel();
        let tool_changes = ToolChanges::default();
        let attached = Attached::default();
        let (refused, refusals) = mpsc::unbounded_channel();
        let (commands, commanded) = mpsc::unbounded_channel();
        let patience = if self.setup.is_interactive {
            Duration::ZERO
        } else {
            CALL_PATIENCE
        };
        let link = Arc::new(Link::down("it is disabled", patience));
        let client = Client {
            server: config.name.clone(),
            cwd: self.setup.cwd.clone(),
            folder: log.folder_in(&self.setup.folders),
            questions: self.setup.questions.clone(),
            rules: self.setup.rules.clone(),
            changed,
            tool_changes: tool_changes.clone(),
            attached: attached.clone(),
            refused,
            followed: Arc::default(),
            asking: super::client::Asking::default(),
            sampling: Sampling {
                rule: config.sampling,
                sampler: self.setup.sampler.clone(),
                is_interactive: self.setup.is_interactive,
                spent: Arc::default(),
            },
            log: Arc::clone(&log),
        };
        let task = ServerTask {
            config: Arc::clone(&config),
            wanted: self.setup.wanted.clone(),
            client,
            link: Arc::clone(&link),
            workspace: Arc::clone(&self.setup.workspace),
            logins: self.setup.logins.clone(),
            trace: self.setup.trace,
            guard: self.setup.guard.clone(),
            changed: changes,
            refusals,
            commands: commanded,
            updates: self.updates.clone(),
        };
        let task = AbortOnDropHandle::new(osier_base::task::spawn(task.run()));
        let entry = Entry::new(config, link, attached, &log, commands, tool_changes, task);
        self.entries.push(entry);
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Act(name, action) => self.act(&name, action),
            Order::List => self.send(ServerEvent::Servers(self.infos())),
            Order::SignedIn(name, outcome) => match outcome {
                Ok(()) => {
                    self.notice(
                        Severity::Info,
                        format!("signed in to the MCP server `{name}`"),
                    );
                    self.act(&name, ServerAction::Restart);
                }
                Err(error) => {
                    let text = format!("cannot sign in to the MCP server `{name}`: {error}");
                    self.notice(Severity::Error, text);
                }
            },
            Order::Load(..) | Order::End(_) => {}
        }
    }

    fn act(&mut self, name: &str, action: ServerAction) {
        let Some(entry) = self.entries.iter().find(|entry| entry.info.name == name) else {
            let names: Vec<&str> = self
                .entries
                .iter()
                .map(|entry| entry.info.name.as_str())
                .collect();
            let text = match names.as_slice() {
                [] => format!("unknown MCP server `{name}`: no server is configured"),
                names => format!(
                    "unknown MCP server `{name}`; expected one of {}",
                    names.join(", ")
                ),
            };
            return self.notice(Severity::Error, text);
        };
        match action {
            ServerAction::Restart | ServerAction::Enable => entry.command(Command::Start),
            ServerAction::Disable => entry.command(Command::Stop),
            ServerAction::Login => self.log_in(entry),
            ServerAction::Logout => {
                let (logins, config) = (self.setup.logins.clone(), Arc::clone(&entry.config));
                let (commands, events) = (entry.commands(), self.events.clone());
                osier_base::task::spawn(async move {
                    let (severity, text) = match logins.forget(&config).await {
                        Ok(true) => (
                            Severity::Info,
                            format!("signed out of the MCP server `{}`", config.name),
                        ),
                        Ok(false) => (
                            Severity::Warning,
                            format!("not signed in to the MCP server `{}`", config.name),
                        ),
                        Err(error) => (Severity::Error, error),
                    };
                    let _ = events.send(ServerEvent::Notice { severity, text });
                    let _ = commands.send(Command::Start);
                });
            }
        }
    }

    /// Signs in without blocking the task: the user opens the URL, and the browser is redirected back.
    fn log_in(&self, entry: &Entry) {
        let (logins, config) = (self.setup.logins.clone(), Arc::clone(&entry.config));
        let (questions, orders) = (self.setup.questions.clone(), self.orders.clone());
        osier_base::task::spawn(async move {
            let outcome = tokio::time::timeout(LOGIN_TIME, sign_in(&logins, &config, &questions));
            let outcome = outcome
                .await
                .unwrap_or_else(|_| Err("the sign-in was not completed in time".to_owned()));
            let outcome = outcome.map_err(|message| config.hidden.hide(&message));
            if let Some(orders) = orders.upgrade() {
                let _ = orders.send(Order::SignedIn(config.name.clone(), outcome));
            }
        });
    }

    fn apply(&mut self, name: &str, update: ServerUpdate) {
        let Some(entry) = self
            .entries
            .iter_mut()
            .find(|entry| entry.info.name == name)
        else {
            return;
        };
        let (notices, changes) = match update {
            ServerUpdate::State { state, error } => (vec![entry.set_state(state, error)], None),
            ServerUpdate::Lists(lists) => {
                let changes = lists.tools.is_some().then_some(lists.tool_changes);
                (entry.set_lists(*lists), changes)
            }
        };
        for (severity, text) in notices.into_iter().flatten() {
            self.notice(severity, text);
        }
        self.publish();
        let entry = self.entries.iter().find(|entry| entry.info.name == name);
        if let (Some(entry), Some(changes)) = (entry, changes) {
            entry.tool_changes.listed(changes);
        }
    }

    /// Publishes the state for other tasks, and reports changes.
    fn publish(&mut self) {
        let tools: ToolSet = self.entries.iter().flat_map(Entry::offered).collect();
        let changed = {
            let mut known = self.shared.tools.lock();
            let same = known.len() == tools.len()
                && known
                    .iter()
                    .zip(&tools)
                    .all(|(one, other)| Arc::ptr_eq(one, other));
            if !same {
                *known = tools;
            }
            !same
        };
        let known = self
            .entries
            .iter()
            .map(|entry| (entry.info.name.clone(), entry.known()));
        let known = known.collect();
        *self.shared.known.lock() = known;
        if changed {
            self.send(ServerEvent::Tools);
        }
        if !self.entries.is_empty() {
            self.send(ServerEvent::Servers(self.infos()));
        }
        let of_servers = self.entries.iter().map(|entry| match entry.info.state {
            ServerState::Starting => Progress::Starting,
            ServerState::Waiting { .. } => Progress::Restarting,
            _ => Progress::Settled,
        });
        let progress = of_servers.min().unwrap_or(Progress::Settled);
        self.progress.send_replace(progress);
    }

    fn infos(&self) -> Vec<ServerInfo> {
        self.entries
            .iter()
            .map(|entry| entry.info.clone())
            .collect()
    }

    async fn end(&mut self) {
        let ends = self.entries.drain(..).map(Entry::end);
        futures_util::future::join_all(ends).await;
    }

    fn send(&self, event: ServerEvent) {
        // The session may have ended.
        let _ = self.events.send(event);
    }

    fn notice(&self, severity: Severity, text: String) {
        self.send(ServerEvent::Notice { severity, text });
    }
}

async fn sign_in(
    logins: &Logins,
    config: &config::ServerConfig,
    questions: &Questions,
) -> Result<(), String> {
    let login = logins.begin(config).await?;
    let question = Question {
        id: String::new(),
        origin: format!("the MCP server `{}`", config.name),
        subagent: None,
        title: "Sign in with a browser; this dialog closes when you are done".to_owned(),
        subject: None,
        kind: QuestionKind::Visit {
            url: login.url().to_owned(),
        },
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let finish = login.finish();
    tokio::pin!(finish);
    tokio::select! {
        outcome = &mut finish => outcome,
        answer = questions.ask(question, &cancel) => match answer {
            // The user opened the URL: wait for the redirect.
            Answer::Yes => finish.await,
            _ => Err("the sign-in was cancelled".to_owned()),
        },
    }
}

//! The handle of a host and the task behind it: one session at a time, its agent, and what the user
//! asks for around them. It wires and forwards; decisions belong to the agent and its interceptors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::asked::{Asked, Jobs, Posted};
use super::choice::level_entry;
use super::context::{HostContext, Reading};
use super::event::Event;
use super::fan::EndedFan;
use super::hooks::{HookState, Source};
use super::library::Shelf;
use super::login::RunningLogin;
use super::op::{NO_SESSION, Op};
use super::plugins::PluginState;
use super::safety;
use super::session::{OpenError, OpenSession};
use super::setup::{HostSetup, SessionChoice};
use super::shell::RunningShell;
use super::status::Counted;
use super::transcript::missing_page;
use super::tree::TreeJob;
use crate::models::{ModelError, Models};
use crate::refresh::Refreshed;
use crate::spending::Spending;
use osier_agent::{Publisher, Severity, Subscription};
use osier_extensions::hooks::{HookNews, Hooks};
use osier_extensions::plugins::Plugins;
use osier_extensions::plugins::link;
use osier_extensions::plugins::link::Link;
use osier_llm::{Model, ThinkingLevel};
use osier_mcp::Told;
use osier_permissions::Permissions;
use osier_permissions::trust::project_root;
use osier_protocol::questions::{Questions, Request, Waiting};
use osier_sandbox::Confinement;
use osier_store::prompt_draft::UnsentKeeper;
use osier_store::{EntryKind, Findings};
use osier_tools::todo_list::TodoList;
use osier_transfer::Imported;

/// A running host. Cheap to clone; needs a tokio runtime.
#[derive(Debug, Clone)]
pub struct Host {
    pub(super) ops: mpsc::UnboundedSender<(Option<u64>, Op)>,
    /// The number of the next op that is asked.
    pub(super) requests: Arc<AtomicU64>,
    pub(super) publisher: Arc<Publisher<Event>>,
    pub(super) questions: Questions,
}

/// Why a host cannot start. The text is for the person who typed the command.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{0}")]
    Tools(String),
}

/// What comes back from work done beside the task.
#[derive(Debug)]
pub(super) enum Job {
    Publish(Box<Event>),
    Discovered(Vec<Model>),
    ContextRead,
    PluginsChanged,
    ShellEnded(Box<osier_agent::ShellRun>),
    /// A background job has begun or ended.
    JobsChanged,
    LoginEnded {
        provider: String,
        error: Option<String>,
    },
    /// The rest of the session with this id has been read.
    Indexed(String, Result<Findings, String>),
    /// Work on the tree has come to something.
    Tree(TreeJob),
    /// What the MCP servers say.
    Servers(Told),
    /// What the session with this id had used when it was opened.
    Counted(String, Box<Spending>),
    /// Newly published models were asked for.
    Refreshed(Result<Refreshed, String>),
    /// The person trusts the project's files, or not.
    Trusted(bool),
    /// A session was imported; whether it is to be opened.
    Imported(Box<Imported>, bool),
    /// What was set out to do in the session with this id, and how often a list had been told before.
    Todo(String, u64, TodoList),
    /// The file of the session was looked at for `GetStatus`.
    Status(Counted),
}

impl Host {
    /// Checks the setup and starts the host's task. The session is opened by the task, so that a screen
    /// can show first; its failure is an event.
    pub fn start(setup: HostSetup) -> Result<(Self, Subscription<Event>), HostError> {
        let (models, problems) = Models::load(&setup)?;
        OpenSession::check_tools(&setup).map_err(HostError::Tools)?;
        let publisher = Arc::new(Publisher::new());
        let events = publisher.subscribe();
        let (ops, received) = mpsc::unbounded_channel();
        let (jobs, finished) = Jobs::new();
        let (questions, asked) = Questions::new();
        let permissions = safety::permissions(&setup);
        let confinement = safety::confinement(&setup, &questions);
        let (link, plugins) = Link::new();
        let (hooks, hook_news) = Hooks::new(project_root(&setup.cwd));
        for problem in problems {
            let text = problem.to_string();
            publisher.publish(Event::HostNotice {
                severity: Severity::Warning,
                text,
                request: None,
            });
        }
        let shelf = Shelf::new(&setup.folders.data);
        let task = Task {
            plugins: Plugins::new(link, questions.clone(), setup.cwd.clone()),
            plugin_state: PluginState::default(),
            hooks,
            hook_state: HookState::default(),
            setup,
            models,
            publisher: Arc::clone(&publisher),
            jobs,
            session: None,
            waiting: Vec::new(),
            shell: None,
            followed_job: None,
            login: None,
            spending: Spending::default(),
            spent_before: None,
            level: ThinkingLevel::default(),
            before_role: None,
            walk: CancellationToken::new(),
            questions_waiting: Waiting::default(),
            fan: None,
            questions: questions.clone(),
            permissions,
            confinement,
            context: HostContext::default(),
            shelf,
            unsent: None,
            todo: (TodoList::default(), 0),
            compacting: false,
        };
        tokio::spawn(task.serve(Inbox {
            ops: received,
            jobs: finished,
            asked,
            plugins,
            hook_news,
        }));
        let host = Self {
            ops,
            requests: Arc::default(),
            publisher,
            questions,
        };
        Ok((host, events))
    }

    /// Tells the host to do something. Never blocks.
    pub fn send(&self, op: Op) {
        // A host that has ended has nothing left to do.
        let _ = self.ops.send((None, op));
    }

    /// A number that no op has had: for `ask`, and for the ops that carry one.
    pub fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// The same as `send`, for whoever wants to hear what comes of it: notices about it name `request`, and
    /// `Event::OpEnded` with it is the last of them. Never blocks.
    pub fn ask(&self, request: u64, op: Op) {
        let _ = self.ops.send((Some(request), op));
    }

    /// The way to the person, for what an embedder adds.
    pub fn questions(&self) -> Questions {
        self.questions.clone()
    }

    /// Every event from now on.
    pub fn subscribe(&self) -> Subscription<Event> {
        self.publisher.subscribe()
    }
}

/// Everything that reaches the task.
struct Inbox {
    ops: mpsc::UnboundedReceiver<(Option<u64>, Op)>,
    jobs: mpsc::UnboundedReceiver<Posted>,
    asked: mpsc::UnboundedReceiver<Request>,
    plugins: mpsc::UnboundedReceiver<link::Request>,
    hook_news: mpsc::UnboundedReceiver<HookNews>,
}

/// The task's state. One owner, no locks.
pub(super) struct Task {
    pub(super) setup: HostSetup,
    pub(super) models: Models,
    pub(super) publisher: Arc<Publisher<Event>>,
    pub(super) jobs: Jobs,
    pub(super) session: Option<OpenSession>,
    /// Ops that need the whole session, while it is still being read.
    pub(super) waiting: Vec<(Option<Arc<Asked>>, Op)>,
    pub(super) shell: Option<RunningShell>,
    /// Sends the output of a background job.
    pub(super) followed_job: Option<AbortOnDropHandle<()>>,
    pub(super) login: Option<RunningLogin>,
    /// What the open session has used since it was opened.
    pub(super) spending: Spending,
    /// What it had used before, once that was asked for and counted.
    pub(super) spent_before: Option<Spending>,
    /// The level that was asked for last; the agent's own state lags behind its ops.
    pub(super) level: ThinkingLevel,
    /// What was chosen before a role was.
    pub(super) before_role: Option<(Arc<Model>, ThinkingLevel)>,
    /// Ends the walk for `@` completion when the host ends.
    pub(super) walk: CancellationToken,
    pub(super) questions_waiting: Waiting,
    pub(super) shelf: Shelf,
    pub(super) unsent: Option<UnsentKeeper>,
    /// What the agent has set out to do, as it was told last, and how often that was.
    pub(super) todo: (TodoList, u64),
    /// A summary is being written.
    pub(super) compacting: bool,
    /// Lanes whose files are still here.
    pub(super) fan: Option<EndedFan>,
    pub(super) questions: Questions,
    pub(super) permissions: Arc<Permissions>,
    pub(super) confinement: Arc<Confinement>,
    pub(super) context: HostContext,
    pub(super) plugins: Arc<Plugins>,
    pub(super) plugin_state: PluginState,
    pub(super) hooks: Arc<Hooks>,
    pub(super) hook_state: HookState,
}

impl Task {
    async fn serve(mut self, mut inbox: Inbox) {
        self.load_hooks();
        self.open(self.setup.session.clone(), Source::Startup).await;
        self.read_context(Reading::Everything);
        self.look_around();
        self.ask_for_trust();
        loop {
            tokio::select! {
                biased;
                op = inbox.ops.recv() => match op {
                    None | Some((_, Op::ShutDown)) => break,
                    Some((request, op)) => self.receive(request, op).await,
                },
                Some(request) = inbox.asked.recv() => self.question(request),
                Some(request) = inbox.plugins.recv() => self.plugin_asks(request).await,
                Some(news) = inbox.hook_news.recv() => self.hook_news(news),
                Some(job) = inbox.jobs.recv() => self.take(job).await,
                events = next_events(&mut self.session) => self.forward(events),
            }
        }
        self.walk.cancel();
        self.shelf.close();
        self.end_unsent().await;
        self.end_shell(&mut inbox.jobs).await;
        self.close("prompt_input_exit").await;
        while let Ok(news) = inbox.hook_news.try_recv() {
            self.hook_news(news);
        }
        self.plugins.close();
        self.models.settle().await;
        self.publish(Event::ShutDown);
    }

    pub(super) fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.publish(Event::HostNotice {
            severity,
            text: text.into(),
            request: None,
        });
    }

    /// Passes on what the agent says.
    pub(super) fn forward(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            match &event {
                Event::Agent(osier_agent::Event::Accounting { entry }) => self.spending.add(entry),
                Event::Agent(osier_agent::Event::AgentSettled { .. }) => self.index_later(),
                _ => {}
            }
            if let Some(entry) = Self::nested_cost(&event).cloned() {
                self.spending.add(&entry);
                self.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
            }
            let settled = matches!(
                &event,
                Event::Agent(osier_agent::Event::AgentSettled { .. })
            );
            self.await_person(&event);
            self.note_compaction(&event);
            self.note_todo(&event);
            self.publish(event);
            if settled {
                self.settled_for_plugins();
            }
        }
    }

    pub(super) async fn apply(&mut self, op: Op) {
        let unread = self
            .session
            .as_ref()
            .is_some_and(|session| !session.indexed);
        if (unread || self.context.is_reading()) && needs_whole_session(&op) {
            self.waiting.push((self.jobs.asked(), op));
            return;
        }
        match op {
            Op::Agent(op) => self.apply_agent(op).await,
            Op::Tree(op) => self.apply_tree(op).await,
            Op::Checkpoint(op) => self.apply_checkpoint(op),
            Op::Exchange(op) => self.apply_exchange(op),
            Op::Library(op) => self.apply_library(op).await,
            Op::NewSession => {
                self.close("clear").await;
                let choice = match self.setup.session {
                    SessionChoice::Unstored => SessionChoice::Unstored,
                    _ => SessionChoice::New,
                };
                self.open(choice, Source::Clear).await;
            }
            Op::ResumeSession { target, opening } => self.resume(target, opening).await,
            Op::ListSessions { all } => self.list_sessions(all),
            Op::ReadTranscript { request, page } => match &self.session {
                Some(session) => {
                    let jobs = self.jobs.clone();
                    session
                        .transcript
                        .read((request, page), session.indexed, jobs);
                }
                None => self.publish(missing_page(request)),
            },
            Op::SearchTranscript { request, query } => {
                if let Some(session) = &mut self.session {
                    let indexed = session.indexed;
                    let (search, jobs) = ((request, query.as_str()), self.jobs.clone());
                    session.transcript.search(search, indexed, jobs);
                }
            }
            Op::RenameSession { name } => self.rename(name).await,
            Op::ListModels => self.list_models(),
            Op::RefreshModels => self.refresh_models_now(),
            Op::SelectModel { reference } => self.select_model(&reference).await,
            Op::CycleModel { backward } => match self.models.cycled(backward) {
                Some(model) => self.choose(model, None).await,
                None => self.notice(
                    Severity::Warning,
                    "there is no other model with a key to cycle to",
                ),
            },
            Op::CycleThinkingLevel => self.cycle_thinking().await,
            Op::SwitchRole { role } => self.switch_role(role).await,
            Op::SetRole { role, reference } => self.set_role(role, reference.as_deref()),
            Op::SetFavourite { reference, on } => self.set_favourite(&reference, on),
            Op::Shell {
                command,
                exclude_from_context,
            } => self.run_shell(command, exclude_from_context),
            Op::AbortShell => self.abort_shell(),
            Op::ListJobs => self.list_jobs(),
            Op::FollowJob { id } => self.follow_job(id),
            Op::KillJob { id } => self.kill_job(id),
            Op::ListFiles => self.list_files(),
            Op::ListHistory => self.list_history(),
            Op::AddHistory { text } => {
                self.send_unsent(&text);
                self.add_history(&text);
            }
            Op::KeepUnsent { text } => self.keep_unsent(text),
            Op::FindUnsent => self.find_unsent(),
            op => self.apply_around(op).await,
        }
    }

    /// What concerns neither the conversation nor its models.
    async fn apply_around(&mut self, op: Op) {
        match op {
            Op::StashPrompt { .. } | Op::ListStash | Op::DropStashed { .. } => {
                self.apply_stash(op).await;
            }
            Op::GetUsage => self.tell_usage(),
            Op::GetStatus => self.tell_status(),
            Op::ListAccounts => self.list_accounts(),
            Op::Login { provider, method } => self.log_in(&provider, method),
            Op::LoginInput { text } => self.login_input(&text),
            Op::CancelLogin => self.cancel_login(),
            Op::Logout { provider } => self.log_out(&provider).await,
            Op::SetPermissions { mode } => self.set_permissions(mode),
            Op::CyclePermissions => self.set_permissions(self.permissions.mode().next()),
            Op::ListPermissions => self.tell_permissions(),
            Op::AddPermission { grant } => self.add_permission(&grant),
            Op::RemovePermission { rule } => self.remove_permission(&rule),
            Op::AnswerQuestion { id, answer } => self.answer(id, answer),
            Op::ListQuestions => self.list_questions(),
            Op::ListMcpServers => self.list_servers(),
            Op::McpServer { name, action } => self.act_on_server(&name, action),
            Op::PressPluginKey { plugin, keys } => {
                self.plugins.press(&plugin, &keys);
            }
            Op::ListHooks => self.list_hooks(),
            Op::ListContext => self.publish_context(),
            Op::Reload => self.reload().await,
            // `apply` and the loop have taken the others.
            _ => {}
        }
    }

    async fn apply_agent(&mut self, mut op: osier_agent::Op) {
        if !self.expand(&mut op) {
            return;
        }
        match &op {
            osier_agent::Op::Abort => {
                self.plugins.interrupt();
                self.hooks.interrupt();
                if let Some(shell) = &self.shell {
                    shell.cancel();
                }
            }
            osier_agent::Op::SetThinkingLevel { level } => {
                self.level = *level;
                self.store(level_entry(*level)).await;
            }
            osier_agent::Op::SetTools { names } => {
                // The prompt names tools, too.
                if let Some(session) = &self.session {
                    let prompt = self.prompt(names);
                    session
                        .agent
                        .send(osier_agent::Op::SetSystemPrompt { prompt });
                }
            }
            _ => {}
        }
        match &self.session {
            Some(session) if unwanted(&op, session) => {
                self.notice(
                    Severity::Warning,
                    "the conversation was not replaced: a run is on",
                );
            }
            Some(session) => {
                self.jobs.passed_on();
                session.agent.send(op);
            }
            None => self.notice(Severity::Error, NO_SESSION),
        }
    }

    pub(super) async fn finish(&mut self, job: Job) {
        match job {
            Job::Trusted(trusted) => self.trusted(trusted),
            Job::Counted(id, spending) => self.counted(&id, *spending),
            Job::Refreshed(outcome) => self.refreshed(outcome),
            Job::Imported(imported, open) => self.imported(imported, open).await,
            Job::Indexed(id, findings) => {
                if self
                    .session
                    .as_ref()
                    .is_some_and(|session| session.store.id() == id)
                {
                    self.indexed(findings).await;
                }
            }
            Job::ContextRead => self.context_read().await,
            Job::PluginsChanged => self.read_context(Reading::Plugins),
            Job::Publish(event) => self.publish(*event),
            Job::Tree(job) => self.finish_tree(job).await,
            Job::JobsChanged => self.list_jobs(),
            Job::Servers(told) => self.servers_said(told),
            Job::Discovered(found) => {
                if self.models.discovered(found) {
                    self.publish_models();
                    if let Some(model) = self.models.better_default() {
                        self.choose(model, None).await;
                    }
                }
            }
            Job::LoginEnded { provider, error } => self.login_ended(provider, error).await,
            Job::ShellEnded(run) => self.shell_ended(*run),
            Job::Todo(id, told, list) => self.found_todo(&id, told, list),
            Job::Status(counted) => self.publish_status(&counted),
        }
    }

    async fn reload(&mut self) {
        self.load_settings();
        self.load_hooks();
        self.load_servers();
        self.read_context(Reading::Everything);
        match Models::load(&self.setup) {
            Ok((models, problems)) => {
                self.models.reloaded(models).await;
                for problem in problems {
                    self.notice(Severity::Warning, problem.to_string());
                }
                self.try_again();
                self.ask_server().await;
                self.publish_models();
                // A key may be there where nothing but the tour could answer.
                if let Some(model) = self.models.better_default() {
                    self.choose(model, None).await;
                }
            }
            Err(error) => self.notice(Severity::Error, error.to_string()),
        }
    }

    /// Stores an entry that is no message. A failure is told; the change itself stays.
    pub(super) async fn store(&self, kind: EntryKind) -> bool {
        let Some(session) = &self.session else {
            return false;
        };
        let stored = session.store.append(kind).await;
        if let Err(error) = &stored {
            self.notice(Severity::Warning, format!("not stored: {error}"));
        }
        stored.is_ok()
    }
}

/// What the session's agent says next; waits for ever when there is none.
async fn next_events(session: &mut Option<OpenSession>) -> impl Iterator<Item = Event> + use<> {
    if let Some(session) = session
        && let Some(event) = session.events.recv().await
    {
        return session.told(event);
    }
    std::future::pending().await
}

/// Whether an op would pull the conversation from under a run.
fn unwanted(op: &osier_agent::Op, session: &OpenSession) -> bool {
    matches!(op, osier_agent::Op::ReplaceMessages { .. }) && session.agent.state().is_streaming
}

/// Whether an op has to do with the whole conversation, or stores something behind it.
fn needs_whole_session(op: &Op) -> bool {
    matches!(
        op,
        Op::Agent(_)
            | Op::Tree(_)
            | Op::RenameSession { .. }
            | Op::SelectModel { .. }
            | Op::CycleModel { .. }
            | Op::CycleThinkingLevel
            | Op::SwitchRole { .. }
    )
}

impl From<OpenError> for String {
    fn from(error: OpenError) -> Self {
        error.to_string()
    }
}

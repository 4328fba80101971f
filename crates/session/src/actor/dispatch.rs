//! The actor: its state, its loop, and the dispatch of requests to features. Decisions belong to the features, the
//! agent and its interceptors.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::NO_SESSION;
use super::mailbox::{Delivery, Queue};
use crate::agents::fan::{FanOutcome, FanState};
use crate::agents::jobs::JobView;
use crate::agents::shell::UserShell;
use crate::agents::terminals::TerminalNews;
use crate::context::commands::{CommandState, PreparedCommand};
use crate::context::project::{ContextState, Expanded, Scope};
use crate::context::workspace::WorkingDirectory;
use crate::conversation::drafts::Drafts;
use crate::conversation::history::PromptHistory;
use crate::conversation::stash::Stash;
use crate::conversation::titles::{Titled, Titles};
use crate::conversation::todo::{StoredTodo, TodoState};
use crate::conversation::transcript::missing_page;
use crate::conversation::tree::{TreeOutcome, append};
use crate::conversation::usage::{ContextUsage, EarlierUsage, Usage};
use crate::emitter::{ActiveRequest, Emitter};
use crate::extensions::hooks::{HookRunner, Source};
use crate::extensions::plugins::PluginHost;
use crate::files::checkpoints::Pruning;
use crate::files::sweeping::Sweeping;
use crate::models::accounts::Accounts;
use crate::models::accounts::login::{LoginOutcome, Logins};
use crate::models::refresh::Refreshed;
use crate::models::{ModelSelection, Models, SmallModelRequest, refresh_now};
use crate::safety::permissions::PermissionState;
use crate::safety::private_files;
use crate::safety::review::ReviewNews;
use crate::safety::trust::TrustDecision;
use crate::sessions::open_session::{OpenSession, next_events};
use crate::sessions::questions::PendingQuestions;
use crate::sessions::session_index::IndexHandle;
use crate::sessions::status::StoredStatus;
use crate::setup::{SessionChoice, SessionSetup};
use osier_agent::{Publisher, Severity, ShellRun};
use osier_base::problem::Problem;
use osier_extensions::hooks::HookNews;
use osier_extensions::plugins::channel;
use osier_llm::Model;
use osier_mcp::ServerEvent;
use osier_protocol::questions::{Questions, Request};
use osier_protocol::{EntryKind, Event, Op};
use osier_store::Findings;

/// Results of background work.
#[derive(Debug)]
pub(super) enum Completion {
    Publish(Box<Event>),
    Discovered(Vec<Model>),
    /// A run has ended during which a better default model was found.
    DefaultChanged,
    ContextRead,
    PluginsChanged,
    ShellEnded(Box<ShellRun>),
    /// The prompt of a slash command is ready.
    CommandPrepared(PreparedCommand),
    /// Whether the hooks of Claude Code run.
    ClaudeHooks(bool),
    /// A background job has begun or ended.
    JobsChanged,
    Terminals(TerminalNews),
    LoginEnded(LoginOutcome),
    /// The file of the session with this id is indexed.
    Indexed(String, Result<Findings, String>),
    Tree(TreeOutcome),
    Fan(FanOutcome),
    /// What auto review wants.
    Review(ReviewNews),
    Sampling(crate::extensions::sampling::SamplingNews),
    /// The compactor or a search needs the small model.
    SmallModel(SmallModelRequest),
    Titled(Titled),
    /// What the MCP servers say.
    McpChanged(ServerEvent),
    UsageCounted(EarlierUsage),
    ContextMeasured(Box<ContextUsage>),
    Refreshed(Result<Refreshed, String>),
    /// Whether the user trusts the project.
    Trusted(TrustDecision),
    /// A session was imported; whether to open it.
    #[cfg(feature = "transfer")]
    Imported(Box<osier_protocol::Imported>, bool),
    TodoRead(StoredTodo),
    StatusRead(StoredStatus),
}

/// An op, with a number if the client waits for the outcome.
pub(super) type Numbered = (Option<u64>, Op);

/// Everything that the actor receives.
struct Inbox {
    ops: mpsc::UnboundedReceiver<Numbered>,
    jobs: mpsc::UnboundedReceiver<Delivery>,
    questions: mpsc::UnboundedReceiver<Request>,
    plugins: channel::Requests,
    hook_news: mpsc::UnboundedReceiver<HookNews>,
}

/// The state of the actor. One owner, no locks.
pub(super) struct Actor {
    pub(super) setup: SessionSetup,
    pub(super) selection: ModelSelection,
    pub(super) emitter: Emitter,
    pub(super) queue: Queue,
    pub(super) session: Option<OpenSession>,
    /// Requests that need the complete session while it is still loading.
    pub(super) waiting: Vec<(Option<Arc<ActiveRequest>>, Op)>,
    pub(super) shell: UserShell,
    pub(super) job_view: JobView,
    pub(super) drafts: Drafts,
    pub(super) stash: Stash,
    pub(super) history: PromptHistory,
    pub(super) directory: WorkingDirectory,
    pub(super) pending_questions: PendingQuestions,
    pub(super) usage: Usage,
    pub(super) todo: TodoState,
    pub(super) titles: Titles,
    pub(super) logins: Logins,
    pub(super) index: IndexHandle,
    pub(super) fan: FanState,
    pub(super) pruning: Pruning,
    pub(super) sweeping: Sweeping,
    pub(super) questions: Questions,
    pub(super) permissions: PermissionState,
    pub(super) context: ContextState,
    pub(super) commands: CommandState,
    pub(super) plugins: PluginHost,
    pub(super) hooks: HookRunner,
}

impl Actor {
    /// Starts the actor and publishes the problems of its setup. Returns the way to ask the user.
    pub(super) fn spawn(
        setup: SessionSetup,
        models: Models,
        received: mpsc::UnboundedReceiver<Numbered>,
        publisher: Arc<Publisher<Event>>,
        problems: Vec<Problem>,
    ) -> Questions {
        let (queue, finished) = Queue::new();
        let (questions, pending) = Questions::new();
        let (plugins, plugin_requests) = PluginHost::new(questions.clone(), setup.cwd.clone());
        let (hooks, hook_news) = HookRunner::new(&setup.cwd);
        let emitter = Emitter::new(publisher, Arc::new(queue.clone()));
        for problem in problems {
            emitter.notice(Severity::Warning, problem.to_string());
        }
        let permissions = PermissionState::new(&setup, &questions);
        permissions.warn(&emitter);
        let actor = Actor {
            plugins,
            hooks,
            permissions,
            selection: ModelSelection::new(models),
            emitter,
            queue,
            session: None,
            waiting: Vec::new(),
            shell: UserShell::default(),
            job_view: JobView::default(),
            drafts: Drafts::new(&setup.folders, &setup.cwd),
            stash: Stash::new(&setup.folders, &setup.cwd),
            history: PromptHistory::new(setup.folders.history()),
            directory: WorkingDirectory::new(setup.cwd.clone()),
            pending_questions: PendingQuestions::new(setup.answers_questions),
            usage: Usage::default(),
            todo: TodoState::default(),
            titles: Titles::default(),
            logins: Logins::default(),
            index: IndexHandle::new(&setup.folders, &setup.cwd),
            fan: FanState::default(),
            pruning: Pruning::default(),
            sweeping: Sweeping::new(&setup.folders, &setup.cwd),
            questions: questions.clone(),
            context: ContextState::default(),
            commands: CommandState::default(),
            setup,
        };
        osier_base::task::spawn(actor.serve(Inbox {
            ops: received,
            jobs: finished,
            questions: pending,
            plugins: plugin_requests,
            hook_news,
        }));
        questions
    }

    async fn serve(mut self, mut inbox: Inbox) {
        let faults = self.hooks.load(&self.setup, &self.emitter);
        self.setup.settings.without_hooks(faults);
        self.permissions.hold(&self.setup, &self.emitter);
        self.wait_for_local_models().await;
        self.open(self.setup.session.clone(), Source::Startup).await;
        self.read_context(Scope::Everything);
        self.start_discovery();
        self.ask_for_trust();
        self.ask_about_claude_hooks();
        private_files::restrict(&self.setup.folders, self.emitter.detached());
        self.sweeping.start();
        loop {
            tokio::select! {
                biased;
                op = inbox.ops.recv() => match op {
                    None | Some((_, Op::ShutDown)) => break,
                    Some((request, op)) => self.receive(request, op).await,
                },
                Some(request) = inbox.questions.recv() => self.question(request),
                Some(request) = inbox.plugins.recv() => self.plugin_request(request).await,
                Some(news) = inbox.hook_news.recv() => self.hook_news(news),
                Some(job) = inbox.jobs.recv() => self.take(job).await,
                events = next_events(&mut self.session) => {
                    self.forward(events);
                    self.return_to_model().await;
                }
            }
        }
        self.directory.close();
        self.index.close();
        self.drafts.close().await;
        self.end_shell(&mut inbox.jobs).await;
        self.close("prompt_input_exit").await;
        while let Ok(news) = inbox.hook_news.try_recv() {
            self.hook_news(news);
        }
        self.plugins.loaded_plugins().close();
        self.selection.models.settle().await;
        self.publish(Event::ShutDown);
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each request")]
    pub(super) async fn apply(&mut self, op: Op) {
        let unread = self
            .session
            .as_ref()
            .is_some_and(|session| !session.indexed);
        if (unread || self.context.is_reading()) && op.request().needs_session {
            self.waiting.push((self.emitter.request(), op));
            return;
        }
        match op {
            Op::Agent(op) => self.apply_agent(op).await,
            Op::Tree(op) => self.apply_tree(op).await,
            Op::Checkpoint(op) => self.apply_checkpoint(op),
            #[cfg(feature = "transfer")]
            Op::Transfer(op) => self.apply_transfer(op),
            #[cfg(not(feature = "transfer"))]
            Op::Transfer(_) => self.notice(
                Severity::Error,
                "this build has no import and export: build osier with the feature `transfer`",
            ),
            Op::Index(op) => self.apply_library(op).await,
            Op::NewSession => {
                self.close("clear").await;
                let choice = match self.setup.session {
                    SessionChoice::Unstored => SessionChoice::Unstored,
                    _ => SessionChoice::New,
                };
                self.open(choice, Source::Clear).await;
            }
            Op::ResumeSession { target, opening } => self.resume(target, opening).await,
            Op::ListSessions { all, limit } => {
                IndexHandle::list((all, limit), &self.setup, &self.emitter);
            }
            Op::ReadTranscript { request, page } => match &self.session {
                Some(session) => {
                    let jobs = self.emitter.clone();
                    session
                        .transcript
                        .read(request, page, session.indexed, jobs);
                }
                None => self.publish(missing_page(request)),
            },
            Op::SearchTranscript { request, query } => {
                if let Some(session) = &mut self.session {
                    let indexed = session.indexed;
                    let emitter = self.emitter.clone();
                    session.transcript.search(request, &query, indexed, emitter);
                }
            }
            Op::RenameSession { name } => self.rename(name).await,
            Op::ListModels => self.selection.list(&mut self.setup, &self.emitter),
            Op::RefreshModels => refresh_now(&self.setup, self.callback(Completion::Refreshed)),
            Op::SelectModel { reference } => {
                let choice = self.selection.find(&reference, &self.emitter);
                self.choose_some(choice).await;
            }
            Op::CycleModel { backward } => {
                let choice = self.selection.cycle(backward, &self.emitter);
                self.choose_some(choice).await;
            }
            Op::CycleThinkingLevel => {
                if let Some(session) = &self.session {
                    let session = session.for_models();
                    self.selection.cycle_thinking(session, &self.emitter).await;
                }
            }
            Op::SwitchRole { role } => {
                let setup = &mut self.setup;
                let choice = self.selection.switch_role(role, setup, &self.emitter);
                self.choose_some(choice).await;
            }
            Op::SetRole { role, reference } => {
                let (setup, reference) = (&mut self.setup, reference.as_deref());
                self.selection
                    .set_role(role, reference, setup, &self.emitter);
            }
            Op::SetFavourite { reference, on } => {
                let setup = &mut self.setup;
                self.selection
                    .set_favourite(&reference, on, setup, &self.emitter);
            }
            Op::Shell {
                command,
                exclude_from_context,
            } => self.run_shell(command, exclude_from_context),
            Op::AbortShell => self.shell.cancel(),
            Op::ListJobs => self.list_jobs(),
            Op::FollowJob { id } => match (id, &self.session) {
                (Some(id), Some(session)) => {
                    self.job_view.follow(&id, &session.workspace, &self.emitter);
                }
                _ => self.job_view.unfollow(),
            },
            Op::MoveToBackground => self.move_to_background(),
            Op::KillJob { id } => {
                if let Some(session) = &self.session {
                    JobView::kill(id, &session.workspace, &self.emitter);
                }
            }
            op @ (Op::ListTerminals
            | Op::StartTerminal { .. }
            | Op::TypeInTerminal { .. }
            | Op::ResizeTerminal { .. }
            | Op::CloseTerminal { .. }
            | Op::ShowTerminal { .. }) => self.use_terminal(op),
            op @ (Op::GetMap { .. } | Op::FindSymbols { .. }) => self.use_map(op),
            Op::ListFiles => self.directory.list_files(&self.emitter),
            Op::ListHistory => self.history.list(&self.emitter),
            Op::AddHistory { text } => {
                self.drafts.sent(&text);
                self.history.add(&text, &self.emitter);
            }
            Op::SaveDraft { text } => {
                if let Some(session) = &self.session {
                    self.drafts.save(session.store.id(), text, &self.emitter);
                }
            }
            Op::SaveDraftFiles { files } => self.drafts.save_files(files),
            Op::FindDraft => {
                if let Some(session) = &self.session {
                    let last = session.last_stored.clone();
                    self.drafts.find(&session.store, last, &self.emitter);
                }
            }
            Op::StashPrompt { text, parts } => self.stash_prompt(text, parts).await,
            Op::ListStash => self.stash.list(&self.emitter).await,
            Op::DropStashed { stashed } => self.stash.delete(stashed, &self.emitter).await,
            Op::GetUsage => self.get_usage(),
            Op::GetBudget => self.budget(None),
            Op::SetBudget { budget } => self.budget(Some(budget)),
            Op::GetStatus => self.get_status(),
            Op::GetAbout => self.get_about(),
            Op::ListAccounts => Accounts::of(&self.setup).publish(&self.emitter),
            Op::Login { provider, method } => {
                let done = self.callback(Completion::LoginEnded);
                let accounts = Accounts::of(&self.setup);
                self.logins
                    .start(accounts, &provider, method, &self.emitter, done);
            }
            Op::LoginInput { text } => self.logins.input(&text, &self.emitter),
            Op::CancelLogin => self.logins.cancel(&self.emitter),
            Op::Logout { provider } => {
                let accounts = Accounts::of(&self.setup);
                accounts.log_out(&provider, &self.emitter).await;
                self.selection.models.credentials_changed();
                self.selection.publish(&self.emitter);
            }
            Op::SetPermissions { mode } => self.set_permission_mode(mode),
            Op::CyclePermissions => self.set_permission_mode(self.permissions.mode().next()),
            Op::ListPermissions => self.permissions.publish(&self.emitter),
            Op::AddPermission { grant } => self.permissions.grant(&grant, &self.emitter),
            Op::RemovePermission { rule } => self.permissions.remove(&rule, &self.emitter),
            Op::AnswerQuestion { id, answer } => {
                self.pending_questions.answer(id, answer, &self.emitter);
            }
            Op::ListQuestions => self.pending_questions.list(&self.emitter),
            Op::ListMcpServers => self.list_mcp_servers(),
            Op::ListCodeServers => self.list_code_servers(),
            Op::McpServer { name, action } => {
                if let Some(session) = &self.session {
                    session.mcp.act(&name, action);
                }
            }
            Op::PressPluginKey { plugin, keys } => {
                self.plugins.loaded_plugins().press(&plugin, &keys);
            }
            Op::ListHooks => self.hooks.list(&self.emitter),
            Op::ListContext => self.context.publish(&self.emitter),
            Op::Reload => self.reload().await,
            // The hub handles the first, and the loop of the actor the second.
            Op::TakeOver | Op::ShutDown => {}
        }
    }

    async fn apply_agent(&mut self, mut op: osier_agent::Op) {
        let values = self.placeholders();
        let plugins = self.plugins.loaded_plugins();
        match self
            .context
            .expand(&mut op, plugins, &values, &self.emitter)
        {
            Expanded::Text => self.pass_to_agent(op).await,
            Expanded::Nothing => {}
            Expanded::Command(expansion) => self.prepare_command(*expansion, op),
        }
    }

    pub(super) async fn pass_to_agent(&mut self, op: osier_agent::Op) {
        match &op {
            osier_agent::Op::Abort => {
                self.commands.cancel();
                self.plugins.loaded_plugins().interrupt();
                self.hooks.interrupt();
                self.shell.cancel();
            }
            osier_agent::Op::SetThinkingLevel { level } => {
                self.selection.level = *level;
                if let Some(session) = &self.session {
                    session
                        .for_models()
                        .store_level(*level, &self.emitter)
                        .await;
                }
            }
            osier_agent::Op::SetTools { names } => {
                // The prompt names tools, too.
                if let Some(session) = &self.session {
                    let prompt = self.system_prompt(names);
                    session
                        .agent
                        .send(osier_agent::Op::SetSystemPrompt { prompt });
                }
            }
            _ => {}
        }
        match &self.session {
            Some(session) if replaces_during_run(&op, session) => {
                self.notice(
                    Severity::Warning,
                    "the conversation was not replaced: a run is on",
                );
            }
            Some(session) => {
                self.emitter.passed_to_agent();
                session.agent.send(op);
            }
            None => self.notice(Severity::Error, NO_SESSION),
        }
    }

    pub(super) async fn finish(&mut self, job: Completion) {
        match job {
            Completion::Trusted(decision) => self.trusted(&decision),
            Completion::UsageCounted(earlier) => {
                let open = self.session.as_ref().map(OpenSession::id);
                self.usage
                    .counted(earlier, open, &self.selection.models, &self.emitter);
            }
            Completion::ContextMeasured(measured) => {
                let open = self.session.as_ref().map(OpenSession::id);
                self.usage
                    .context_measured(*measured, open, &self.selection.models, &self.emitter);
            }
            Completion::Refreshed(outcome) => {
                self.selection
                    .refreshed(outcome, &self.setup, &self.emitter);
            }
            #[cfg(feature = "transfer")]
            Completion::Imported(imported, open) => self.imported(imported, open).await,
            Completion::Indexed(id, findings) => {
                if self
                    .session
                    .as_ref()
                    .is_some_and(|session| session.store.id() == id)
                {
                    self.indexed(findings).await;
                }
            }
            Completion::ContextRead => self.context_read().await,
            Completion::PluginsChanged => self.read_context(Scope::Plugins),
            Completion::Publish(event) => self.publish(*event),
            Completion::Tree(outcome) => self.finish_tree(outcome).await,
            Completion::Fan(outcome) => self.finish_fan(outcome),
            Completion::JobsChanged => self.list_jobs(),
            Completion::Terminals(news) => self.terminal_news(&news),
            Completion::Review(news) => self.review_news(news),
            Completion::Sampling(news) => self.sampling_news(news),
            Completion::SmallModel(reply) => self.send_small_model(reply),
            Completion::Titled(titled) => self.titled(titled).await,
            Completion::McpChanged(news) => self.mcp_changed(news),
            Completion::Discovered(found) => self.discovered(found).await,
            Completion::DefaultChanged => self.choose_better_default().await,
            Completion::LoginEnded(outcome) => self.login_ended(outcome).await,
            Completion::ShellEnded(run) => self.shell_ended(run),
            Completion::CommandPrepared(prepared) => self.command_prepared(prepared).await,
            Completion::ClaudeHooks(run) => self.set_claude_hooks(run),
            Completion::TodoRead(stored) => {
                let open = self.session.as_ref().map(OpenSession::id);
                self.todo.loaded(stored, open, &self.emitter);
            }
            Completion::StatusRead(stored) => self.publish_status(&stored),
        }
    }

    async fn reload(&mut self) {
        self.ask_for_trust();
        self.load_settings();
        self.load_servers();
        self.read_context(Scope::Everything);
        self.reload_models().await;
    }

    /// Stores an entry that is no message. Publishes a warning if that fails.
    pub(super) async fn store(&self, kind: EntryKind) -> bool {
        let Some(session) = &self.session else {
            return false;
        };
        append(&session.store, kind, &self.emitter).await
    }
}

/// Whether an op would replace the conversation during a run.
fn replaces_during_run(op: &osier_agent::Op, session: &OpenSession) -> bool {
    matches!(op, osier_agent::Op::ReplaceMessages { .. }) && session.agent.state().is_streaming
}

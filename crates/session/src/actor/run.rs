//! The actor: its state, its loop, and the way of each request to its feature. Decisions belong to the features, the agent
//! and its interceptors.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tokio::sync::mpsc;

use crate::agents::{Work, terminals};
use crate::choices::{Origin, ProgramChoices};
use crate::context::project::Scope;
use crate::conversation::{Progress, Prompts};
use crate::cx::{Cx, NO_SESSION, store_entry};
use crate::emitter::{ActiveRequest, Callback, Emitter, Mailbox};
use crate::extensions::Extensions;
use crate::extensions::hooks::Source;
use crate::files::{Project, checkpoints};
use crate::models::{ModelSelection, Models};
use crate::safety::{Safety, private_files};
use crate::sessions::open_session::{OpenSession, next_events};
use crate::sessions::session_index::IndexHandle;
use crate::setup::SessionSetup;
use osier_agent::{Publisher, Severity};
use osier_base::problem::Problem;
use osier_base::task::caught;
use osier_extensions::hooks::HookNews;
use osier_extensions::plugins::channel;
use osier_protocol::questions::{Questions, Request};
use osier_protocol::{EntryKind, Event, Op, OpGroup};

/// An op, with a number if the client waits for the outcome.
pub(super) type Numbered = (Option<u64>, Op);

/// The actor's work on a result of a background task.
type Task = Box<dyn for<'a> FnOnce(&'a mut Actor) -> BoxFuture<'a, ()> + Send>;

/// A function that handles a value, at once or in a future.
type Finish<T> = fn(&mut Actor, T);
type FinishLater<T> = for<'a> fn(&'a mut Actor, T) -> BoxFuture<'a, ()>;

/// A result of background work, and the request it belongs to.
pub(super) struct Completion {
    task: Task,
    request: Option<Arc<ActiveRequest>>,
}

/// Sends results to the actor. Cheap to clone.
#[derive(Debug, Clone)]
struct Queue(mpsc::UnboundedSender<Completion>);

impl Queue {
    fn send(&self, task: Task, request: Option<Arc<ActiveRequest>>) {
        // An actor that has ended needs no results.
        let _ = self.0.send(Completion { task, request });
    }

    fn callback<T: 'static>(
        &self,
        request: Option<Arc<ActiveRequest>>,
        task: impl Fn(T) -> Task + Send + Sync + 'static,
    ) -> Callback<T> {
        let queue = self.clone();
        Callback::new(move |value| queue.send(task(value), request.clone()))
    }
}

impl Mailbox for Queue {
    fn post(&self, event: Event, request: Option<Arc<ActiveRequest>>) {
        let task: Task = Box::new(move |actor| {
            actor.publish(event);
            ready(()).boxed()
        });
        self.send(task, request);
    }
}

/// Everything that the actor receives.
struct Inbox {
    ops: mpsc::UnboundedReceiver<Numbered>,
    results: mpsc::UnboundedReceiver<Completion>,
    questions: mpsc::UnboundedReceiver<Request>,
    plugins: channel::Requests,
    hook_news: mpsc::UnboundedReceiver<HookNews>,
}

/// The state of the actor: what all features share, then the features. One owner, no locks.
pub(super) struct Actor {
    pub(super) setup: SessionSetup,
    pub(super) emitter: Emitter,
    queue: Queue,
    pub(super) session: Option<OpenSession>,
    /// Requests that need the complete session while it is still loading.
    pub(super) waiting: Vec<(Option<Arc<ActiveRequest>>, Op)>,
    pub(super) selection: ModelSelection,
    pub(super) program: ProgramChoices,
    /// The tools of this session are a selection of a client.
    pub(super) has_chosen_tools: bool,
    pub(super) prompts: Prompts,
    pub(super) progress: Progress,
    pub(super) project: Project,
    pub(super) safety: Safety,
    pub(super) work: Work,
    pub(super) extensions: Extensions,
    pub(super) index: IndexHandle,
    /// Another process took the session over.
    pub(super) is_ending: bool,
}

impl Actor {
    /// Starts the actor and publishes the problems of its setup. Returns the handle for questions
    /// to the user.
    pub(super) fn spawn(
        setup: SessionSetup,
        models: Models,
        ops: mpsc::UnboundedReceiver<Numbered>,
        publisher: Arc<Publisher<Event>>,
        problems: &[Problem],
    ) -> Questions {
        let (sender, results) = mpsc::unbounded_channel();
        let queue = Queue(sender);
        let (questions, pending) = Questions::new();
        let (extensions, plugins, hook_news) = Extensions::new(&questions, &setup);
        let emitter = Emitter::new(publisher, Arc::new(queue.clone()));
        emitter.problems(problems);
        let safety = Safety::new(&setup, questions.clone());
        safety.permissions.warn(&emitter);
        let actor = Actor {
            emitter,
            queue,
            session: None,
            waiting: Vec::new(),
            selection: ModelSelection::new(models),
            program: ProgramChoices::default(),
            has_chosen_tools: false,
            prompts: Prompts::new(&setup.folders, &setup.cwd),
            progress: Progress::default(),
            project: Project::new(&setup.folders, &setup.cwd, setup.answers_questions),
            safety,
            work: Work::default(),
            extensions,
            index: IndexHandle::new(&setup.folders, &setup.cwd),
            is_ending: false,
            setup,
        };
        let emitter = actor.emitter.detached();
        let serving = Box::pin(actor.serve(Inbox {
            ops,
            results,
            questions: pending,
            plugins,
            hook_news,
        }));
        osier_base::task::spawn(async move {
            // Clients wait for the end of the session.
            if let Err(message) = caught(serving).await {
                emitter.publish(Event::SessionFailed {
                    message,
                    in_use: None,
                    holder: None,
                });
                emitter.publish(Event::ShutDown);
            }
        });
        questions
    }

    async fn serve(mut self, mut inbox: Inbox) {
        self.load_hooks();
        self.safety.permissions.hold(&self.setup, &self.emitter);
        self.wait_for_local_models().await;
        let origin = if self.setup.prefers_stored {
            Origin::Stored
        } else {
            Origin::CommandLine
        };
        let choice = (self.setup.session.clone(), origin);
        self.open(choice, Source::Startup).await;
        self.read_context(Scope::Everything);
        self.start_discovery();
        self.ask_for_unclear_model();
        self.ask_for_trust();
        self.ask_about_claude_hooks();
        private_files::restrict(&self.setup.folders, self.emitter.detached());
        self.project.sweeping.start();
        while !self.is_ending {
            tokio::select! {
                biased;
                op = inbox.ops.recv() => match op {
                    None | Some((_, Op::ShutDown)) => break,
                    Some((number, op)) => {
                        let request = number.map(|number| self.emitter.begin(number));
                        self.apply_for(request, op).await;
                    }
                },
                Some(request) = inbox.questions.recv() => self.question(request),
                Some(request) = inbox.plugins.recv() => self.plugin_request(request).await,
                Some(news) = inbox.hook_news.recv() => self.hook_news(news),
                Some(result) = inbox.results.recv() => self.finish(result).await,
                events = next_events(&mut self.session) => {
                    self.forward(events);
                    self.return_to_model().await;
                }
            }
        }
        self.project.directory.close();
        self.index.close();
        self.prompts.drafts.close().await;
        // Stops the user's command and stores its output.
        self.work.shell.cancel();
        while self.work.shell.is_running()
            && let Some(result) = inbox.results.recv().await
        {
            self.finish(result).await;
        }
        let reason = if self.setup.answers_questions {
            "prompt_input_exit"
        } else {
            "other"
        };
        self.close(reason).await;
        while let Ok(news) = inbox.hook_news.try_recv() {
            self.hook_news(news);
        }
        self.extensions.plugins.loaded_plugins().close();
        self.selection.models.settle().await;
        self.publish(Event::ShutDown);
    }

    async fn apply_for(&mut self, request: Option<Arc<ActiveRequest>>, op: Op) {
        let before = self.emitter.set_request(request);
        self.apply(op).await;
        self.emitter.set_request(before);
    }

    /// Handles the ops that waited.
    pub(super) async fn apply_waiting(&mut self) {
        for (request, op) in std::mem::take(&mut self.waiting) {
            Box::pin(self.apply_for(request, op)).await;
        }
    }

    /// Handles a result of background work.
    async fn finish(&mut self, result: Completion) {
        let before = self.emitter.set_request(result.request);
        (result.task)(self).await;
        self.emitter.set_request(before);
    }

    // recipe: a request of the protocol, 2: `apply` names the function that handles each group, such as `apply_state` in `crates/session/src/actor/state.rs`: its arm goes there (`session.store.index()` reads the conversation, on a blocking thread as `get_log` does)
    pub(super) async fn apply(&mut self, op: Op) {
        let is_loading = self
            .session
            .as_ref()
            .is_some_and(|session| !session.indexed);
        let reads = self.extensions.context.is_reading();
        if (is_loading || reads) && op.request().needs_session {
            self.waiting.push((self.emitter.request(), op));
            return;
        }
        let cx = cx(&self.setup, &self.emitter, self.session.as_ref());
        match op.in_group() {
            // The hub handles `TakeOver`, and the loop of the actor `ShutDown`.
            OpGroup::Connection(_) => {}
            OpGroup::Session(op) => self.apply_session(op).await,
            OpGroup::Model(op) => self.apply_model(op).await,
            OpGroup::Account(op) => {
                let done = self.async_callback(|actor, ended| actor.login_ended(ended).boxed());
                self.selection.handle_account(op, cx, done).await;
            }
            OpGroup::Shell(op) => {
                let done = self.callback(Self::shell_ended);
                let session = self.session.as_ref();
                let subagents = session.map(|session| session.subagents.registry());
                self.work.handle(op, subagents, cx, done);
            }
            OpGroup::Subagent(op) => {
                if let Some(session) = self.needs_session() {
                    session.subagents.registry().handle(op, &self.emitter);
                }
            }
            OpGroup::Terminal(op) => terminals::handle(op, cx),
            OpGroup::Project(op) => self.project.handle(op, cx),
            OpGroup::Draft(op) => self.prompts.handle(op, cx).await,
            OpGroup::State(op) => self.apply_state(op),
            OpGroup::Permission(op) => self.safety.handle(op, cx),
            OpGroup::Extension(op) => self.apply_extension(op).await,
            OpGroup::Tree(op) => self.apply_tree(op).await,
            OpGroup::Checkpoint(op) => {
                let files = self.session.as_ref();
                let files = files.and_then(|session| session.files.as_ref());
                checkpoints::handle(op, files, cx);
            }
            #[cfg(feature = "transfer")]
            OpGroup::Transfer(op) => self.apply_transfer(op),
            #[cfg(not(feature = "transfer"))]
            OpGroup::Transfer(_) => self.notice(
                Severity::Error,
                "this build has no import and export: build osier with the feature `transfer`",
            ),
            OpGroup::Index(op) => self.apply_index(op).await,
            OpGroup::Agent(op) => self.apply_agent(op).await,
        }
    }

    pub(super) fn publish(&self, event: Event) {
        self.emitter.publish(event);
    }

    pub(super) fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.emitter.notice(severity, text);
    }

    /// A callback for work of the current request.
    pub(super) fn callback<T: Send + 'static>(&self, finish: Finish<T>) -> Callback<T> {
        self.queue.callback(self.emitter.request(), now(finish))
    }

    /// A callback for work that outlives the current request.
    pub(super) fn detached<T: Send + 'static>(&self, finish: Finish<T>) -> Callback<T> {
        self.queue.callback(None, now(finish))
    }

    /// A callback for work of the current request, whose result is more work.
    pub(super) fn async_callback<T: Send + 'static>(&self, finish: FinishLater<T>) -> Callback<T> {
        self.queue.callback(self.emitter.request(), later(finish))
    }

    /// A callback for work that outlives the current request, whose result is more work.
    pub(super) fn async_detached<T: Send + 'static>(&self, finish: FinishLater<T>) -> Callback<T> {
        self.queue.callback(None, later(finish))
    }

    /// Stores an entry that is no message. Publishes a warning if that fails.
    pub(super) async fn store(&self, kind: EntryKind) -> bool {
        match &self.session {
            Some(session) => store_entry(&session.store, kind, &self.emitter).await,
            None => false,
        }
    }

    /// Whether a run is on.
    pub(super) fn is_streaming(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.agent.state().is_streaming)
    }

    /// The open session. Publishes an error if there is none.
    pub(super) fn needs_session(&self) -> Option<&OpenSession> {
        if self.session.is_none() {
            self.notice(Severity::Error, NO_SESSION);
        }
        self.session.as_ref()
    }
}

fn now<T: Send + 'static>(finish: Finish<T>) -> impl Fn(T) -> Task + Send + Sync {
    move |value| {
        Box::new(move |actor| {
            finish(actor, value);
            ready(()).boxed()
        })
    }
}

fn later<T: Send + 'static>(finish: FinishLater<T>) -> impl Fn(T) -> Task + Send + Sync {
    move |value| Box::new(move |actor| finish(actor, value))
}

pub(super) fn cx<'a>(
    setup: &'a SessionSetup,
    emitter: &'a Emitter,
    session: Option<&'a OpenSession>,
) -> Cx<'a> {
    Cx {
        setup,
        emitter,
        session: session.map(|session| &session.active),
    }
}

//! The hooks of one session: the common JSON fields, running the hooks of an event in parallel, and the
//! context for the first prompt.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tempfile::TempPath;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::action::Action;
use super::answer::{BACKGROUND, Decision, HookAnswer, Output};
use super::config::Handler;
use super::limits::{TIMEOUT, line};
use super::programs::program_use;
use super::run::{HookEnd, Surroundings, run};
use super::service::HookServices;
use super::watch::{self, FileWatch};
use super::{HookNews, Hooks, is_same, key, shown, variables};
use osier_agent::{CheckedCall, Severity};
use osier_base::{ids, text};
use osier_peers::tools::theirs;
use osier_permissions::Permissions;
use osier_permissions::trust::ProgramUse;
use osier_protocol::{HookEvent, LastRun, OnFailure, PermissionMode};

/// Default timeout at the end of a session, for which the user waits.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Columns of a command in a message.
const COMMAND: usize = 60;

/// The hooks of an open session.
#[derive(Debug)]
pub struct SessionHooks {
    hooks: Arc<Hooks>,
    permissions: Arc<Permissions>,
    id: String,
    transcript: Option<PathBuf>,
    /// Cancelled when the hooks of `SessionStart` have ended; the first prompt waits for it.
    started: CancellationToken,
    /// Cancelled when the session closes: then osier only waits for the hooks of its end.
    closing: CancellationToken,
    /// The services for hooks that are no programs.
    services: OnceLock<Arc<dyn HookServices>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Text that hooks add to the next prompt.
    waiting: StartText,
    /// The id of the current prompt.
    prompt_id: Option<String>,
    /// Hooks of `SessionStart` that ran for this session.
    ran: Vec<super::Key>,
    /// How the session was opened.
    opened: Option<Opening>,
    /// The file in which hooks of `SessionStart` leave variables for later commands, while they run.
    variables: Option<TempPath>,
    /// Files that hooks have named before the watch begins.
    watched: Vec<String>,
    watching: Option<AbortOnDropHandle<()>>,
    /// Hooks that continue in the background; they end with the session.
    background: JoinSet<()>,
}

/// How a session was opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// `startup`, `resume`, `clear` or `fork`.
    pub source: &'static str,
    pub model: String,
    pub cwd: PathBuf,
    /// The trigger for hooks of `Setup`: `init` or `maintenance`.
    pub trigger: Option<&'static str>,
    /// The conversation that the session continues.
    pub resumed: Option<Resumed>,
}

/// A conversation that a session continues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resumed {
    /// Tokens of the last request and its answer.
    pub tokens: u64,
    /// Seconds since the last answer.
    pub age: u64,
    /// Whether the provider's cache has probably expired.
    pub is_cold: bool,
    /// US dollars for writing the tokens to the cache again; 0 if the model has no price.
    pub cost: f64,
}

impl Opening {
    fn fields(&self) -> Value {
        let mut fields = json!({"source": self.source, "model": self.model});
        if let Some(resumed) = self.resumed {
            fields["context_tokens"] = json!(resumed.tokens);
            fields["seconds_since_last_response"] = json!(resumed.age);
            fields["prompt_cache_likely_expired"] = json!(resumed.is_cold);
            fields["estimated_cache_write_usd"] = json!(resumed.cost);
        }
        fields
    }
}

/// Text that the hooks of `SessionStart` add to the first prompt.
#[derive(Debug, Default)]
pub(super) struct StartText {
    pub context: Vec<String>,
    /// Text before the prompt.
    pub message: Option<String>,
}

/// An occurrence of an event.
pub(super) struct EventInput<'a> {
    pub event: HookEvent,
    /// The names that matchers are compared with.
    pub names: Vec<&'a str>,
    /// The fields of the event.
    pub fields: Value,
    pub cwd: &'a Path,
    /// The call that it is about.
    pub call: Option<&'a CheckedCall>,
}

impl SessionHooks {
    /// The hooks of the session `id`, whose file is `transcript`.
    pub fn new(
        hooks: Arc<Hooks>,
        permissions: Arc<Permissions>,
        id: &str,
        transcript: Option<&Path>,
    ) -> Self {
        Self {
            hooks,
            permissions,
            id: id.to_owned(),
            transcript: transcript.map(Path::to_owned),
            started: CancellationToken::new(),
            closing: CancellationToken::new(),
            services: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Sets the services for hooks that are no programs. Call it once, before the first event.
    pub fn serve(&self, services: Arc<dyn HookServices>) {
        let _ = self.services.set(services);
    }

    /// Runs the hooks for an opened session that have not run yet. Their context is added to the
    /// next prompt.
    pub async fn start(self: &Arc<Self>, opening: Opening) {
        self.lock().opened = Some(opening.clone());
        if let Some(trigger) = opening.trigger {
            self.run_setup(trigger, &opening.cwd).await;
        }
        self.run_start(&opening, |_| true).await;
        self.watch(&opening.cwd).await;
        self.started.cancel();
    }

    async fn run_setup(&self, trigger: &str, cwd: &Path) {
        let event = HookEvent::Setup;
        let chosen = self.chosen(event, &[trigger], None);
        let fields = json!({ "trigger": trigger });
        let answer = self.run_with_variables(&chosen, event, &fields, cwd).await;
        self.lock().waiting.context.extend(answer.context);
    }

    /// Runs the hooks of `SessionStart` that `wanted` accepts and that have not run yet.
    async fn run_start(&self, opening: &Opening, wanted: impl Fn(&Handler) -> bool) {
        let event = HookEvent::SessionStart;
        let ran = self.lock().ran.clone();
        let mut fresh = self.chosen(event, &[opening.source], None);
        fresh.retain(|handler| wanted(handler) && !ran.contains(&key(handler)));
        let keys = fresh.iter().map(|handler| key(handler));
        self.lock().ran.extend(keys);
        let fields = opening.fields();
        let answer = self
            .run_with_variables(&fresh, event, &fields, &opening.cwd)
            .await;
        let mut state = self.lock();
        state.watched.extend(answer.watched);
        state.waiting.context.extend(answer.context);
        if answer.first_message.is_some() {
            state.waiting.message = answer.first_message;
        }
    }

    /// Runs hooks that can set variables for the commands of the session.
    async fn run_with_variables(
        &self,
        handlers: &[Arc<Handler>],
        event: HookEvent,
        fields: &Value,
        cwd: &Path,
    ) -> HookAnswer {
        self.lock().variables = variables::file(handlers);
        let answer = self.run_all(handlers, event, fields, cwd, None).await;
        let file = self.lock().variables.take();
        let Some(file) = file else { return answer };
        let name = event.name();
        match variables::read(&file, cwd, &self.writable_folders()).await {
            Ok(left) => {
                if !left.variables.is_empty() {
                    self.tell(HookNews::Variables(left.variables));
                }
                for variable in left.refused {
                    self.warn(format!(
                        "`{variable}` of a {name} hook is not set: it chooses code that the model can change"
                    ));
                }
                if let Some(problem) = left.problem {
                    let problem = line(&problem);
                    self.warn(format!("the variables of a {name} hook: {problem}"));
                }
            }
            Err(error) => self.warn(format!("the variables of a {name} hook: {error}")),
        }
        answer
    }

    /// Starts to watch the files that hooks name, until the session closes.
    async fn watch(self: &Arc<Self>, cwd: &Path) {
        let event = HookEvent::FileChanged;
        if !self.has(event) {
            return;
        }
        let matchers = self.hooks.handlers();
        let matchers = matchers.iter().filter(|handler| handler.event == event);
        let named = matchers.flat_map(|handler| watch::names(&handler.matcher.text()));
        let mut names: Vec<String> = named.collect();
        names.append(&mut self.lock().watched);
        let cwd = cwd.to_owned();
        let folder = cwd.clone();
        let start = move || FileWatch::start(folder, &names);
        let started = osier_base::task::spawn_blocking(start).await;
        if let Ok(Some(watch)) = started {
            let task = osier_base::task::spawn(follow(Arc::downgrade(self), watch, cwd));
            self.lock().watching = Some(AbortOnDropHandle::new(task));
        }
    }

    /// Runs the hooks for one change of a watched file. Returns more files to watch.
    async fn file_changed(&self, path: &Path, what: &str, cwd: &Path) -> Vec<String> {
        let event = HookEvent::FileChanged;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let chosen = self.chosen(event, &[&name], None);
        let fields = json!({"file_path": path, "event": what});
        let answer = self.run_with_variables(&chosen, event, &fields, cwd).await;
        answer.watched
    }

    /// Runs the hooks after a compaction. The model receives their context immediately.
    pub(super) async fn compacted(&self, cwd: &Path) {
        let (event, source) = (HookEvent::SessionStart, "compact");
        let opened = self.lock().opened.clone();
        let model = opened.map(|opened| opened.model);
        let fields = json!({"source": source, "model": model});
        let answer = self.occur(event, source, fields, cwd);
        for text in answer.await.context {
            self.hooks.tell(HookNews::Context { event, text });
        }
    }

    /// Cancels all waits for hooks, because the session is about to close.
    pub fn give_up(&self) {
        self.lock().watching = None;
        self.closing.cancel();
    }

    /// Runs the hooks for the end of the session.
    pub async fn end(&self, reason: &str, cwd: &Path) {
        let fields = json!({ "reason": reason });
        self.occur(HookEvent::SessionEnd, reason, fields, cwd).await;
    }

    /// Runs the hooks for a session that waits for the user.
    pub async fn notify(&self, kind: &str, message: &str, cwd: &Path) {
        let fields = json!({"message": message, "title": "osier", "notification_type": kind});
        self.occur(HookEvent::Notification, kind, fields, cwd).await;
    }

    /// The context of `SessionStart` for the next prompt, once its hooks have ended. Empty after an
    /// interrupt.
    pub(super) fn start_text(&self) -> StartText {
        if self.started.is_cancelled() {
            std::mem::take(&mut self.lock().waiting)
        } else {
            StartText::default()
        }
    }

    /// Creates the id of a new prompt. All events have it until the next prompt.
    pub(super) fn begin_prompt(&self) {
        self.lock().prompt_id = Some(ids::session_id());
    }

    /// Creates an id for a command that comes before the first prompt.
    pub(super) fn begin_prompt_if_none(&self) {
        self.lock().prompt_id.get_or_insert_with(ids::session_id);
    }

    /// Waits until the hooks of `SessionStart` have ended, so that no other event runs before. Ends on an
    /// interrupt.
    pub(super) async fn begun(&self) {
        let interrupt = self.hooks.interrupted();
        tokio::select! {
            biased;
            () = self.started.cancelled() => {}
            () = interrupt.cancelled() => return,
            () = self.closing.cancelled() => return,
        }
        // A program may have registered more hooks since.
        let opened = self.lock().opened.clone();
        if let Some(opened) = opened {
            let is_late = |handler: &Handler| handler.is_function();
            self.run_start(&opened, is_late).await;
        }
    }

    /// The folders in which the model can write: the project, and those that were added to it.
    fn writable_folders(&self) -> Vec<PathBuf> {
        let services = self.services.get();
        let added = services.map(|services| services.folders());
        let added = added.unwrap_or_default().into_iter();
        [self.hooks.root.clone()].into_iter().chain(added).collect()
    }

    /// The commands in the background, as hooks see them.
    pub(super) fn background_tasks(&self) -> Vec<Value> {
        let services = self.services.get();
        let jobs = services.map(|services| services.background_jobs());
        let jobs = jobs.unwrap_or_default().into_iter();
        jobs.map(|job| {
            json!({"id": job.id, "type": "shell", "status": "running", "description": job.command,
                "command": job.command})
        })
        .collect()
    }

    /// The Claude Code name of a tool.
    pub fn tool_name(&self, tool: &str) -> String {
        theirs(tool)
    }

    /// Whether there is a hook for the event.
    pub fn has(&self, event: HookEvent) -> bool {
        self.hooks.has(event)
    }

    pub(super) fn tell(&self, news: HookNews) {
        self.hooks.tell(news);
    }

    pub(super) fn warn(&self, text: String) {
        self.hooks.warn(text);
    }

    /// Runs the hooks of an event that is not about a call; matchers are compared with the name.
    pub(super) async fn occur(
        &self,
        event: HookEvent,
        name: &str,
        fields: Value,
        cwd: &Path,
    ) -> HookAnswer {
        let input = EventInput {
            event,
            names: vec![name],
            fields,
            cwd,
            call: None,
        };
        self.fire(input).await
    }

    /// Runs all matching hooks of the event and returns their combined answer.
    pub(super) async fn fire(&self, input: EventInput<'_>) -> HookAnswer {
        self.fire_until(input, None).await
    }

    /// Runs the hooks as `fire` does; `cancel` also ends the wait.
    pub(super) async fn fire_until(
        &self,
        input: EventInput<'_>,
        cancel: Option<&CancellationToken>,
    ) -> HookAnswer {
        let call = input.call.map(|call| (call, input.cwd));
        let chosen = self.chosen(input.event, &input.names, call);
        let (event, cwd) = (input.event, input.cwd);
        self.run_all(&chosen, event, &input.fields, cwd, cancel)
            .await
    }

    /// The matching hooks, each once.
    fn chosen(
        &self,
        event: HookEvent,
        names: &[&str],
        call: Option<(&CheckedCall, &Path)>,
    ) -> Vec<Arc<Handler>> {
        let all = self.hooks.handlers();
        let mut chosen: Vec<Arc<Handler>> = Vec::new();
        for handler in all.iter().filter(|handler| handler.event == event) {
            let everything = event.info().matched.is_empty();
            let fits = everything || handler.matcher.fits(names);
            let holds = match (&handler.condition, call) {
                (Some(rule), Some((checked, from))) => {
                    let (call, files) = (&checked.call, checked.files());
                    self.permissions
                        .concerns(rule, &call.name, &call.arguments, files, from)
                }
                _ => true,
            };
            let twice = || chosen.iter().any(|known| is_same(known, handler));
            if fits && holds && !twice() {
                chosen.push(Arc::clone(handler));
            }
        }
        chosen
    }

    async fn run_all(
        &self,
        handlers: &[Arc<Handler>],
        event: HookEvent,
        fields: &Value,
        cwd: &Path,
        cancel: Option<&CancellationToken>,
    ) -> HookAnswer {
        let mut all = HookAnswer::default();
        if handlers.is_empty() {
            return all;
        }
        let input = self.input(event, fields, cwd);
        let effort = fields["effort"]["level"].as_str();
        let started = Instant::now();
        let interrupt = self.hooks.interrupted();
        let never = CancellationToken::new();
        let cancel = cancel.unwrap_or(&never);
        let closing = match event {
            HookEvent::SessionEnd => &never,
            _ => &self.closing,
        };
        let running = join_all(
            handlers
                .iter()
                .map(|handler| self.run_one(handler, cwd, effort, input.clone())),
        );
        let ended = tokio::select! {
            biased;
            () = interrupt.cancelled() => None,
            () = cancel.cancelled() => None,
            () = closing.cancelled() => None,
            ended = running => Some(ended),
        };
        let Some(ended) = ended else {
            all.interrupted = true;
            for handler in handlers {
                self.hooks.note(handler, last(&all, started));
            }
            return all;
        };
        for answer in ended {
            all.merge(answer);
        }
        for text in all.messages.drain(..) {
            let severity = Severity::Warning;
            self.hooks.tell(HookNews::Notice { severity, text });
        }
        all
    }

    /// The input of a hook: the common fields and those of the event.
    fn input(&self, event: HookEvent, fields: &Value, cwd: &Path) -> Arc<[u8]> {
        let mode = match self.permissions.mode() {
            PermissionMode::Yolo => "bypassPermissions",
            PermissionMode::Auto => "auto",
            PermissionMode::Ask => "default",
            PermissionMode::Plan => "plan",
        };
        let mut input = Map::new();
        let transcript = self.transcript.as_deref().unwrap_or(Path::new(""));
        for (name, value) in [
            ("session_id", json!(self.id)),
            ("transcript_path", json!(transcript)),
            ("cwd", json!(cwd)),
            ("permission_mode", json!(mode)),
            ("hook_event_name", json!(event.name())),
        ] {
            input.insert(name.to_owned(), value);
        }
        if let Some(prompt_id) = &self.lock().prompt_id {
            input.insert("prompt_id".to_owned(), json!(prompt_id));
        }
        if let Value::Object(fields) = fields {
            input.extend(fields.clone());
        }
        let mut bytes = Value::Object(input).to_string().into_bytes();
        bytes.push(b'\n');
        bytes.into()
    }

    async fn run_one(
        &self,
        handler: &Arc<Handler>,
        cwd: &Path,
        effort: Option<&str>,
        input: Arc<[u8]>,
    ) -> HookAnswer {
        let started = Instant::now();
        let usual = match (handler.event, &handler.action) {
            (HookEvent::SessionEnd, _) => END_TIMEOUT,
            (_, Action::Service(service)) => service.timeout(),
            _ => TIMEOUT,
        };
        let limit = handler.timeout.unwrap_or(usual);
        let place = Surroundings {
            cwd: cwd.to_owned(),
            root: self.hooks.root.clone(),
            session: self.id.clone(),
            variables: self
                .lock()
                .variables
                .as_ref()
                .map(|file| file.to_path_buf()),
            effort: effort.map(str::to_owned),
            services: self.services.get().cloned(),
        };
        let judge = {
            let (hooks, handler) = (Arc::clone(&self.hooks), Arc::clone(handler));
            let input = Arc::clone(&input);
            move |ran, limit| judge(&hooks, &handler, ran, &input, limit, started)
        };
        if handler.in_background {
            let limit = handler.timeout.unwrap_or(BACKGROUND);
            let (hooks, handler) = (Arc::clone(&self.hooks), Arc::clone(handler));
            self.lock().background.spawn(async move {
                judge(start(&hooks, &handler, place, input, limit).await, limit);
            });
            return HookAnswer::default();
        }
        match start(&self.hooks, handler, place, input, limit).await {
            HookEnd::GoesOn(child, limit) => {
                self.hooks.note(
                    handler,
                    LastRun {
                        outcome: "goes on".to_owned(),
                        message: String::new(),
                        duration_ms: elapsed(started),
                    },
                );
                self.lock().background.spawn(async move {
                    judge(child.finish(limit).await, limit);
                });
                HookAnswer::default()
            }
            ran => judge(ran, limit),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs hooks for every change of a watched file, until the session ends.
async fn follow(session: Weak<SessionHooks>, mut watch: FileWatch, cwd: PathBuf) {
    while let Some(changed) = watch.next().await {
        let mut more = Vec::new();
        for (path, what) in changed {
            let Some(session) = session.upgrade() else {
                return;
            };
            more.extend(session.file_changed(&path, what, &cwd).await);
        }
        let Some(next) = watch.add(&more) else { return };
        watch = next;
    }
}

/// Runs the hook, if the project's programs that it runs are unchanged since the user trusted them.
async fn start(
    hooks: &Hooks,
    handler: &Arc<Handler>,
    place: Surroundings,
    input: Arc<[u8]>,
    limit: Duration,
) -> HookEnd {
    if let Some(guard) = hooks.guard.as_ref().filter(|_| handler.is_program()) {
        let found = {
            let (handler, cwd, root) = (Arc::clone(handler), place.cwd.clone(), place.root.clone());
            osier_base::task::spawn_blocking(move || program_use(&handler, &cwd, &root)).await
        };
        let permitted = match found {
            // A question already notifies the user, and the end of the session waits for nobody.
            Ok(Ok(run)) => {
                let event = handler.event;
                let may_ask = !matches!(event, HookEvent::SessionEnd | HookEvent::Notification);
                let name = shown(handler);
                guard.permit(&ProgramUse { name, ..run }, may_ask).await
            }
            Ok(Err(error)) => Err(error),
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = permitted {
            return HookEnd::Failed(std::io::Error::other(reason));
        }
    }
    run(handler, &place, input, limit).await
}

/// The answer of an ended hook to `input`; reports its errors.
pub(super) fn judge(
    hooks: &Hooks,
    handler: &Handler,
    ran: HookEnd,
    input: &[u8],
    limit: Duration,
    started: Instant,
) -> HookAnswer {
    let event = handler.event;
    let mut answer = match ran {
        HookEnd::Ended {
            exit,
            stdout,
            stderr,
            is_cut,
        } => {
            let output = Output {
                code: exit.code,
                stdout: &stdout,
                stderr: &stderr,
                is_cut,
                input,
            };
            HookAnswer::of(event, &output)
        }
        HookEnd::Returned(answer) => HookAnswer::of_returned(event, &answer, input),
        HookEnd::TimedOut => HookAnswer::unanswered(format!(
            "it did not end within {} s and was killed",
            limit.as_secs_f64()
        )),
        HookEnd::Failed(error) if !handler.is_program() => {
            HookAnswer::unanswered(line(&error.to_string()))
        }
        HookEnd::Failed(error) => HookAnswer::unanswered(format!("it cannot start: {error}")),
        HookEnd::GoesOn(..) => HookAnswer::default(),
    };
    let command = text::single_line(&shown(handler));
    let command = text::truncate(&command, COMMAND);
    let name = format!("the {} hook `{command}`", event.name());
    if let Some(problem) = &answer.problem {
        let text = format!("{name}: {problem}");
        match handler.on_failure {
            Some(OnFailure::Block) if event.info().guards => {
                answer.block.get_or_insert_with(|| text.clone());
            }
            Some(OnFailure::Continue) => answer.drop_grants(),
            _ if answer.blocks.applies_to(event.info()) => {
                answer.block.get_or_insert_with(|| text.clone());
            }
            _ => {}
        }
        hooks.warn(text);
    }
    for field in &answer.unsupported {
        hooks.warn_once(format!(
            "{name}: osier does not support the field `{field}`"
        ));
    }
    hooks.note(handler, last(&answer, started));
    answer
}

fn last(answer: &HookAnswer, started: Instant) -> LastRun {
    let decided = answer.decision.as_ref().map(|(_, reason)| reason);
    let message = answer.problem.as_ref().or(answer.stop.as_ref());
    let message = message.or(answer.block.as_ref()).or(decided);
    LastRun {
        outcome: answer.word().to_owned(),
        message: message.map(|text| line(text)).unwrap_or_default(),
        duration_ms: elapsed(started),
    }
}

/// The reason to ask the user, when a hook requires it.
pub(super) fn question(decision: Decision, reason: &str) -> String {
    let what = match decision {
        Decision::Defer => "a hook defers to you",
        _ => "a hook asks",
    };
    match reason {
        "" => what.to_owned(),
        reason => format!("{what}: {}", line(reason)),
    }
}

fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

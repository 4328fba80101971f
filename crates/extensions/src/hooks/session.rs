//! The hooks of one session: the common JSON fields, running the hooks of an event in parallel, and the
//! context for the first prompt.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::config::Handler;
use super::event::HookEvent;
use super::names::theirs;
use super::run::{Ran, run};
use super::said::{BACKGROUND, Decision, Said, line};
use super::{HookNews, Hooks, LastRun, key, shown};
use osier_agent::Severity;
use osier_base::text;
use osier_permissions::{Mode, Permissions};

/// Default timeout of a hook.
const TIMEOUT: Duration = Duration::from_mins(1);
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
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Context for the next prompt.
    waiting: Vec<String>,
    /// Hooks of `SessionStart` that ran for this session.
    ran: Vec<super::Key>,
    /// Hooks that continue in the background; they end with the session.
    background: JoinSet<()>,
}

/// An occurrence of an event.
pub(super) struct Occasion<'a> {
    pub event: HookEvent,
    /// The names that matchers are compared with.
    pub names: Vec<&'a str>,
    /// The fields of the event.
    pub fields: Value,
    pub cwd: &'a Path,
    /// The tool name and arguments of the call, in osier's format.
    pub call: Option<(&'a str, &'a Value)>,
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
            state: Mutex::default(),
        }
    }

    /// The session was opened: runs the hooks for it that have not run yet. Their context is added to the
    /// next prompt.
    pub async fn start(&self, source: &str, model: &str, cwd: &Path) {
        let ran = self.lock().ran.clone();
        let mut fresh = self.chosen(HookEvent::SessionStart, &[source], None);
        fresh.retain(|handler| !ran.contains(&key(handler)));
        let keys = fresh.iter().map(|handler| key(handler));
        self.lock().ran.extend(keys);
        let fields = json!({"source": source, "model": model});
        let said = self.run_all(&fresh, HookEvent::SessionStart, &fields, cwd, None);
        let context = said.await.context;
        self.lock().waiting.extend(context);
        self.started.cancel();
    }

    /// The conversation was compacted: the context of hooks is delivered to the model immediately.
    pub(super) async fn compacted(&self, cwd: &Path) {
        let event = HookEvent::SessionStart;
        let said = self.fire(Occasion {
            event,
            names: vec!["compact"],
            fields: json!({"source": "compact"}),
            cwd,
            call: None,
        });
        for text in said.await.context {
            self.hooks.tell(HookNews::Context { event, text });
        }
    }

    /// The session is about to close: cancels all waits for hooks.
    pub fn give_up(&self) {
        self.closing.cancel();
    }

    /// The session closes.
    pub async fn end(&self, reason: &str, cwd: &Path) {
        self.fire(Occasion {
            event: HookEvent::SessionEnd,
            names: vec![reason],
            fields: json!({"reason": reason}),
            cwd,
            call: None,
        })
        .await;
    }

    /// The session waits for the user.
    pub async fn notify(&self, kind: &str, message: &str, cwd: &Path) {
        self.fire(Occasion {
            event: HookEvent::Notification,
            names: vec![kind],
            fields: json!({"message": message, "title": "osier", "notification_type": kind}),
            cwd,
            call: None,
        })
        .await;
    }

    /// The context of `SessionStart` for the next prompt, once its hooks have ended. Empty after an
    /// interrupt.
    pub(super) fn brought(&self) -> Vec<String> {
        if self.started.is_cancelled() {
            std::mem::take(&mut self.lock().waiting)
        } else {
            Vec::new()
        }
    }

    /// Waits until the hooks of `SessionStart` have ended, so that no other event runs before. Ends on an
    /// interrupt.
    pub(super) async fn begun(&self) {
        let interrupt = self.hooks.interrupted();
        tokio::select! {
            biased;
            () = self.started.cancelled() => {}
            () = interrupt.cancelled() => {}
            () = self.closing.cancelled() => {}
        }
    }

    /// The Claude Code name of a tool.
    pub fn tool_name(&self, tool: &str) -> String {
        theirs(tool)
    }

    pub(super) fn has(&self, event: HookEvent) -> bool {
        self.hooks.has(event)
    }

    pub(super) fn warn(&self, text: String) {
        self.hooks.warn(text);
    }

    /// Runs all matching hooks of the event and returns their combined answer.
    pub(super) async fn fire(&self, occasion: Occasion<'_>) -> Said {
        self.fire_until(occasion, None).await
    }

    /// The same; `cancel` also cancels the wait.
    pub(super) async fn fire_until(
        &self,
        occasion: Occasion<'_>,
        cancel: Option<&CancellationToken>,
    ) -> Said {
        let chosen = self.chosen(occasion.event, &occasion.names, occasion.call);
        let (event, cwd) = (occasion.event, occasion.cwd);
        self.run_all(&chosen, event, &occasion.fields, cwd, cancel)
            .await
    }

    /// The matching hooks, each once.
    fn chosen(
        &self,
        event: HookEvent,
        names: &[&str],
        call: Option<(&str, &Value)>,
    ) -> Vec<Arc<Handler>> {
        let all = self.hooks.handlers();
        let mut chosen: Vec<Arc<Handler>> = Vec::new();
        for handler in all.iter().filter(|handler| handler.event == event) {
            let everything = event.info().matched.is_empty();
            let fits = everything || handler.matcher.fits(names);
            let holds = match (&handler.condition, call) {
                (Some(rule), Some((tool, arguments))) => {
                    self.permissions.concerns(rule, tool, arguments)
                }
                _ => true,
            };
            let twice = || chosen.iter().any(|known| key(known) == key(handler));
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
    ) -> Said {
        let mut all = Said::default();
        if handlers.is_empty() {
            return all;
        }
        let input = self.input(event, fields, cwd);
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
                .map(|handler| self.run_one(handler, cwd, input.clone())),
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
        for said in ended {
            all.merge(said);
        }
        for text in all.messages.drain(..) {
            let severity = Severity::Info;
            self.hooks.tell(HookNews::Notice { severity, text });
        }
        all
    }

    /// The common fields and those of the event.
    fn input(&self, event: HookEvent, fields: &Value, cwd: &Path) -> Vec<u8> {
        let mode = match self.permissions.mode() {
            Mode::Yolo => "bypassPermissions",
            Mode::Ask => "default",
            Mode::Plan => "plan",
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
        if let Value::Object(fields) = fields {
            input.extend(fields.clone());
        }
        let mut bytes = Value::Object(input).to_string().into_bytes();
        bytes.push(b'\n');
        bytes
    }

    async fn run_one(&self, handler: &Arc<Handler>, cwd: &Path, input: Vec<u8>) -> Said {
        let started = Instant::now();
        let usual = match handler.event {
            HookEvent::SessionEnd => END_TIMEOUT,
            _ => TIMEOUT,
        };
        let limit = handler.timeout.unwrap_or(usual);
        if handler.in_background {
            let limit = handler.timeout.unwrap_or(BACKGROUND);
            let (hooks, handler) = (Arc::clone(&self.hooks), Arc::clone(handler));
            let cwd = cwd.to_owned();
            self.lock().background.spawn(async move {
                let ran = run(&handler, &cwd, &hooks.root, input, limit).await;
                judge(&hooks, &handler, ran, limit, started);
            });
            return Said::default();
        }
        match run(handler, cwd, &self.hooks.root, input, limit).await {
            Ran::GoesOn(child, limit) => {
                let (hooks, handler) = (Arc::clone(&self.hooks), Arc::clone(handler));
                hooks.note(
                    &handler,
                    LastRun {
                        outcome: "goes on".to_owned(),
                        message: String::new(),
                        duration_ms: elapsed(started),
                    },
                );
                self.lock().background.spawn(async move {
                    let ran = child.finish(limit).await;
                    judge(&hooks, &handler, ran, limit, started);
                });
                Said::default()
            }
            ran => judge(&self.hooks, handler, ran, limit, started),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of an ended hook; reports its errors.
fn judge(hooks: &Hooks, handler: &Handler, ran: Ran, limit: Duration, started: Instant) -> Said {
    let said = match ran {
        Ran::Ended {
            exit,
            stdout,
            stderr,
        } => Said::of(handler.event, exit.code, &stdout, &stderr),
        Ran::TimedOut => Said::failed(format!(
            "it did not end within {} s and was killed",
            limit.as_secs_f64()
        )),
        Ran::Failed(error) => Said::failed(format!("it could not be run: {error}")),
        Ran::GoesOn(..) => Said::default(),
    };
    if let Some(problem) = &said.problem {
        let command = text::single_line(&shown(handler));
        let command = text::truncate(&command, COMMAND).into_owned();
        let event = handler.event.name();
        hooks.warn(format!("the {event} hook `{command}`: {problem}"));
    }
    hooks.note(handler, last(&said, started));
    said
}

fn last(said: &Said, started: Instant) -> LastRun {
    let decided = said.decision.as_ref().map(|(_, reason)| reason);
    let message = said.problem.as_ref().or(said.stop.as_ref());
    let message = message.or(said.block.as_ref()).or(decided);
    LastRun {
        outcome: said.word().to_owned(),
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

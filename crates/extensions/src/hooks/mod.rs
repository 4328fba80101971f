//! Hooks: programs of the user, and of a trusted project, that run at fixed events. The contract is Claude
//! Code's, so existing scripts work: JSON on standard input; exit code 2 blocks; JSON or text on standard
//! output (`answer`).
//!
//! [`Hooks`] contains the hooks of a session, [`SessionHooks`] adds the session's data, and [`AgentHooks`] is
//! the interceptor of one agent. The errors of a hook are one line for the user; a guard that did not answer blocks
//! what it guards ([`FAILURES`]). Hooks run outside of the sandbox, because they are the user's own.

mod action;
mod agent;
mod answer;
mod callback;
mod callbacks;
mod config;
mod failures;
mod fields;
mod kinds;
mod limits;
mod matcher;
mod occasions;
mod output;
mod programs;
mod response;
mod run;
mod service;
mod session;
mod variables;
mod watch;

use osier_protocol::{HookEvent, HookInfo, HookRun, LastRun};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use action::Action;
pub use agent::{AgentHooks, Role, context_message};
pub use callback::HookCall;
pub use callbacks::{CallbackHook, CallbackHooks};
use config::Handler;
pub use config::HookFile;
pub use failures::{Blocks, FAILURES, Failure, failures_table};
pub use fields::answers_table;
pub use occasions::{ElicitationReply, ModelSwitch, SwitchDecision};
use osier_agent::Severity;
use osier_base::problem::Problem;
use osier_permissions::trust::ProgramGuard;
pub use service::{HookQuestion, HookServices};
pub use session::{Opening, Resumed, SessionHooks};

/// The hooks of a session. Reloading the files updates the list for all holders.
#[derive(Debug)]
pub struct Hooks {
    /// The value of `CLAUDE_PROJECT_DIR`.
    root: PathBuf,
    news: mpsc::UnboundedSender<HookNews>,
    state: Mutex<State>,
    /// The hooks of a program that uses osier.
    callbacks: Option<Arc<CallbackHooks>>,
    /// Decides whether a hook runs whose program is in the project.
    guard: Option<Arc<dyn ProgramGuard>>,
}

#[derive(Debug, Default)]
struct State {
    handlers: Arc<Vec<Arc<Handler>>>,
    /// The last run of each hook.
    last: HashMap<Key, LastRun>,
    /// Cancelled when the user interrupts, which ends all waits for hooks.
    interrupt: CancellationToken,
    /// Warnings that are shown once.
    warned: HashSet<String>,
}

/// The identity of a hook.
type Key = (HookEvent, String, Option<Vec<String>>);

/// The state of hooks before they run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookCheck {
    /// The number of hooks that block if they do not answer.
    pub guards: usize,
    /// The errors of guards that cannot start.
    pub obstacles: Vec<Problem>,
    /// The errors in the files.
    pub problems: Vec<Problem>,
}

/// Events of hooks for the session.
#[derive(Debug)]
pub enum HookNews {
    /// A notice for the user.
    Notice { severity: Severity, text: String },
    /// Context for the model, to deliver now.
    Context { event: HookEvent, text: String },
    /// Variables for the commands of the session.
    Variables(Vec<(OsString, OsString)>),
    /// A hook has run.
    Ran(Box<HookRun>),
}

impl Hooks {
    /// Creates an empty list for the project at `root`. The receiver gets the events of the hooks.
    pub fn new(
        root: PathBuf,
        callbacks: Option<Arc<CallbackHooks>>,
        guard: Option<Arc<dyn ProgramGuard>>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<HookNews>) {
        let (news, told) = mpsc::unbounded_channel();
        let hooks = Self {
            root,
            news,
            state: Mutex::default(),
            callbacks,
            guard,
        };
        (Arc::new(hooks), told)
    }

    /// Loads the hooks in `files`. A file that is damaged since the last time keeps its hooks. Returns all problems,
    /// and the problems because of which a hook that could deny a call is missing. Blocks.
    pub fn load(&self, files: &[HookFile]) -> (Vec<Problem>, Vec<Problem>) {
        let mut config = config::load(files);
        let mut state = self.lock();
        config.keep(&state.handlers);
        state.handlers = Arc::new(config.handlers);
        (config.problems, config.faults)
    }

    /// The problems because of which hooks in `files` are missing that could deny a call. Blocks.
    pub fn check(files: &[HookFile]) -> Vec<Problem> {
        config::load(files).faults
    }

    /// Checks the hooks in `files` without running them in `cwd`.
    pub async fn check_all(files: &[HookFile], cwd: &Path, root: &Path) -> HookCheck {
        let files = files.to_vec();
        let loaded = osier_base::task::spawn_blocking(move || config::load(&files)).await;
        let config = loaded.unwrap_or_default();
        let mut check = HookCheck {
            problems: config.problems,
            ..HookCheck::default()
        };
        for handler in &config.handlers {
            if !handler.event.info().guards || handler.in_background {
                continue;
            }
            check.guards += 1;
            if handler.is_program()
                && let Some(obstacle) = programs::obstacle(handler, cwd, root).await
            {
                let (event, command) = (handler.event.name(), shown(handler));
                let message = format!("the {event} hook `{command}` cannot start: {obstacle}");
                let obstacle = Problem::of_file(&handler.file, message, "it blocks");
                check.obstacles.push(obstacle);
            }
        }
        check
    }

    /// The hooks in `file`, a line each. Blocks.
    pub fn described(file: &HookFile) -> Vec<String> {
        let handlers = config::load(std::slice::from_ref(file)).handlers;
        let lines = handlers.iter().map(|handler| {
            let matcher = handler.matcher.text();
            let matcher = match matcher.as_str() {
                "" => String::new(),
                matcher => format!(" ({matcher})"),
            };
            format!("{}{matcher}: {}", handler.event.name(), shown(handler))
        });
        lines.collect()
    }

    /// Cancels all waits for hooks.
    pub fn interrupt(&self) {
        let running = std::mem::take(&mut self.lock().interrupt);
        running.cancel();
    }

    /// All hooks, in the order of the files.
    pub fn list(&self) -> Vec<HookInfo> {
        let handlers = self.handlers();
        let state = self.lock();
        let listed = handlers.iter().map(|handler| HookInfo {
            event: handler.event,
            matcher: handler.matcher.text(),
            command: shown(handler),
            file: handler.file.to_string_lossy().into_owned(),
            last: state.last.get(&key(handler)).cloned(),
        });
        listed.collect()
    }

    /// Whether there is a hook for the event.
    fn has(&self, event: HookEvent) -> bool {
        self.handlers().iter().any(|handler| handler.event == event)
    }

    fn handlers(&self) -> Arc<Vec<Arc<Handler>>> {
        let configured = Arc::clone(&self.lock().handlers);
        match self
            .callbacks
            .as_ref()
            .map(|callbacks| callbacks.handlers())
        {
            Some(callbacks) if !callbacks.is_empty() => {
                let all = configured.iter().cloned().chain(callbacks);
                Arc::new(all.collect())
            }
            _ => configured,
        }
    }

    fn interrupted(&self) -> CancellationToken {
        self.lock().interrupt.clone()
    }

    /// Records the result of a run and reports it.
    fn note(&self, handler: &Handler, run: LastRun) {
        self.lock().last.insert(key(handler), run.clone());
        self.tell(HookNews::Ran(Box::new(HookRun {
            event: handler.event,
            command: shown(handler),
            run,
        })));
    }

    fn warn(&self, text: String) {
        let severity = Severity::Warning;
        self.tell(HookNews::Notice { severity, text });
    }

    fn warn_once(&self, text: String) {
        let is_new = self.lock().warned.insert(text.clone());
        if is_new {
            self.warn(text);
        }
    }

    fn tell(&self, news: HookNews) {
        // The session may have ended.
        let _ = self.news.send(news);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(handler: &Handler) -> Key {
    (handler.event, handler.command.clone(), handler.args.clone())
}

/// Whether one run can answer for both hooks: they must agree on the action, on the effect of
/// failures, and on whether osier waits.
fn is_same(one: &Handler, other: &Handler) -> bool {
    key(one) == key(other)
        && is_same_action(&one.action, &other.action)
        && one.in_background == other.in_background
        && one.on_failure == other.on_failure
}

fn is_same_action(one: &Action, other: &Action) -> bool {
    match (one, other) {
        (Action::Service(one), Action::Service(other)) => one == other,
        (Action::Program, Action::Program) | (Action::Function(_), Action::Function(_)) => true,
        _ => false,
    }
}

/// The command with its arguments.
fn shown(handler: &Handler) -> String {
    let words: Vec<&str> = handler.words().map(String::as_str).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::OnFailure;

    #[test]
    fn the_same_command_runs_once_unless_it_guards_differently() {
        let handler = || Handler::example(HookEvent::PreToolUse, "check");
        let (calls, _) = mpsc::unbounded_channel();
        let in_background = Handler {
            in_background: true,
            ..handler()
        };
        let of_program = Handler {
            action: Action::Function(callback::Callback(calls)),
            ..handler()
        };
        let strict = Handler {
            on_failure: Some(OnFailure::Block),
            ..handler()
        };
        assert!(is_same(&handler(), &handler()));
        for other in [in_background, of_program, strict] {
            assert!(!is_same(&handler(), &other), "{other:?}");
        }
    }
}
